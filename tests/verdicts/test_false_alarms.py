"""Where no method is better, the rule of readings says so as rarely as the declared test, or more rarely."""

import numpy as np

from tests.verdicts.planted import context, decided
from tests.verdicts.test_readings import read

WORLDS = 120
DECIDED = ("holds", "fails")


def test_without_a_difference_the_word_decides_no_more_often_than_the_declared_test(six):
    """The sign of each seed's difference is drawn at random: no method is ahead in any of these worlds."""
    found, rng = [], np.random.default_rng(7)
    for _ in range(WORLDS):
        shift = dict(enumerate(rng.choice([-1, 1], size=6) * rng.uniform(1e-3, 3e-3, size=6)))
        world = context(six, lambda job, _, own=shift: own[job.seed] * (job.algorithm == "idca"), noise=3e-4)
        found += decided(world, read(practical=None))
    declared = sum(line.verdict in DECIDED for line in found)
    robust = sum(line.robust in DECIDED for line in found)
    assert robust <= declared
    assert robust <= 0.05 * WORLDS + 3 * (WORLDS * 0.05 * 0.95) ** 0.5  # 2.5% on either side, with its own error
    assert sum(line.robust == "depends" for line in found) <= 0.2 * WORLDS


def test_the_declared_test_decides_whatever_the_word_decides_unless_every_model_is_beaten(six):
    rng = np.random.default_rng(8)
    for _ in range(40):
        by = rng.normal(0, 2e-3)
        world = context(six, lambda job, _, own=by: own * (job.algorithm == "idca"), noise=6e-4)
        for line in decided(world, read(practical=None)):
            if line.robust in DECIDED:
                assert line.verdict == line.robust
