"""Parquet files written without pandas."""

import subprocess
import sys

import numpy as np
import pytest
from pyarrow import parquet

from partialfair.data import arrow


@pytest.mark.parametrize(
    "values", [np.array([1.5, np.nan]), np.arange(3), np.array([], np.float32), ["alm", "", "é"], [], [""] * 3]
)
def test_a_column_is_read_back_as_it_was(tmp_path, values):
    arrow.write(tmp_path / "t.parquet", {"x": arrow.column(values)})
    found = parquet.read_table(tmp_path / "t.parquet")["x"].to_pylist()
    np.testing.assert_array_equal(found, list(values))


def test_strided_values_are_written_in_their_order(tmp_path):
    arrow.write(tmp_path / "t.parquet", {"x": arrow.column(np.arange(10)[::3])})
    assert parquet.read_table(tmp_path / "t.parquet")["x"].to_pylist() == [0, 3, 6, 9]


def test_pandas_is_not_imported(tmp_path):
    program = (
        "import sys, numpy as np; from partialfair.data import arrow; a = {'x': np.arange(2.0), 's': ['a', 'b']};"
        f"arrow.write({str(tmp_path / 't.parquet')!r}, {{k: arrow.column(v) for k, v in a.items()}});"
        "sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
