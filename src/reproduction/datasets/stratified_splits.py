"""The splits of the regression papers: rows drawn by scikit-learn, stratified by group, one per repetition.

Unlike :mod:`reproduction.datasets.splits` these depend on the seed and the groups alone, so that repetition i of a
paper is the split with seed i and published numbers can be compared split by split. A dataset module uses them by
binding ``split``. The parts have the roles of :class:`partialfair.data.dataset.Split`: training rows carry labels,
those of "validation" stand for the unlabeled rows, test rows are seen by nobody before evaluation.
"""

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Dataset, Split
from partialfair.errors import ConfigError, DataError
from partialfair.plugins import did_you_mean

PROTOCOLS = ("paper", "released", "reduction")
"""``paper``: 0.4 labeled, 0.4 unlabeled, 0.2 test, as printed. ``released``: 0.8, 0.1, 0.1, which the published
numbers of the post-processing method come from. ``reduction``: 0.4, 0.4, 0.2 drawn in another order, which those of
the reduction baseline come from (the two first parts together are its larger training set)."""


def stratified_split(data: Dataset, seed: int, protocol: str = "paper") -> Split:
    """Divide the rows; each part holds the groups in nearly their overall shares.

    Args:
        data: the table.
        seed: ``random_state`` of every draw, the number of the repetition.
        protocol: one of ``PROTOCOLS``.

    Raises:
        ConfigError: an unknown protocol.
        DataError: a group is too small to be in all parts.
    """
    if protocol not in PROTOCOLS:
        raise ConfigError(f"protocol is {protocol!r}; {did_you_mean(str(protocol), PROTOCOLS)}")
    rows = np.arange(data.n_rows)
    try:
        if protocol == "paper":
            train, rest = _draw(rows, data.group, seed, train_size=0.4)
            # The quotient is a little above a third, so the test part is rounded up.
            unlabeled, test = _draw(rest, data.group, seed, test_size=0.2 / 0.6)
        elif protocol == "released":
            train, rest = _draw(rows, data.group, seed, test_size=0.2)
            unlabeled, test = _draw(rest, data.group, seed, train_size=0.5)
        else:
            rest, test = _draw(rows, data.group, seed, test_size=0.2)
            train, unlabeled = _draw(rest, data.group, seed, train_size=0.5)
    except ValueError as error:
        raise DataError(f"{data.name}: no stratified split under seed {seed}: {error}") from error
    return Split(*(np.sort(part).astype(np.int64) for part in (train, unlabeled, test)))


def _draw(
    rows: NDArray[np.int64], group: NDArray[np.int16], seed: int, **size: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two parts of ``rows``, the first of the size that scikit-learn calls ``train``."""
    from sklearn.model_selection import train_test_split

    first, second = train_test_split(rows, stratify=group[rows], random_state=seed, **size)
    return first, second


def subsample(data: Dataset, rows: int) -> Dataset:
    """``rows`` rows of a table as the paper's code draws them (unstratified, one fixed seed); 0 for all.

    The draw also fixes the order of the rows, which the splits depend on.
    """
    from sklearn.model_selection import train_test_split

    if not rows or rows >= data.n_rows:
        return data
    kept, _ = train_test_split(np.arange(data.n_rows), test_size=1 - rows / data.n_rows, random_state=42)
    return data.take(kept)
