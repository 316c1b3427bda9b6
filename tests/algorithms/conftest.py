"""Small problems that the solver tests share."""

import numpy as np
import pytest
from scipy import sparse

from partialfair import plugins
from partialfair.algorithms.linear.certificate import LinearPoint
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.models.features import Standardiser


def make_problem(
    family="partial_statistical_parity", seed=0, n=600, groups=2, kappa=0.1, grid=5, interval=((0.1, 0.5),), **options
):
    """A problem on rows with one-hot and numeric columns; returns it with the rows in original order."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n).astype(np.int16)
    numeric = rng.normal(group[:, None] * 0.8, 1.0, (n, 2))
    level = rng.integers(0, 5, n)
    X = np.hstack([np.eye(5)[level][:, 1:], numeric]).astype(np.float32)
    logit = 1.2 * numeric[:, 0] - 0.7 * numeric[:, 1] + 0.3 * level - 1.0
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), 1.0, -1.0)
    program = None
    if np.isfinite(kappa):
        build = plugins.load("constraints", family).build
        program = build(group, y, interval=interval, kappa=kappa, grid=grid, kappa_scale="absolute")
    standardiser = Standardiser.fit(X, np.array([4, 5]))
    options.setdefault("standardiser", standardiser)
    problem = LinearProblem.build(sparse.csr_array(X), y, group, program=program, n_groups=groups, **options)
    X = X.astype(np.float64)
    X[:, 4:] = standardiser.values(X)
    return problem, X, y, group


def evaluated_point(problem, found, **options):
    """A solution as an evaluated point: objective, violation and certificate are computed from it."""
    return LinearPoint(problem, found.params, found.aux, **options)


@pytest.fixture
def problem_factory():
    """The function :func:`make_problem`."""
    return make_problem
