"""Passes over the rows, and the step from which points are sampled."""

import math

import numpy as np
from test_stochastic_methods import sgd, small_problem, starts, switching

from papers.stochastic_benchmark.algorithms.stochastic_run import Plan, run


def test_the_tolerance_of_switching_begins_anew_with_every_pass():
    method, problem = switching(tolerance=1e-2, tolerance_decay=0.5, decay_start=2, batch=10), small_problem(n=95)
    streams, one_pass = method.streams(problem, [0]), math.ceil(95 / 10)
    first = [method.eps(k, streams) for k in range(one_pass)]
    assert first[:4] == [1e-2, 1e-2, 1e-2, 5e-3]
    assert [method.eps(one_pass + k, streams) for k in range(one_pass)] == first
    assert method.eps(one_pass, None) < 1e-2, "where every step reads all rows there are no passes"


def test_no_point_is_sampled_before_its_time():
    """The point after the last step that does not count is never returned."""
    problem, x = small_problem(), starts(small_problem(), range(40))
    plan = Plan(steps=2, records=2, sampled_from=1)
    found = run(sgd(0.05), problem, x, range(40), plan)
    assert np.array_equal(found.point, found.last)
