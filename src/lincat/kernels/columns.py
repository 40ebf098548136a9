"""Columns of a table to rows of points, with a check that every number is finite."""

from numba.extending import intrinsic

from lincat.kernels.compiled import njit
from lincat.kernels.guards import refuse

BLOCK = 64  # rows at a time: the lines being written stay in the first cache


@intrinsic
def _number_at(typingctx, address, index, like):
    """The number at ``address[index]``, of the type of the array ``like``."""
    number = like.dtype

    def generate(context, builder, signature, args):
        kind = context.get_value_type(number)
        start = builder.inttoptr(args[0], kind.as_pointer())
        return builder.load(builder.gep(start, [args[1]]))

    return number(address, index, like), generate


@njit(cache=True, nogil=True)
def columns_to_rows(out, addresses):
    """out[i, j] = number i of the column at addresses[j]; return whether all are finite.

    The columns are contiguous, of the type of out, and have a number for each of its rows. They
    come as addresses because a tuple of arrays would be compiled again for every length.
    """
    n, m = out.shape
    refuse(addresses.shape[0] < m)
    finite = True
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        j = 0
        while j + 4 <= m:  # four at once: half the time, since they share a line of out
            a, b, c, d = addresses[j], addresses[j + 1], addresses[j + 2], addresses[j + 3]
            for i in range(start, stop):
                w, x = _number_at(a, i, out), _number_at(b, i, out)
                y, z = _number_at(c, i, out), _number_at(d, i, out)
                out[i, j], out[i, j + 1], out[i, j + 2], out[i, j + 3] = w, x, y, z
                finite &= w * 0.0 + x * 0.0 + y * 0.0 + z * 0.0 == 0.0  # NaN for inf and NaN
            j += 4
        while j < m:
            a = addresses[j]
            for i in range(start, stop):
                x = _number_at(a, i, out)
                out[i, j] = x
                finite &= x * 0.0 == 0.0
            j += 1
    return finite


@njit(cache=True, nogil=True)
def differing_rows(out, left, right):
    """out[i] = whether rows left[i] and right[i] differ anywhere."""
    n, m = left.shape
    refuse(right.shape != left.shape or out.shape[0] < n)
    for i in range(n):
        differs = False
        for j in range(m):
            differs |= left[i, j] != right[i, j]
        out[i] = differs
