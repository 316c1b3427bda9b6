"""Scores of rows by fits that have not seen them."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
FOLDS = 5


def folds(strata: Rows, random: np.random.RandomState, count: int = FOLDS) -> Iterator[tuple[Rows, Rows]]:
    """Yield the rows (kept, held out) of each fold, stratified; every row is held out once."""
    fold_of_row = np.empty(strata.size, np.int64)
    begin = 0
    for stratum in np.unique(strata):
        rows = random.permutation(np.flatnonzero(strata == stratum))
        fold_of_row[rows] = (begin + np.arange(rows.size)) % count
        begin += rows.size
    for fold in range(count):
        yield np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold)


def out_of_fold(
    strata: Rows, random: np.random.RandomState, scores_of: Callable[[Rows, Rows], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the scores (n,), those of each fold from a fit on the others.

    Args:
        strata: (n,) by which folds are balanced.
        random: draws the folds.
        scores_of: scores of the second rows by a fit on the first.
    """
    scores = np.empty(strata.size)
    for fitted, held_out in folds(strata, random):
        if held_out.size:
            scores[held_out] = scores_of(fitted, held_out)
    return scores
