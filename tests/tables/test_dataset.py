"""The table type: what it refuses, and that storing it changes nothing."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from partialfair.data.dataset import Dataset, Split
from partialfair.errors import DataError


def fields(**changed: object) -> dict:
    return {
        "X": np.arange(8, dtype=np.float32).reshape(4, 2),
        "y": np.array([1.0, -1.0, 1.0, -1.0]),
        "group": np.array([0, 0, 1, 1], np.int16),
        "feature_names": ("age", "hours"),
        "group_names": ("a", "b"),
        "name": "toy",
    } | changed


def equal(first: Dataset, second: Dataset) -> bool:
    same_kind = sparse.issparse(first.X) == sparse.issparse(second.X)
    dense = [X.toarray() if sparse.issparse(X) else X for X in (first.X, second.X)]
    return (
        same_kind
        and first.X.dtype == second.X.dtype
        and np.array_equal(*dense)
        and all(np.array_equal(getattr(first, f), getattr(second, f)) for f in ("y", "group", "numeric"))
        and all(getattr(first, f) == getattr(second, f) for f in ("feature_names", "group_names", "name", "task"))
        and np.array_equal(first.partition, second.partition)
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": np.ones(3)}, "y has 3 entries, X has shape"),
        ({"group": np.zeros(5, np.int16)}, "group has 5 entries"),
        ({"feature_names": ("age",)}, "feature_names has 1 entries"),
        ({"y": np.array([1.0, 0.0, 1.0, -1.0])}, r"label .*0\.0.* in row 1; map the labels to -1 and \+1"),
        ({"y": np.array([1.0, np.nan, 1.0, 0.5]), "task": "regression"}, "label .*nan.* in row 1; drop or impute"),
        ({"group": np.array([0, 0, 2, 1], np.int16)}, "group code 2 in row 2 is outside 0..1"),
        ({"group": np.array([0, -1, 1, 1], np.int16)}, "group code -1 in row 1"),
        ({"X": np.array([[0, 1], [2, np.nan], [4, 5], [6, 7]], np.float32)}, "feature 'hours' is nan in row 1"),
        (
            {"X": sparse.csr_array(np.array([[0, 1], [2, 0], [np.inf, 5], [6, 7]], np.float32))},
            "feature 'age' is inf in row 2",
        ),
    ],
)
def test_unusable_table_is_refused(changed: dict, message: str) -> None:
    with pytest.raises(DataError, match=f"toy: .*{message}"):
        Dataset(**fields(**changed))


@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 30),
    d=st.integers(1, 5),
    is_sparse=st.booleans(),
    parted=st.booleans(),
    regression=st.booleans(),
)
def test_round_trip(
    seed: int, n: int, d: int, is_sparse: bool, parted: bool, regression: bool, tmp_path_factory
) -> None:
    draw = np.random.default_rng(seed)
    X = (draw.normal(size=(n, d)) * (draw.random((n, d)) < 0.5)).astype(np.float32)
    stored = Dataset(
        X=sparse.csr_array(X) if is_sparse else X,
        y=draw.normal(size=n) if regression else draw.choice([-1.0, 1.0], n),
        group=draw.integers(0, 3, n).astype(np.int16),
        feature_names=tuple(f"länge {j}" for j in range(d)),
        group_names=("a", "b", "ç"),
        name="toy",
        numeric=np.arange(d, dtype=np.int64),
        partition=draw.integers(0, 2, n).astype(np.int8) if parted else None,
        task="regression" if regression else "classification",
    )
    path = tmp_path_factory.mktemp("table") / "table.npz"
    stored.save(path)
    assert equal(stored, Dataset.load(path))
    assert [file.name for file in path.parent.iterdir()] == ["table.npz"]


def test_take_keeps_order_and_names() -> None:
    taken = Dataset(**fields(partition=np.array([0, 0, 1, 1], np.int8))).take(np.array([3, 0]))
    assert taken.X.tolist() == [[6, 7], [0, 1]]
    assert (taken.y.tolist(), taken.group.tolist(), taken.partition.tolist()) == ([-1, 1], [1, 0], [1, 0])
    assert (taken.n_rows, taken.n_features, taken.n_groups) == (2, 2, 2)


@pytest.mark.parametrize("damage", ["missing", "empty", "text", "truncated", "no label"])
def test_unreadable_table_is_refused(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    Dataset(**fields()).save(path)
    if damage == "missing":
        path.unlink()
    elif damage == "no label":
        with np.load(path) as stored:
            kept = {key: stored[key] for key in stored if key != "y"}
        np.savez(path, **kept)
    else:
        path.write_bytes({"empty": b"", "text": b"age;job", "truncated": path.read_bytes()[:-300]}[damage])
    with pytest.raises(DataError, match=r"table.npz: not a readable table .*prepare the dataset again"):
        Dataset.load(path)


def test_failed_save_keeps_the_old_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.npz"
    Dataset(**fields()).save(path)
    before = path.read_bytes()
    monkeypatch.setattr(np, "savez", lambda stream, **arrays: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match=r"disk full"):
        Dataset(**fields(name="new")).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["table.npz"]


@pytest.mark.parametrize("value", [2e12, -2e12])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_features_of_either_sign_that_lose_their_digits_are_refused(value, kind):
    X = np.zeros((4, 2), np.float32)
    X[2, 1] = value
    with pytest.raises(DataError, match=r"feature 'b' is .* in row 2, beyond 1e\+12"):
        Dataset(
            X=kind(X),
            y=np.array([1.0, -1, 1, -1]),
            group=np.array([0, 0, 1, 1], np.int16),
            feature_names=("a", "b"),
            group_names=("a", "b"),
            name="t",
        )


@pytest.mark.parametrize("row", [-1, 4])
def test_a_split_of_another_table_is_refused(tmp_path, row):
    Split(np.array([0, 1]), np.array([2]), np.array([row])).save(tmp_path / "s.npz")
    with pytest.raises(DataError, match=f"row {row} is not one of the table's 4 rows"):
        Split.load(tmp_path / "s.npz", 4)
