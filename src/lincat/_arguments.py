"""Checks of what users pass in, each failing with one line: argument, expected, got, remedy."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
import scipy.sparse

from lincat import kernels
from lincat._text import as_arguments, one_line, shown
from lincat._typing import ArrayLike, BoolArray, FeatureMatrix, FloatArray, IntArray

_P = ParamSpec("_P")
_R = TypeVar("_R")
_LONGEST = 2000  # letters of a message
LARGEST_FEATURE = 1e150  # float64 holds its square, and sums of such


class InvalidInputError(ValueError):
    """Something that the user passed in cannot be used; the message is one line, not too long."""

    def __init__(self, text: str) -> None:
        line = " ".join(text.splitlines())  # what came may have lines of its own
        half = _LONGEST // 2
        super().__init__(line if len(line) <= _LONGEST else f"{line[:half]} ... {line[-half:]}")


def fail(argument: str, expected: str, got: object, remedy: str = "") -> InvalidInputError:
    """Build the error: ``raise fail("gamma", "a number in [0, 1)", 1.2)``."""
    text = f"{argument}: expected {expected}, got {got}"
    text = f"{text}; {remedy}" if remedy else text
    return InvalidInputError(text)


def reason(error: BaseException) -> str:
    """Return what an exception says, with its type unless it speaks for itself."""
    text = one_line(error)
    if isinstance(error, InvalidInputError):
        return text
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


def for_python(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Have a function's errors speak of its arguments, where the command line has flags.

    An argument that it does not have is answered with the nearest one that it has.
    """
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for name in kwargs:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                meant = f"did you mean {near[0]}=?" if near else f"it has {', '.join(known)}"
                raise fail(f"{function.__name__}()", "arguments that it has", f"{name}=", meant)
        try:
            return function(*args, **kwargs)
        except InvalidInputError as error:
            error.args = (as_arguments(str(error)),)
            raise

    return called


def check_number(
    value: Any,
    argument: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
) -> float:
    """Return ``value`` as a finite float within the given interval; a text is no number."""
    opening, closing = "(" if low_open or low == -math.inf else "[", ")" if high_open else "]"
    if low == -math.inf and high == math.inf:
        expected = "a finite number"
    elif high == math.inf:
        expected = f"a finite number {'above' if low_open else 'of at least'} {low:g}"
    else:
        expected = f"a number in {opening}{low:g}, {high:g}{closing}"
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise fail(argument, expected, shown(value)) from None
    inside = (number > low if low_open else number >= low) and (
        number < high if high_open else number <= high
    )
    if not math.isfinite(number) or not inside:
        raise fail(argument, expected, shown(value))
    return number


def check_gamma(gamma: Any, *, one: bool = False) -> float:
    """Return the discount factor, a number in [0, 1), or in [0, 1] where ``one`` makes sense."""
    return check_number(gamma, "gamma", low=0.0, high=1.0, high_open=not one)


def check_integer(value: Any, argument: str, *, low: int) -> int:
    """Return ``value`` as an int of at least ``low``."""
    expected = f"an integer of at least {low}"
    if isinstance(value, bool | np.bool_):
        raise fail(argument, expected, shown(value))
    try:
        integer = int(value)
        exact = integer == value
    except (TypeError, ValueError, OverflowError):
        raise fail(argument, expected, shown(value)) from None
    if not exact or integer < low:
        raise fail(argument, expected, shown(value))
    return integer


def check_choice(value: Any, argument: str, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise fail(argument, "one of " + ", ".join(map(repr, choices)), shown(value))
    return str(value)


def check_array(
    value: ArrayLike, argument: str, *, shape: tuple[int | None, ...] | None = None
) -> FloatArray:
    """Return ``value`` as a contiguous float64 array of finite numbers.

    ``shape`` holds a length for each axis, or None where any length will do.
    """
    check_plain(value, argument)
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise fail(argument, "an array of numbers", shown(value)) from None
    array = array.reshape(np.shape(value))  # ascontiguousarray turns a scalar into one row
    if shape is not None:
        have: tuple[int, ...] = array.shape
        fits = len(have) == len(shape) and all(
            want in (None, n) for want, n in zip(shape, have, strict=True)
        )
        if not fits:
            wanted = ", ".join("any" if n is None else str(n) for n in shape)
            raise fail(argument, f"an array of shape ({wanted})", f"shape {array.shape}")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        place = f"{array[where]} at index {where[0] if len(where) == 1 else where}"
        raise fail(argument, "finite numbers", place if where else array[where])
    return array


def check_plain(value: Any, argument: str) -> None:
    """Refuse numbers of which NumPy would drop a part: complex ones, those under a mask, units."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "c":
        raise fail(argument, "real numbers", "complex ones", "take their .real or abs()")
    if kind in ("m", "M"):
        remedy = "say in which unit: (x - x[0]) / np.timedelta64(1, 's')"
        raise fail(argument, "numbers", f"times ({value.dtype})", remedy)
    if kind == "V":
        raise fail(argument, "numbers", f"records ({value.dtype})", "take one of their fields")
    check_unmasked(value, argument)


def check_unmasked(value: Any, argument: str) -> None:
    """Refuse an array of which some is hidden: NumPy would take what lies under the mask."""
    if np.ma.is_masked(value):
        remedy = "leave these rows out, or fill them: .filled(number)"
        raise fail(argument, "numbers that are all there", "a masked array", remedy)


def check_indices(value: ArrayLike, argument: str, *, length: int | None = None) -> IntArray:
    """Return ``value`` as a one-dimensional array of indices, 0 or more."""
    array = check_array(value, argument, shape=(length,))
    with np.errstate(invalid="ignore"):  # numbers beyond all integers are not equal to any
        rounded = array.astype(np.int64)
    check_each(array, (rounded == array) & (rounded >= 0), argument, "integers of at least 0")
    return rounded


def check_each(numbers: FloatArray, good: BoolArray, argument: str, expected: str) -> FloatArray:
    """Return numbers that are all good, or name the first that is not."""
    if not good.all():
        i = int(np.argmin(good))
        raise fail(argument, expected, f"{numbers.flat[i]:g} at index {i}")
    return numbers


def check_flags(value: ArrayLike, argument: str, n: int) -> BoolArray:
    """Return n booleans; 0 and 1 will do."""
    flags = check_array(value, argument, shape=(n,))
    check_each(flags, (flags == 0.0) | (flags == 1.0), argument, "true or false for each row")
    return flags.astype(bool)


def check_levels(value: ArrayLike, argument: str, *, zero: bool) -> FloatArray:
    """Return probability levels in (0, 1], or [0, 1] where zero makes sense."""
    array = check_array(value, argument)
    inside = (array >= 0.0 if zero else array > 0.0) & (array <= 1.0)
    if not inside.all():
        got = float(array[~inside].ravel()[0])
        raise fail(argument, f"levels in {'[' if zero else '('}0, 1]", f"{got:g}")
    return array


def check_discounts(value: ArrayLike, argument: str, n: int, *, highest: float = 1.0) -> FloatArray:
    """Return n discounts; a single number serves for all."""
    array = np.broadcast_to(check_array(value, argument), (n,)) if np.ndim(value) == 0 else value
    array = check_array(array, argument, shape=(n,))
    what = f"discounts in [0, {highest:g}]" if np.isfinite(highest) else "discounts of at least 0"
    return check_each(array, (array >= 0.0) & (array <= highest), argument, what)


def check_features(Phi: Any, argument: str, *, rows: int) -> FeatureMatrix:
    """Return features as a float64 array, or CSR matrix, with one row per state."""
    if scipy.sparse.issparse(Phi):
        matrix = check_sparse(Phi, argument)
        if matrix.shape[0] != rows:
            raise fail(argument, f"{rows} rows, one per state", f"shape {matrix.shape}")
        numbers = matrix.data
    else:
        matrix = numbers = check_array(Phi, argument, shape=(rows, None))
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest > LARGEST_FEATURE:
        raise fail(argument, f"numbers within ±{LARGEST_FEATURE:g}", f"{largest:g}", "scale them")
    return matrix


def check_sparse(value: Any, argument: str) -> FeatureMatrix:
    """Return a sparse matrix as CSR with sorted indices and finite numbers, all within its shape.

    SciPy looks at the shape when asked to, and its conversions trust what they get.
    """
    if value.ndim != 2:
        raise fail(argument, "a matrix of shape (n, d)", f"shape {value.shape}")
    check_plain(value, argument)
    try:
        if value.format in ("csc", "bsr"):
            value.check_format(full_check=True)
        matrix = scipy.sparse.csr_array(value, dtype=np.float64)
    except ValueError as error:
        raise fail(argument, "a valid sparse matrix", one_line(error)) from None
    entry = kernels.guards.bad_entry(matrix.indptr, matrix.indices, matrix.shape[1])
    if entry == -2 or len(matrix.data) < matrix.indptr[-1]:
        raise fail(argument, "rows that follow each other (indptr)", shown(matrix.indptr))
    if entry >= 0:
        got = f"{int(matrix.indices[entry])} in row {_row_of(matrix, entry)}"
        raise fail(argument, f"columns within its shape {matrix.shape}", got)
    finite = np.isfinite(matrix.data)
    if not finite.all():
        entry = int(np.argmin(finite))
        place = (_row_of(matrix, entry), int(matrix.indices[entry]))
        raise fail(argument, "finite numbers", f"{matrix.data[entry]} at {place}")
    # Sums in the order of dense features, whatever came.
    return matrix if matrix.has_sorted_indices else matrix.sorted_indices()


def _row_of(matrix: FeatureMatrix, entry: int) -> int:
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1


def check_probability_groups(
    probability: FloatArray,
    sums: FloatArray,
    argument: str,
    group: str,
    *,
    name: Callable[[int], int] = int,
) -> None:
    """Check probabilities to be non-negative and to sum to one in every group.

    The first that does not is called by its name, a function of its place among ``sums``.
    """
    check_each(probability, probability >= 0.0, argument, "probabilities of at least 0")
    # 1e-8 lets through tables printed with nine digits, and nothing that changes an answer.
    off = np.flatnonzero(np.abs(sums - 1.0) > 1e-8)
    if off.size:
        i = int(off[0])
        got = f"{sums[i]:.12g} for {group} {name(i)}"
        raise fail(argument, f"a sum of 1 for every {group}", got)
