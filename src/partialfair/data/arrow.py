"""Parquet files from NumPy arrays without pandas, whose import takes longer than many a job's work.

``pyarrow.array`` imports pandas where it is installed, to recognise its types; columns made from buffers do not.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from partialfair.data.files import atomic_path

if TYPE_CHECKING:
    import pyarrow as pa


def column(values: NDArray[np.number] | Sequence[str]) -> "pa.Array":
    """Return a column without missing values from numbers (n,) or from n texts."""
    import pyarrow as pa

    if isinstance(values, np.ndarray):
        kind = pa.from_numpy_dtype(values.dtype)
        return pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(np.ascontiguousarray(values))])
    texts = [text.encode() for text in values]
    ends = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(texts), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))])


def write(path: str | Path, columns: Mapping[str, "pa.Array"]) -> None:
    """Write columns of equal length as a compressed Parquet file, atomically."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.Table.from_arrays(list(columns.values()), names=list(columns))
    with atomic_path(path) as temporary:
        parquet.write_table(table, temporary, compression="zstd")
