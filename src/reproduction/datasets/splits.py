"""Training, validation and test rows of a dataset, drawn once per (dataset, seed)."""

import numpy as np
from numpy.typing import NDArray

from partialfair import plugins
from partialfair.data.dataset import Dataset, Split
from partialfair.errors import DataError
from partialfair.seeding import generator
from reproduction.datasets.spec import SplitRule


def make_split(dataset: Dataset, seed: int, rule: SplitRule | None = None) -> Split:
    """Divide the rows at random; every algorithm reads the same split.

    Args:
        dataset: the table.
        seed: seed of the experiment; the stream is that of ``("split", dataset.name, seed)``.
        rule: proportions; by default those of the dataset module of that name, and 60/20/20 for a
            table that has no module.

    Returns:
        Row numbers of each part, ascending.

    Raises:
        DataError: a part would be empty or hold no row of some group (for classification: of some
            label, or of some label within a group that has both).
    """
    if rule is None:
        rule = _rule_of(dataset.name)
    _check_whole(dataset)
    if rule.published_test:
        if dataset.partition is None:
            raise DataError(f"{dataset.name}: no published test file to split by; give proportions that sum to 1")
        pool, test = np.flatnonzero(dataset.partition == 0), np.flatnonzero(dataset.partition == 1)
    else:
        pool, test = np.arange(dataset.n_rows), np.zeros(0, np.int64)
    shuffled = generator("split", dataset.name, seed).permutation(pool)
    first = round(rule.train * len(pool))
    second = len(pool) if rule.published_test else first + round(rule.validation * len(pool))
    test = np.concatenate([test, shuffled[second:]])
    split = Split(*(np.sort(part).astype(np.int64) for part in (shuffled[:first], shuffled[first:second], test)))
    for part in ("train", "validation", "test"):
        _check_part(dataset, getattr(split, part), part, seed)
    return split


def _check_whole(dataset: Dataset) -> None:
    """Refuse a table that no split makes usable: without rows, with an empty group, or with one label."""
    if not dataset.n_rows or not dataset.n_features:
        raise DataError(f"{dataset.name}: the table has shape {dataset.X.shape}; prepare it with rows and features")
    sizes = np.bincount(dataset.group, minlength=dataset.n_groups)
    if not sizes.all():
        empty = dataset.group_names[int(np.argmin(sizes))]
        raise DataError(f"{dataset.name}: group {empty!r} has no rows; drop it from group_names or add rows")
    labels = np.unique(dataset.y)
    if dataset.task == "classification" and labels.size < 2:
        raise DataError(f"{dataset.name}: all labels are {labels[0]:+.0f}; give rows of both classes")


def _rule_of(name: str) -> SplitRule:
    """Return the rule of the dataset module ``name``; 60/20/20 if there is no such module."""
    return plugins.load("datasets", name).SPEC.split if name in plugins.names("datasets") else SplitRule()


def _check_part(dataset: Dataset, rows: NDArray[np.int64], part: str, seed: int) -> None:
    """Refuse a part in which a group, or a label that the group has, is missing."""
    where = f"{dataset.name}: the {part} part under seed {seed}"
    remedy = "give it a larger proportion, more rows, or another seed"
    if not len(rows):
        raise DataError(f"{where} is empty; {remedy}")
    for code, group in enumerate(dataset.group_names):
        everywhere, inside = dataset.group == code, dataset.group[rows] == code
        if not inside.any():
            raise DataError(f"{where} holds no row of group {group!r}; {remedy}")
        if dataset.task != "classification":
            continue
        for label in np.unique(dataset.y[everywhere]):
            if not (dataset.y[rows][inside] == label).any():
                raise DataError(f"{where} holds no row of group {group!r} with label {label:+.0f}; {remedy}")
