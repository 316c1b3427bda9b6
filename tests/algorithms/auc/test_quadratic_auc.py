"""The exact surrogate problem: known answers, cone programs, and the identities it rests on."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from partialfair.algorithms.auc.quadratic_auc import QuadraticAUC, SetMoments, slack_of
from partialfair.data.auc_sets import PRESETS
from partialfair.errors import InfeasibleError
from tests.algorithms.auc.auc_toy import direct, problem, random_rows

KNOWN = {
    ("group", 0.1): ((0.012279, 0.115179), (0.373178, 0.960263, 1.1)),
    ("group", 0.3): (None, (0.256854,)),
    ("group", 1.0): ((0.280036, 0.354110), (0.153418,)),
    ("inter_group", 1.0): ((0.168455, 0.275711), (0.184866,)),
    ("inter_group", 0.3): ((0.023397, 0.166420), (0.324728,)),
    ("inter_group", 0.1): ((-0.031180, 0.122785), (0.408433,)),
    ("intra_group", 0.3): ((0.199332, 0.136426), (0.240024,)),
    ("intra_group", 0.1): ((0.152839, 0.037643), (0.341700,)),
}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("group", (0.916667, 2.583333, 4.583333)),
        ("inter_group", (0.916667, 2.333333, 6.333333)),
        ("intra_group", (0.916667, 3.333333, 3.333333)),
    ],
)
def test_values_on_twelve_rows(name, values):
    assert problem(name).values(np.array([1.0, 0.0])) == pytest.approx(values, abs=1e-6)


def test_unconstrained_on_twelve_rows():
    w = problem("group").unconstrained()
    assert w == pytest.approx((0.280036, 0.354110), abs=1e-6)
    assert problem("group").values(w)[0] == pytest.approx(0.153418, abs=1e-6)


@pytest.mark.parametrize(("name", "kappa"), KNOWN)
def test_known_solutions(name, kappa):
    weights, values = KNOWN[name, kappa]
    w = problem(name).solve(slack_of(kappa))
    if weights is not None:
        assert w == pytest.approx(weights, abs=1e-4)
    assert problem(name).values(w)[: len(values)] == pytest.approx(values, abs=1e-5)


def cone_program(own, slack):
    """The same problem by Clarabel."""
    w = cp.Variable(own.delta0.size)
    half, scale = (np.linalg.cholesky(form).T for form in (own.objective_form, own.scale_form))
    f0 = own.c1 * own.c2**2 - 2 * own.c1 * own.c2 * own.delta0 @ w + cp.sum_squares(half @ w)
    bounds = [cp.sum_squares(scale @ w) + sign * own.linear @ w <= slack for sign in (1, -1)]
    cp.Problem(cp.Minimize(f0), bounds).solve(solver=cp.CLARABEL)
    return w.value


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("seed", range(2))
def test_solutions_equal_a_cone_solver(name, seed):
    _, X, cells = random_rows(seed, n=80, p=5)
    own = QuadraticAUC(SetMoments.from_rows(X, cells, PRESETS[name]))
    for slack in (0.02, 0.2, 0.7):
        w, other = own.solve(slack), cone_program(own, slack)
        assert w == pytest.approx(other, abs=1e-4)
        assert own.values(w)[0] == pytest.approx(own.values(other)[0], abs=1e-6)
        assert max(own.values(w)[1:]) <= 1 + slack + 1e-9


def test_solutions_equal_sequential_quadratic_programming():
    for name in ("group", "inter_group", "intra_group"):
        own = problem(name)
        bounds = {"type": "ineq", "fun": lambda w, own=own: 1.1 - own.values(w)[1:]}
        found = minimize(
            lambda w, own=own: own.values(w)[0], np.zeros(2), method="SLSQP", constraints=bounds, tol=1e-14
        )
        assert own.solve(0.1) == pytest.approx(found.x, abs=1e-5)


def test_level_set_function_on_twelve_rows():
    own = problem("group")
    known = {0.5: -0.064930, 0.4: -0.014516, 0.373178: 0.0, 0.3: 0.041646, 0.2: 0.103189}
    for r, value in known.items():
        assert own.level(r, 0.1) == pytest.approx(value, abs=1e-5)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(PRESETS)), c1=st.sampled_from([0.3, 0.5, 1.0]))
def test_moments_equal_pairs_and_the_identity_holds(seed, name, c1):
    rng, X, cells = random_rows(seed, n=40)
    own = QuadraticAUC(SetMoments.from_rows(X, cells, PRESETS[name]), c1=c1, c2=0.8)
    w = rng.normal(size=3)
    values = own.values(w)
    assert values == pytest.approx(direct(X @ w, cells, PRESETS[name], c1, 0.8), abs=1e-9)
    q = w @ (own.scale_form - own.ridge * np.eye(3)) @ w
    base, tilt = 2 * c1 * 0.8**2, 2 * c1 * 0.8 * float(own.delta @ w)
    assert values[1:] == pytest.approx([base + tilt + q, base - tilt + q], abs=1e-9)


def test_swapping_the_groups_swaps_the_constraints():
    rng, X, cells = random_rows(3)
    w = rng.normal(size=3)
    for name in ("inter_group", "intra_group"):
        one, two = (QuadraticAUC(SetMoments.from_rows(X, c, PRESETS[name])).values(w) for c in (cells, (cells + 2) % 4))
        assert one[[0, 2, 1]] == pytest.approx(two, abs=1e-12)


def test_c1_is_redundant():
    """(c1 = 1, kappa = 1 + 2 k) and (c1 = 1/2, kappa = k) have the same solution."""
    for kappa in (0.1, 0.3):
        half, one = problem("group"), problem("group", c1=1.0, ridge=2e-8)
        assert half.solve(slack_of(kappa)) == pytest.approx(one.solve(slack_of(1 + 2 * kappa, c1=1.0)), abs=1e-6)


def test_no_slack_is_a_named_error():
    with pytest.raises(InfeasibleError, match=r"infeasible: it needs kappa_train > 2 c1 c2\^2 - 1 = 1"):
        slack_of(0.5, c1=1.0)
    with pytest.raises(InfeasibleError, match="not positive"):
        problem("group").solve(0.0)


def test_the_mean_gap_line_is_optimal_on_its_planes():
    own = problem("inter_group")
    shares = np.array([0.0, 0.5, 1.0, 1.5])
    line = own.mean_gap_line(shares)
    start = own.unconstrained()
    assert line[:, 0] == pytest.approx(start, abs=1e-9)
    assert own.delta @ line == pytest.approx((1 - shares) * (own.delta @ start), abs=1e-9)
    along = np.array([own.delta[1], -own.delta[0]])  # moves that keep the difference of mean gaps
    for w in line.T:
        for step in (1e-3, -1e-3):
            assert own.values(w + step * along)[0] > own.values(w)[0]
