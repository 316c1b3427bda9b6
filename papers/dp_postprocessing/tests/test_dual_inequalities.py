"""The inequalities of the DP post-processing paper: known answers, and faults that break them."""

import math
from dataclasses import replace

import numpy as np
import pytest

from papers.cross_paper.exhibits.inequalities import Inequality, summary
from papers.dp_postprocessing.exhibits import dual_inequalities
from papers.dp_postprocessing.exhibits.dual_inequalities import DualProblem
from partialfair.algorithms.regression import proximal_newton
from partialfair.algorithms.regression.fair_dual import Dual, atoms, split, spread
from partialfair.models.grid_predictor import group_weights
from reproduction.datasets.stratified_splits import stratified_split
from reproduction.exhibits import exhibit
from reproduction.grid import paths
from reproduction.grid.config import load_config

EPS, BETA, HALF_ATOMS = 2.0**-8, 40.0, 4


def known_groups(n: int = 400, beta: float = BETA) -> Dual:
    """Return the dual of rows whose groups are known and whose predictions lie on atoms, one group above the other."""
    random = np.random.default_rng(0)
    group = np.arange(n) % 2
    theta = atoms(HALF_ATOMS)
    eta = theta[random.integers(0, HALF_ATOMS + 1, n) + HALF_ATOMS * group]
    shares = np.full(2, 0.5)
    return Dual(group_weights(np.eye(2)[group], shares), (eta[:, None] - theta) ** 2, np.full(2, EPS), beta)


@pytest.fixture(scope="module")
def problem() -> DualProblem:
    dual = known_groups()
    optimum = proximal_newton.solve(dual)
    finer = replace(dual, beta=dual_inequalities.FINER * dual.beta)
    lowest = -finer.value(proximal_newton.solve(finer, optimum.difference).point)
    sigma2 = spread(np.full(2, 0.5))
    return DualProblem(dual, optimum.point, dual, optimum.point, lowest, sigma2, sigma2)


def broken(inequalities) -> set[str]:
    return {line["statement"] for line in summary(list(inequalities)) if line["broken"]}


def test_all_lemmas_but_4_1_hold_and_3_2_fails_at_the_start(problem):
    assert broken(dual_inequalities.of_optimum(problem)) == {"Lemma 3.2 at the start"}
    for point in (problem.optimum, 0.5 * problem.optimum, np.zeros_like(problem.optimum)):
        for step in (1e-3, 1.0):
            assert broken(dual_inequalities.of_point(problem, point, step)) <= {
                "Lemma 4.1"
            }  # its factor of 2 is missing


def test_sums_equal_those_taken_row_by_row(problem):
    dual, difference = problem.fitted, problem.optimum[0] - problem.optimum[1]
    gradients = np.array([
        np.stack([np.outer(t, p) + dual.eps[:, None], dual.eps[:, None] - np.outer(t, p)])
        for t, p in zip(dual.t, dual.probabilities(difference), strict=True)
    ])  # fmt: skip
    by_rows = float(np.mean(((gradients - gradients.mean(axis=0)) ** 2).sum(axis=(1, 2, 3))))
    assert dual_inequalities.gradient_variance(dual, difference) == pytest.approx(by_rows)


def test_the_variance_exceeds_sigma_squared_where_groups_are_known_and_predictions_sharp(problem):
    """At 0 and a large beta every row has one atom: E sum_l pi_l^2 |t|^2 = sigma^2, and it counts twice."""
    at_start = list(dual_inequalities.of_noise(problem, np.zeros(problem.fitted.shape), 1e6))
    assert broken(at_start) == {"Lemma 4.1"}
    # sigma^2 = 2, and each t_s pi_l has variance; the squared means of the 9 atoms are taken off
    means = known_groups(beta=1e6).smooth(np.zeros(problem.fitted.shape))[1]
    assert at_start[0].lesser == pytest.approx(2 * (2.0 - float((means**2).sum())))


@pytest.mark.parametrize(
    ("fault", "statement"),
    [
        (lambda p: replace(p, fitted=p.fitted.with_eps(EPS / 2)), "Lemma 3.2"),
        (lambda p: replace(p, lowest_risk=p.lowest_risk - 0.2), "Lemma 3.3"),
    ],
)
def test_a_fault_in_a_side_breaks_the_lemma_of_the_solution(problem, fault, statement):
    assert statement in broken(dual_inequalities.of_optimum(fault(problem)))


def test_a_fault_in_the_gradient_mapping_breaks_lemma_3_5(problem, monkeypatch):
    mapping = Dual.gradient_mapping
    monkeypatch.setattr(Dual, "gradient_mapping", lambda dual, point, step: 0.1 * mapping(dual, point, step))
    point = split(np.zeros(problem.fitted.shape))
    assert "Lemma 3.5, unfairness" in broken(dual_inequalities.of_point(problem, point, 1.0))


def test_a_fault_in_sigma_breaks_lemma_3_4(problem):
    faulty = replace(problem, sigma2=problem.sigma2 / 100)
    assert "Lemma 3.4" in broken(dual_inequalities.of_point(faulty, faulty.optimum, 1.0))


def test_bound_of_theorem_c_2_by_hand():
    """M = 16, mu = 1 (sigma^2 = 2, beta = 4), T = 64, |w*| = 3: log2(M / mu) = 4."""
    start = (81 * 2**16 * 256 / 64**4 * 4**5 + 2) * 9
    noise = 81 * 2**17 * 16 * 2 / 64**3 * 4**4 + 81 * 2**11 * 2 / 64 * 4**3
    assert dual_inequalities.mapping_bound(2.0, 4.0, 64, 3.0) == pytest.approx(start + noise)


def test_constants_of_1_by_hand(problem):
    """Sides of the theorem at T = 100: sigma / sqrt(T) (1 + sigma / sqrt(T) |w*|), times |w|, plus 1 / sqrt(T)."""
    sides = {line.statement: line for line in dual_inequalities.of_theorem(problem, problem.optimum, 100)}
    size, rate = float(np.linalg.norm(problem.optimum)), math.sqrt(2.0) / 10
    right = rate * (1 + rate * size)
    assert sides["Theorem 5.1, unfairness, constants of 1"].greater == pytest.approx(right)
    assert sides["Theorem 5.1, risk, constants of 1"].greater == pytest.approx(size * right + 0.1)
    assert sides["Theorem 5.1, risk"].greater > sides["Theorem 5.1, risk, constants of 1"].greater


def test_a_summary_counts_what_is_broken_beyond_rounding():
    members = [Inequality("a", 1.0, 1.0 - 1e-12), Inequality("a", 2.0, 1.0), Inequality("b", 0.0, 1.0)]
    broken, whole = summary(members)
    assert broken == {"statement": "a", "points": 2, "broken": 1, "left": 2.0, "right": 1.0}
    assert whole["broken"] == 0


@pytest.mark.real_data
def test_the_exhibit_on_communities_and_crime(dataset, tmp_path):
    """The printed beta, one split: all lemmas hold for every fit, and 4.1 fails at the start with a large beta."""
    config = load_config("params.yaml")
    data = dataset("communities_crime", protocol="paper")
    for path, content in (
        (paths.table("dp_communities"), replace(data, name="dp_communities")),
        (paths.split("dp_communities", 1), stratified_split(data, 1, "paper")),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        content.save(tmp_path / path)
    context = exhibit.context(config, "dp_lemmas", tmp_path)
    lines = list(dual_inequalities.lines_of(context, "dp_paper", "dp_communities"))
    failing = {(line["statement"], line["fit"]) for line in lines if line["broken"]}
    assert failing == {("Lemma 3.2 at the start", "exact"), ("Lemma 4.1", "start, beta 10000")}
    assert len(lines) == 3 + 2 + 4 * 8


def test_data_that_are_not_prepared_are_named(tmp_path):
    context = exhibit.context(load_config("params.yaml"), "dp_lemmas", tmp_path)
    lines = list(dual_inequalities.csv_lines(context))
    assert {line["note"] for line in lines} == {"dp_law is not prepared", "dp_communities is not prepared"}
