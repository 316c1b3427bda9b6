"""The sparse drop-first encoder, against pandas."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from reproduction.datasets.one_hot import Categorical, drop_first


@given(st.integers(1, 40), st.integers(1, 3), st.lists(st.integers(1, 6), max_size=4), st.integers(0, 10**6))
def test_equals_pandas(n: int, p: int, sizes: list[int], seed: int) -> None:
    draw = np.random.default_rng(seed)
    numeric = draw.normal(size=(n, p)).astype(np.float32)
    codes = [draw.integers(0, size, n) for size in sizes]
    levels = [[f"l{level}" for level in range(size)] for size in sizes]
    columns = [Categorical(f"c{j}", codes[j], levels[j]) for j in range(len(sizes))]
    X, names = drop_first(numeric, [f"n{j}" for j in range(p)], columns)

    frame = pd.DataFrame(numeric, columns=[f"n{j}" for j in range(p)])
    for j in range(len(sizes)):
        frame[f"c{j}"] = pd.Categorical.from_codes(codes[j], levels[j])
    expected = pd.get_dummies(frame, prefix_sep="=", drop_first=True, dtype=np.float32)
    assert list(names) == list(expected.columns)
    assert np.array_equal(X.toarray(), expected.to_numpy(np.float32))
    assert (X.data.dtype, X.indices.dtype, X.indptr.dtype) == (np.float32, np.int32, np.int32)
    assert all(np.all(np.diff(X.indices[a:b]) > 0) for a, b in zip(X.indptr, X.indptr[1:], strict=False))


def test_numeric_zeros_are_stored() -> None:
    X, _ = drop_first(np.zeros((3, 2), np.float32), ["a", "b"], [Categorical("c", np.array([0, 1, 1]), ["u", "v"])])
    assert X.indices.tolist() == [0, 1, 0, 1, 2, 0, 1, 2]
