"""Which iterate a stochastic run of IDCA returns."""

import pytest

pytest.importorskip("torch")

from papers.partial_fairness.algorithms.deep_idca import _Candidate, _Run
from papers.partial_fairness.algorithms.networks import DeepIDCASettings


def test_an_iterate_within_the_tolerance_comes_before_a_more_accurate_one():
    run = _Run(None, DeepIDCASettings(tolerance=1e-3))
    for number, accuracy, violation in ((0, 0.5, -0.1), (1, 0.8, 5e-4), (2, 0.9, 0.1), (3, 0.7, 0.0)):
        run._keep(_Candidate(None, number, accuracy, violation, None))
    assert run.best.round == 1
