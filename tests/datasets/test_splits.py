"""Splits are exact, disjoint, random by (dataset, seed), and refuse parts that cannot be used."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partialfair import plugins
from partialfair.data.dataset import Dataset, Split
from partialfair.errors import DataError
from reproduction.datasets.spec import SplitRule
from reproduction.datasets.splits import make_split


def table(n: int, name: str = "toy", n_test: int = 0, **changed: object) -> Dataset:
    """n rows in which groups and labels alternate evenly; the last ``n_test`` are the published test file."""
    fields = {
        "X": np.zeros((n, 1), np.float32),
        "y": np.where(np.arange(n) % 4 < 2, 1.0, -1.0),
        "group": (np.arange(n) % 2).astype(np.int16),
        "feature_names": ("x",),
        "group_names": ("a", "b"),
        "name": name,
        "partition": np.repeat([0, 1], [n - n_test, n_test]).astype(np.int8) if n_test else None,
    }
    return Dataset(**(fields | changed))


def parts(split: Split) -> list[np.ndarray]:
    return [split.train, split.validation, split.test]


@given(n=st.integers(400, 1000), seed=st.integers(0, 10**6), published=st.booleans())
def test_parts_cover_all_rows_once(n: int, seed: int, published: bool) -> None:
    rule = SplitRule(0.8, 0.2, 0.0, published_test=True) if published else SplitRule()
    split = make_split(table(n, n_test=n // 4 if published else 0), seed, rule)
    assert np.array_equal(np.sort(np.concatenate(parts(split))), np.arange(n))
    assert all(np.all(np.diff(part) > 0) and part.dtype == np.int64 for part in parts(split))
    if published:
        assert np.array_equal(split.test, np.arange(n - n // 4, n))
    else:
        assert len(split.train) == round(0.6 * n) and len(split.validation) == round(0.2 * n)


def test_split_is_a_function_of_name_and_seed() -> None:
    first = make_split(table(400), 0)
    assert all(map(np.array_equal, parts(first), parts(make_split(table(400), 0))))
    assert not np.array_equal(first.train, make_split(table(400), 1).train)
    assert not np.array_equal(first.train, make_split(table(400, name="other"), 0).train)


def test_split_never_changes_between_versions() -> None:
    digest = hashlib.sha256(b"".join(part.tobytes() for part in parts(make_split(table(400), 0)))).hexdigest()
    assert digest == "01f45e5ad943ea027d9bb7c3bc81f13781f0e2de3c3a7a9ddd2c063ca6a105e9"


def test_split_is_random() -> None:
    counts = np.zeros(400)
    for seed in range(200):
        counts[make_split(table(400), seed).train] += 1
    # Each row is in the training part with probability 0.6: 120 of 200, standard deviation 6.9.
    assert abs(counts - 120).max() < 40
    assert 5 < counts.std() < 9


@pytest.mark.parametrize("name", plugins.names("datasets"))
def test_rule_of_the_dataset_is_used(name: str) -> None:
    rule = plugins.load("datasets", name).SPEC.split
    split = make_split(table(1600, name=name, n_test=400 if rule.published_test else 0), 3)
    pool = 1200 if rule.published_test else 1600
    expected = [rule.train * pool, rule.validation * pool, 400 if rule.published_test else rule.test * pool]
    assert [len(part) for part in parts(split)] == expected


def test_published_proportions() -> None:
    rules = {name: plugins.load("datasets", name).SPEC.split for name in plugins.names("datasets")}
    assert rules["a9a"] == SplitRule(0.9, 0.1, 0.0, published_test=True)
    assert rules["law_school"] == SplitRule(0.5625, 0.1875, 0.25)
    assert rules["bank"] == rules["acs_income"] == rules["acs_income_ok"] == SplitRule(0.6, 0.2, 0.2)


def test_published_test_needs_a_published_test_file() -> None:
    with pytest.raises(DataError, match=r"toy: no published test file"):
        make_split(table(400), 0, SplitRule(0.9, 0.1, 0.0, published_test=True))


def test_empty_part_is_refused() -> None:
    with pytest.raises(DataError, match=r"toy: the validation part under seed 7 is empty; give it a larger"):
        make_split(table(400), 7, SplitRule(0.9, 0.001, 0.099))


def test_part_without_a_group_is_refused() -> None:
    lonely = np.zeros(400, np.int16)
    lonely[0] = 1
    with pytest.raises(DataError, match=r"holds no row of group 'b'; give"):
        make_split(table(400, group=lonely), 0)


def test_part_without_a_label_of_a_group_is_refused() -> None:
    y = np.where(np.arange(400) % 2 == 0, 1.0, -1.0)  # group a all positive, group b all negative ...
    y[1] = 1.0  # ... but for one row
    with pytest.raises(DataError, match=r"holds no row of group 'b' with label \+1"):
        make_split(table(400, y=y), 0)


def test_regression_needs_groups_only() -> None:
    y = np.linspace(0, 1, 400)
    assert len(make_split(table(400, y=y, task="regression"), 0).train) == 240


@pytest.mark.parametrize(
    "rule",
    [(0.5, 0.5, 0.5), (1.0, 0.0, 0.0), (1.2, -0.1, -0.1), (0.9, 0.1, 0.1, True), (0.9, 0.2, 0.0, True)],
)
def test_bad_proportions_are_refused(rule: tuple) -> None:
    with pytest.raises(DataError, match=r"must be positive and sum to 1"):
        SplitRule(*rule)


def test_round_trip(tmp_path: Path) -> None:
    split = make_split(table(400), 0)
    split.save(tmp_path / "seed=0.npz")
    assert all(map(np.array_equal, parts(split), parts(Split.load(tmp_path / "seed=0.npz"))))
    assert [path.name for path in tmp_path.iterdir()] == ["seed=0.npz"]


@pytest.mark.parametrize("content", [b"", b"not a zip", None])
def test_unreadable_split_is_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "seed=0.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"seed=0.npz: not a readable split"):
        Split.load(path)
