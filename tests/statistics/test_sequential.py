"""Two looks: known boundaries of O'Brien and Fleming's kind, and the error that both looks make together."""

import numpy as np
import pytest
from scipy.special import ndtri

from reproduction.statistics.sequential import spent, two_looks


@pytest.mark.parametrize(
    ("fraction", "first", "last"),
    [(0.5, 2.9626, 1.9686), (1 / 3, 3.7103, 1.9606)],  # gsDesign: sfLDOF, two looks, one-sided .025
)
def test_boundaries_are_those_that_are_known(fraction, first, last):
    levels = two_looks(fraction, 0.025)
    assert [-ndtri(level) for level in levels] == pytest.approx([first, last], abs=2e-4)


def test_all_of_the_error_is_spent_at_the_end_and_none_at_the_beginning():
    assert spent(1.0, 0.025) == pytest.approx(0.025) and spent(0.05, 0.025) < 1e-20


def test_both_looks_together_err_as_often_as_stated():
    draws = np.random.default_rng(0).standard_normal((400_000, 15))
    first, last = two_looks(5 / 15, 0.025)
    early, late = draws[:, :5].sum(axis=1) / 5**0.5, draws.sum(axis=1) / 15**0.5
    wrong = ((early > -ndtri(first)) | (late > -ndtri(last))).mean()
    assert wrong == pytest.approx(0.025, abs=0.0008)
