"""Tables of eight lanes: gathers into scores and scatters of residuals, eight rows at a time.

A table holds eight numbers to a position, one for each column of scores; they are one vector, added as a whole.
Scores and residuals hold a column after the other: eight rows of eight lanes are turned in registers on the way.
What one number is added up from, and in which order, is the same as one row and one lane at a time.

These are functions for compiled kernels (:func:`partialfair.kernels.compiled.kernel`) on contiguous arrays.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from partialfair.kernels.compiled import LANES

INDEX = ir.IntType(64)
VECTOR = ir.VectorType(ir.FloatType(), LANES)
TURNS = 4  # tables that neighbouring rows take in turn

Builder = Any
Value = Any


def _number(value: int) -> Value:
    return ir.Constant(INDEX, value)


def _vector_at(builder: Builder, pointer: Value, index: Value) -> Value:
    """Pointer to the eight entries from ``index`` on."""
    return builder.bitcast(builder.gep(pointer, [index]), VECTOR.as_pointer())


def turned(builder: Builder, rows: list[Value]) -> list[Value]:
    """Eight vectors of the first entries, the second, ..., of eight vectors: exchanges of halves, quarters, entries."""
    # Transpose an 8 x 8 block in three passes: exchange halves (4), quarters (2), then single entries (1) of rows k, k
    # + step.
    step = LANES // 2
    while step:
        for k in (k for k in range(LANES) if not k & step):
            upper, lower = rows[k], rows[k + step]
            entries = [j + (LANES - step if j & step else 0) for j in range(LANES)]
            upper_mask, lower_mask = (
                ir.Constant(ir.VectorType(ir.IntType(32), LANES), [entry + shift for entry in entries])
                for shift in (0, step)
            )
            rows[k], rows[k + step] = (builder.shuffle_vector(upper, lower, mask) for mask in (upper_mask, lower_mask))
        step //= 2
    return rows


class _Columns:
    """Columns (8, n): eight vectors of eight rows, or the eight entries of one."""

    def __init__(self, builder: Builder, array: Any) -> None:
        self.builder, self.pointer = builder, array.data
        self.length = cgutils.unpack_tuple(builder, array.shape, 2)[1]

    def _index(self, lane: int, row: Value) -> Value:
        return self.builder.add(self.builder.mul(_number(lane), self.length), row)

    def load(self, row: Value, rows: int) -> list[Value]:
        """The lanes of each of a number of rows."""
        builder = self.builder
        if rows == LANES:
            # eight rows of a column are contiguous: one load per column, then a transpose puts the columns of a row
            # side by side
            lanes = [_vector_at(builder, self.pointer, self._index(lane, row)) for lane in range(LANES)]
            return turned(builder, [builder.load(lane, align=4) for lane in lanes])
        vectors = [ir.Constant(VECTOR, ir.Undefined)] * rows
        for k in range(rows):
            for lane in range(LANES):
                index = self._index(lane, builder.add(row, _number(k)))
                entry = builder.load(builder.gep(self.pointer, [index]))
                vectors[k] = builder.insert_element(vectors[k], entry, ir.Constant(ir.IntType(32), lane))
        return vectors

    def store(self, row: Value, vectors: list[Value]) -> None:
        """Adjoint of :meth:`load`."""
        builder = self.builder
        if len(vectors) == LANES:
            # a transpose is its own inverse: rows back to columns, one store per column
            for lane, vector in enumerate(turned(builder, vectors)):
                builder.store(vector, _vector_at(builder, self.pointer, self._index(lane, row)), align=4)
            return
        for k, vector in enumerate(vectors):
            for lane in range(LANES):
                index = self._index(lane, builder.add(row, _number(k)))
                entry = builder.extract_element(vector, ir.Constant(ir.IntType(32), lane))
                builder.store(entry, builder.gep(self.pointer, [index]))


class _Codes:
    """Positions (F, n) in a table of eight lanes."""

    def __init__(self, builder: Builder, array: Any) -> None:
        self.builder, self.pointer = builder, array.data
        self.count, self.length = cgutils.unpack_tuple(builder, array.shape, 2)

    def entries(self, code: Value, row: Value, table: Value) -> Value:
        """Pointer to the eight entries of a table at a row's position of this code."""
        builder = self.builder
        # codes are (F, n): code f of row i stands at f n + i; the table has eight numbers at 8 position
        index = builder.add(builder.mul(code, self.length), row)
        position = builder.zext(builder.load(builder.gep(self.pointer, [index])), INDEX)
        return _vector_at(builder, table, builder.mul(position, _number(LANES)))


def _in_turns(
    builder: Builder, start: Value, stop: Value, sizes: list[int], visit: Callable[[Value, int], None]
) -> None:
    """Call ``visit(row, rows)`` for as many rows at a time as the first size says, then, for what is left, the next."""
    for rows in sizes:
        # whole groups of this many rows (a power of two, so a mask rounds down)
        end = builder.add(start, builder.and_(builder.sub(stop, start), _number(-rows)))
        with cgutils.for_range_slice(builder, start, end, _number(rows), INDEX) as (row, _):
            visit(row, rows)
        start = end


def _gather(builder: Builder, start: Value, stop: Value, codes: _Codes, table: Any, scores: _Columns) -> None:
    intercept = builder.load(_vector_at(builder, table.data, _number(0)), align=4)
    totals = [cgutils.alloca_once(builder, VECTOR) for _ in range(LANES)]

    def visit(row: Value, rows: int) -> None:
        # totals[k] has the eight sums of row k, which begin at the intercept and take one code after the other
        for total in totals[:rows]:
            builder.store(intercept, total)
        with cgutils.for_range(builder, codes.count, intp=INDEX) as loop:
            for k, total in enumerate(totals[:rows]):
                entries = codes.entries(loop.index, builder.add(row, _number(k)), table.data)
                builder.store(builder.fadd(builder.load(total), builder.load(entries, align=4)), total)
        scores.store(row, [builder.load(total) for total in totals[:rows]])

    _in_turns(builder, start, stop, [LANES, 1], visit)


def _gather_pairs(builder: Builder, start: Value, stop: Value, codes: _Codes, table: Any, scores: _Columns) -> None:
    totals = [cgutils.alloca_once(builder, VECTOR) for _ in range(LANES)]

    def add(row: Value, rows: int, pair: list[Value]) -> None:
        for k, total in enumerate(totals[:rows]):
            pointers = [codes.entries(code, builder.add(row, _number(k)), table.data) for code in pair]
            vectors = [builder.load(pointer, align=4) for pointer in pointers]
            change = vectors[0] if len(vectors) == 1 else builder.fadd(*vectors)
            builder.store(builder.fadd(builder.load(total), change), total)

    def visit(row: Value, rows: int) -> None:
        for total, vector in zip(totals, scores.load(row, rows), strict=False):
            builder.store(vector, total)
        # scores += table[code f] + table[code f + 1]: the two are added first, as forward_one does
        even = builder.and_(codes.count, _number(-2))
        with cgutils.for_range_slice(builder, _number(0), even, _number(2), INDEX) as (code, _):
            add(row, rows, [code, builder.add(code, _number(1))])
        with builder.if_then(builder.icmp_signed("<", even, codes.count)):
            add(row, rows, [even])
        scores.store(row, [builder.load(total) for total in totals[:rows]])

    _in_turns(builder, start, stop, [LANES, 1], visit)


def _scatter(builder: Builder, start: Value, stop: Value, codes: _Codes, tables: Any, residual: _Columns) -> None:
    count, length = cgutils.unpack_tuple(builder, tables.shape, 2)
    # With four tables, row k of a turn adds to table k, so that neighbouring rows with one code do not wait for each
    # other; with one table all offsets are 0.
    one_table = builder.icmp_signed("==", count, _number(1))
    offsets = [_number(0), *(builder.select(one_table, _number(0), builder.mul(_number(k), length)) for k in (1, 2, 3))]
    pointers = [builder.gep(tables.data, [offset]) for offset in offsets]

    def visit(row: Value, rows: int) -> None:
        lanes = residual.load(row, rows)
        with cgutils.for_range(builder, codes.count, intp=INDEX) as loop:
            for k, lane in enumerate(lanes):
                entries = codes.entries(loop.index, builder.add(row, _number(k)), pointers[k % TURNS])
                builder.store(builder.fadd(builder.load(entries, align=4), lane), entries, align=4)

    _in_turns(builder, start, stop, [LANES, TURNS, 1], visit)


def _pass(work: Callable[..., None], codes: Any, table: Any, columns: Any, dimensions: int = 1) -> Any:
    """Signature and code generator of a pass over rows."""
    single_precision = [array.dtype == types.float32 and array.layout == "C" for array in (table, columns)]
    unsigned = isinstance(codes.dtype, types.Integer) and not codes.dtype.signed
    shaped = (codes.ndim, table.ndim, columns.ndim) == (2, dimensions, 2) and codes.layout == "C"
    if not (shaped and unsigned and all(single_precision)):
        raise TypingError(f"eight lanes take contiguous codes and float32, not {codes}, {table}, {columns}")

    def generate(context: Any, builder: Builder, signature: Any, arguments: Any) -> Value:
        kinds = signature.args[2:]
        pairs = zip(kinds, arguments[2:], strict=True)
        arrays = [context.make_array(kind)(context, builder, array) for kind, array in pairs]
        start, stop = arguments[:2]
        work(builder, start, stop, _Codes(builder, arrays[0]), arrays[1], _Columns(builder, arrays[2]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, codes, table, columns), generate


@intrinsic
def gather_eight(typing: Any, start: Any, stop: Any, codes: Any, table: Any, scores: Any) -> Any:
    """``scores[:, i] = table[0] + table[codes[0, i]] + ...``, of the rows ``start..stop``.

    The codes are (F, n), the table (E * 8,) with the lanes innermost, the scores (8, n).
    """
    return _pass(_gather, codes, table, scores)


@intrinsic
def gather_eight_in_pairs(typing: Any, start: Any, stop: Any, codes: Any, table: Any, scores: Any) -> Any:
    """``scores[:, i] += table[codes[0, i]] + table[codes[1, i]]``, and so on: the order of a column alone."""
    return _pass(_gather_pairs, codes, table, scores)


@intrinsic
def scatter_eight(typing: Any, start: Any, stop: Any, codes: Any, tables: Any, residual: Any) -> Any:
    """Add ``residual[:, i]`` at every code of row i to the one table of (1, E * 8), or to one of four in turn.

    The turns are those of a column alone: rows left after whole turns go to the first table.
    """
    return _pass(_scatter, codes, tables, residual, dimensions=2)
