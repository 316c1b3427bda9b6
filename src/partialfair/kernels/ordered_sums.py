"""Sums in lanes: as quick as a compiler's own vector code, in an order that no compiler or processor chooses.

A loop that adds up one sum in the order written waits for each addition; let a compiler reorder it and the result
depends on the width of the processor's vectors. Here the order is part of the definition. With ``W`` numbers to 64
bytes, four vectors of W partial sums take the entries in turn; what is left after whole turns goes to the first vector,
W entries at a time; the four vectors are added as ``(0 + 1) + (2 + 3)``, their entries by halving, and the last fewer
than W entries one after another. Every processor follows it with vectors of whatever width it has.

These are functions for compiled kernels (:func:`partialfair.kernels.compiled.kernel`) on one-dimensional contiguous
arrays of single or double precision, the result has the highest precision among them.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

VECTOR_BYTES = 64
CHAINS = 4

Builder = Any
Value = Any
Array = tuple[Value, Any]
"""Pointer to the entries, and their type."""
Term = Callable[..., Value]


def _bytes(element: Any) -> int:
    return 4 if isinstance(element, ir.FloatType) else 8


class _Reduction:
    """Writes the code of one reduction: what each entry contributes, and how contributions are joined."""

    def __init__(self, builder: Builder, element: Any, term: Term, join: str, start: float) -> None:
        self.builder, self.element, self.term = builder, element, term
        self.width = VECTOR_BYTES // _bytes(element)
        self.vector = ir.VectorType(element, self.width)
        self.join, self.start = getattr(builder, join), start

    def _constant(self, kind: Any, value: float) -> Value:
        return ir.Constant(kind, [value] * self.width if kind is self.vector else value)

    def _spread(self, scalar: Value) -> Value:
        empty = ir.Constant(self.vector, ir.Undefined)
        vector = self.builder.insert_element(empty, scalar, ir.Constant(ir.IntType(32), 0))
        return self._shuffled(vector, [0] * self.width)

    def _shuffled(self, vector: Value, places: list[int]) -> Value:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
        return self.builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)

    def _add(self, total: Value, kind: Any, arrays: list[Array], index: Value, scalars: list[Value]) -> None:
        """Join the contributions of the entries from ``index`` on, a vector or one, to what ``total`` points to."""
        entries = []
        for pointer, stored in arrays:
            entry_type = stored if kind is self.element else ir.VectorType(stored, self.width)
            address = self.builder.bitcast(self.builder.gep(pointer, [index]), entry_type.as_pointer())
            entry = self.builder.load(address, align=_bytes(stored))
            entries.append(entry if stored == self.element else self.builder.fpext(entry, kind))

        def constant(value: float) -> Value:
            return self._constant(kind, value)

        contribution = self.term(self.builder, constant, *entries, *scalars)
        self.builder.store(self.join(self.builder.load(total), contribution), total)

    def write(self, size: Value, arrays: list[Array], scalars: list[Value]) -> Value:
        """Return the reduction of ``size`` entries."""
        # Four independent chains of one vector each: an addition need not wait for the one before.
        builder, turn = self.builder, self.width * CHAINS
        number = lambda value: ir.Constant(size.type, value)  # noqa: E731
        spread = [self._spread(scalar) for scalar in scalars]
        chains = [cgutils.alloca_once(builder, self.vector) for _ in range(CHAINS)]
        for chain in chains:
            builder.store(self._constant(self.vector, self.start), chain)
        # whole turns: chain k takes the entries k W .. (k + 1) W - 1 of each turn (turn is a power of two, so a mask
        # rounds down)
        full_turns = builder.and_(size, number(-turn))
        with cgutils.for_range_slice(builder, number(0), full_turns, number(turn), size.type) as (index, _):
            for k, chain in enumerate(chains):
                offset = builder.add(index, number(k * self.width))
                self._add(chain, self.vector, arrays, offset, spread)
        # what is left after whole turns, as whole vectors, goes to chain 0
        vectors = builder.and_(size, number(-self.width))
        with cgutils.for_range_slice(builder, full_turns, vectors, number(self.width), size.type) as (index, _):
            self._add(chains[0], self.vector, arrays, index, spread)
        # the fixed order of the definition: (0 + 1) + (2 + 3), then halves of the vector onto each other until one
        # entry is left
        sum_0, sum_1, sum_2, sum_3 = map(builder.load, chains)
        joined = self.join(self.join(sum_0, sum_1), self.join(sum_2, sum_3))
        width = self.width
        while width > 1:
            width //= 2
            upper = self._shuffled(joined, list(range(width, 2 * width)))
            joined = self.join(self._shuffled(joined, list(range(width))), upper)
        total = cgutils.alloca_once(builder, self.element)
        builder.store(builder.extract_element(joined, ir.Constant(ir.IntType(32), 0)), total)
        # fewer than W entries remain; they are added one after another
        with cgutils.for_range_slice(builder, vectors, size, number(1), size.type) as (index, _):
            self._add(total, self.element, arrays, index, scalars)
        return builder.load(total)


def _implementation(term: Term, join: str = "fadd", start: float = 0.0) -> Callable[..., Value]:
    """Code generator of a reduction for numba: arrays of one type first, then scalars of their precision."""

    def generate(context: Any, builder: Builder, signature: Any, arguments: Any) -> Value:
        pairs = list(zip(signature.args, arguments, strict=True))
        arrays = [
            (context.make_array(kind)(context, builder, value), context.get_data_type(kind.dtype))
            for kind, value in pairs
            if isinstance(kind, types.Array)
        ]
        scalars = [value for kind, value in pairs if not isinstance(kind, types.Array)]
        # the precision of the sum; arrays of lower precision are widened entry by entry in _add
        element = context.get_data_type(signature.return_type)
        (size,) = cgutils.unpack_tuple(builder, arrays[0][0].shape, 1)
        pointers = [(array.data, stored) for array, stored in arrays]
        return _Reduction(builder, element, term, join, start).write(size, pointers, scalars)

    return generate


def _signature(*operands: Any) -> Any:
    """Signature of a reduction in the precision of the most precise array, to which scalars are converted."""
    arrays = [kind for kind in operands if isinstance(kind, types.Array)]
    precisions = (types.float32, types.float64)
    if not arrays or any(kind.dtype not in precisions or (kind.ndim, kind.layout) != (1, "C") for kind in arrays):
        raise TypingError(f"sums in lanes take contiguous vectors of floating-point numbers, not {operands}")
    result = types.float64 if types.float64 in [kind.dtype for kind in arrays] else types.float32
    return result(*(kind if kind in arrays else result for kind in operands))


def _excess(builder: Builder, constant: Callable[[float], Value], x: Value, threshold: Value) -> Value:
    # max(x - t, 0) by a comparison and a select: a NaN compares false and becomes 0, in every lane alike
    above = builder.fsub(x, threshold)
    return builder.select(builder.fcmp_ordered(">", above, constant(0.0)), above, constant(0.0))


@intrinsic
def lane_sum(typing: Any, x: Any) -> Any:
    """Sum of x (n,)."""
    return _signature(x), _implementation(lambda builder, constant, entry: entry)


@intrinsic
def lane_product(typing: Any, x: Any) -> Any:
    """Product of x (n,)."""
    return _signature(x), _implementation(lambda builder, constant, entry: entry, "fmul", 1.0)


@intrinsic
def lane_dot(typing: Any, x: Any, y: Any) -> Any:
    """``sum x[i] y[i]`` over the entries of x (n,); y may be longer."""
    return _signature(x, y), _implementation(lambda builder, constant, x_entry, y_entry: builder.fmul(x_entry, y_entry))


@intrinsic
def lane_excess(typing: Any, x: Any, threshold: Any) -> Any:
    """``sum max(x[i] - threshold, 0)`` of x (n,)."""
    return _signature(x, threshold), _implementation(_excess)


@intrinsic
def lane_above(typing: Any, x: Any, threshold: Any) -> Any:
    """Number of entries of x (n,) above the threshold, in their own precision: exact up to 2^24 entries in single."""

    def above(builder: Builder, constant: Callable[[float], Value], entry: Value, bound: Value) -> Value:
        return builder.select(builder.fcmp_ordered(">", entry, bound), constant(1.0), constant(0.0))

    return _signature(x, threshold), _implementation(above)
