"""Vectors as Numba values, so that a kernel can say which registers it uses.

Numba leaves the fused sweep over Theta scalar: LLVM cannot prove that Theta,
the features and the work rows do not overlap. Here a block of columns is one
value of type `Vector`, loaded and stored by hand, and nothing is left to prove.
Kernels written this way run 1.5 to 3 times as fast as the same loops in scalars.

The functions emit generic vector IR (no processor intrinsics), hence they run on
any target that LLVM knows; blocks wider than a register are split by LLVM.

    half(array), line(array)                a zero block of 32, 64 bytes of the dtype of an
    pair(array), quad(array)                array (or number); of 128, 256 bytes
    lanes(block)                            how many numbers a block holds, a constant
    stride(matrix)                          how many numbers lie from one row to the next
    load(array, at, like)                   numbers at .. at + lanes - 1, in like's dtype
    store(array, at, block)                 set them to a block, in the array's dtype
    element(array, at)                      number at, without Numba's care for at < 0
    prefetch(array, at)                     ask for the cache line of number at
    broadcast(x, like)                      x in every lane
    ramp(like)                              0, 1, 2, ...
    add(a, b), sub(a, b), mul(a, b)
    fma(a, b, c)                            a * b + c, rounded once
    clamp(a, low, high)                     a limited to [low, high]; a NaN becomes low
    floor(a)                                rounded down
    keep(a, n)                              lanes 0 .. n-1 of a, zero in the others

`like` is any block: only its type counts. `at` counts numbers in memory from the first one of
the array, so element (i, k) of a matrix is at i * stride(matrix) + k; it is not checked. No
operation carries fast-math flags, so the bits of a lane do not depend on the width of its block
or on what surrounds it.
"""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

_ELEMENTS = {
    types.float64: ir.DoubleType(),
    types.float32: ir.FloatType(),
    types.int32: ir.IntType(32),
}


class Vector(types.Type):
    """The type of a block of `lanes` numbers of type `dtype`."""

    def __init__(self, dtype, lanes):
        self.dtype = dtype
        self.lanes = lanes
        super().__init__(name=f"Vector({dtype}, {lanes})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _ir_type(fe_type))


def _ir_type(vector):
    return ir.VectorType(_ELEMENTS[vector.dtype], vector.lanes)


def _splat(builder, scalar, vector):
    """The scalar in every lane."""
    width = _ir_type(vector)
    first = builder.insert_element(
        ir.Constant(width, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0)
    )
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.lanes), None)
    return builder.shuffle_vector(first, ir.Constant(width, ir.Undefined), zeros)


def _constants(vector, values):
    element = _ir_type(vector).element
    return ir.Constant(_ir_type(vector), [ir.Constant(element, float(v)) for v in values])


def _zeros_of(size):
    """An intrinsic that makes a zero block of `size` bytes of the dtype of an array or number."""

    @intrinsic
    def zeros(typingctx, array):
        dtype = array.dtype if isinstance(array, types.Array) else array
        vector = Vector(dtype, size * 8 // dtype.bitwidth)

        def emit(context, builder, signature, args):
            return ir.Constant(_ir_type(vector), None)

        return vector(array), emit

    return zeros


half = _zeros_of(32)
line = _zeros_of(64)
pair = _zeros_of(128)
quad = _zeros_of(256)


@intrinsic
def lanes(typingctx, block):
    # array.itemsize would do, were it not a run-time value: divisions by it cost more than a block.
    def emit(context, builder, signature, args):
        return ir.Constant(ir.IntType(64), block.lanes)

    return types.int64(block), emit


@intrinsic
def stride(typingctx, matrix):
    def emit(context, builder, signature, args):
        strides = context.make_array(matrix)(context, builder, args[0]).strides
        size = ir.Constant(ir.IntType(64), matrix.dtype.bitwidth // 8)
        return builder.sdiv(builder.extract_value(strides, 0), size, flags=("exact",))

    return types.int64(matrix), emit


def _pointer(context, builder, signature, args, vector):
    """Address of number args[1] of the array args[0], as a pointer to a block."""
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    at = context.cast(builder, args[1], signature.args[1], types.intp)
    return builder.bitcast(builder.gep(data, [at]), _ir_type(vector).as_pointer())


def _convert(builder, block, old, new):
    """A block of type `old` as one of type `new` with as many lanes."""
    if old.dtype == new.dtype:
        return block
    if new.dtype == types.int32:
        return builder.fptosi(block, _ir_type(new))
    widen = new.dtype.bitwidth > old.dtype.bitwidth
    return (builder.fpext if widen else builder.fptrunc)(block, _ir_type(new))


@intrinsic
def load(typingctx, array, at, like):
    stored = Vector(array.dtype, like.lanes)

    def emit(context, builder, signature, args):
        pointer = _pointer(context, builder, signature, args, stored)
        return _convert(
            builder, builder.load(pointer, align=array.dtype.bitwidth // 8), stored, like
        )

    return like(array, at, like), emit


@intrinsic
def element(typingctx, array, at):
    def emit(context, builder, signature, args):
        data = context.make_array(array)(context, builder, args[0]).data
        return builder.load(builder.gep(data, [context.cast(builder, args[1], at, types.intp)]))

    return array.dtype(array, at), emit


@intrinsic
def prefetch(typingctx, array, at):
    def emit(context, builder, signature, args):
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        data = context.make_array(array)(context, builder, args[0]).data
        place = builder.gep(data, [context.cast(builder, args[1], at, types.intp)])
        # To be read, kept in all levels of cache, and data.
        flags = [ir.Constant(flag, value) for value in (0, 3, 1)]
        builder.call(function, [builder.bitcast(place, byte), *flags])
        return context.get_dummy_value()

    return types.void(array, at), emit


@intrinsic
def store(typingctx, array, at, block):
    stored = Vector(array.dtype, block.lanes)

    def emit(context, builder, signature, args):
        pointer = _pointer(context, builder, signature, args, stored)
        builder.store(
            _convert(builder, args[2], block, stored), pointer, align=array.dtype.bitwidth // 8
        )
        return context.get_dummy_value()

    return types.void(array, at, block), emit


@intrinsic
def broadcast(typingctx, x, like):
    def emit(context, builder, signature, args):
        return _splat(builder, context.cast(builder, args[0], signature.args[0], like.dtype), like)

    return like(x, like), emit


@intrinsic
def ramp(typingctx, like):
    def emit(context, builder, signature, args):
        return _constants(like, range(like.lanes))

    return like(like), emit


def _elementwise(instruction):
    """An intrinsic for one of LLVM's two-operand instructions."""

    @intrinsic
    def operation(typingctx, a, b):
        def emit(context, builder, signature, args):
            return getattr(builder, instruction)(*args)

        return a(a, b), emit

    return operation


add = _elementwise("fadd")
sub = _elementwise("fsub")
mul = _elementwise("fmul")


def _call(builder, name, vector, args):
    """Call LLVM's own function `name` on blocks."""
    width = _ir_type(vector)
    kind = ir.FunctionType(width, [width] * len(args))
    full_name = f"llvm.{name}.v{vector.lanes}f{vector.dtype.bitwidth}"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, full_name), args)


@intrinsic
def fma(typingctx, a, b, c):
    return a(a, b, c), lambda context, builder, signature, args: _call(builder, "fma", a, args)


@intrinsic
def floor(typingctx, a):
    return a(a), lambda context, builder, signature, args: _call(builder, "floor", a, args)


@intrinsic
def clamp(typingctx, a, low, high):
    def emit(context, builder, signature, args):
        # Compare-and-select is what the processor's min and max do: NaN gives the second operand.
        x, low_, high_ = args
        x = builder.select(builder.fcmp_ordered(">", x, low_), x, low_)
        return builder.select(builder.fcmp_ordered("<", x, high_), x, high_)

    return a(a, low, high), emit


@intrinsic
def keep(typingctx, a, n):
    def emit(context, builder, signature, args):
        count = builder.sitofp(args[1], _ir_type(a).element)
        live = builder.fcmp_ordered("<", _constants(a, range(a.lanes)), _splat(builder, count, a))
        return builder.select(live, args[0], ir.Constant(_ir_type(a), None))

    return a(a, n), emit
