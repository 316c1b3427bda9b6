"""Lemmas 3.2 to 5.2 and Theorem 5.1 as finite sums: both sides of every inequality on the unlabeled rows.

Every lemma holds for any distribution, so also for the empirical one of the unlabeled rows. With the base models in
place of the true functions it is the dual that is solved (``t``, ``r``). With the rows' own groups and labels,
``t_s = 1 - 1[S = s] / p_s`` and ``r_l = (y - theta_l)^2``, it is the one that Lemmas 5.1 and 5.2 call true. The fits
are made here, from the prepared table, with the settings of experiments of the grid.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from papers.cross_paper.exhibits import inequalities
from papers.cross_paper.exhibits.inequalities import Inequality
from papers.dp_postprocessing.algorithms.dp_postproc import DPPostproc, DPPostprocSettings, PostProcessed
from papers.dp_postprocessing.algorithms.regression_base import by_dataset
from partialfair.algorithms.contract import Task
from partialfair.algorithms.regression import proximal_newton
from partialfair.algorithms.regression.fair_dual import Dual, spread
from partialfair.data.dataset import Dataset, Split
from partialfair.models.grid_predictor import GridPredictor, group_weights
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.grid import paths
from reproduction.verdicts.missing_files import is_here

ALGORITHM = "dp_postproc"
FINER = 16.0
"""Factor of beta at which the dual bounds the risk of all feasible predictors from below."""
SOLVER = 1e-8
"""Subgradient norm at which the exact solver stops: the accuracy of what it is asked for."""
Vector = NDArray[np.float64]


class DualInequalities(Options):
    """Both sides of the paper's inequalities for fits with the settings of some experiments."""

    fits: dict[str, dict[str, str]] = Field(description="label -> settings that replace those of the experiment")
    theorem: list[str] = Field([], description="experiments with the beta and the number of atoms of Theorem 5.1")
    seed: int = Field(1, description="of the split")
    large_beta: float = Field(1e4, description="beta at which Lemma 4.1 is looked at besides, at the start")


@dataclass(frozen=True, eq=False)
class DualProblem:
    """What the fits of one setting share.

    Attributes:
        fitted: the dual with the base models; optimum: (2, K, G) its exact solution.
        rows: the dual with groups and labels of the rows; rows_optimum: (2, K, G) its solution.
        lowest_risk: a lower bound of the risk of every predictor that satisfies the constraints of ``fitted``.
        sigma2: sigma^2 of ``fitted``, from its shares; rows_sigma2: that of ``rows``.
    """

    fitted: Dual
    optimum: Vector
    rows: Dual
    rows_optimum: Vector
    lowest_risk: float
    sigma2: float
    rows_sigma2: float

    @property
    def entropy(self) -> float:
        """Return ``log(2 L + 1) / beta``, what the entropic term costs at most."""
        return math.log(self.fitted.shape[1]) / self.fitted.beta


def problem_of(unlabeled: Dataset, model: GridPredictor, exact: PostProcessed) -> DualProblem:
    """Return the two duals of some unlabeled rows and their solutions.

    Args:
        unlabeled: the rows, with labels and groups.
        model: a fit, of which base models, shares and atoms are taken.
        exact: the exact solution of its dual.

    Raises:
        InfeasibleError: the solver finds no predictor within the tolerances.
    """
    fitted, (offset, factor) = exact.dual, model.scale
    frequencies = np.bincount(unlabeled.group, minlength=unlabeled.n_groups) / unlabeled.n_rows
    weights = group_weights(np.eye(unlabeled.n_groups)[unlabeled.group], frequencies)
    costs = (((unlabeled.y - offset) / factor)[:, None] - model.theta) ** 2
    rows = Dual(weights, costs, fitted.eps, fitted.beta)
    # Weak duality: -F at any point is at most the regularised risk, which is at most the risk, of every feasible pi.
    finer = Dual(fitted.t, fitted.r, fitted.eps, FINER * fitted.beta)
    lowest_risk = -finer.value(proximal_newton.solve(finer, exact.difference).point)
    rows_optimum = proximal_newton.solve(rows).point
    return DualProblem(fitted, exact.point, rows, rows_optimum, lowest_risk, spread(model.shares), spread(frequencies))


def risk(dual: Dual, probabilities: Vector) -> float:
    """Return the mean cost of probabilities (N, G): ``R(pi)``."""
    return float((probabilities * dual.r).sum() / dual.n_rows)


def exceeded(dual: Dual, probabilities: Vector) -> float:
    """Return ``(sum_ls (U_s(l) - eps_s)_+^2)^(1/2)`` of probabilities (N, G)."""
    violations = np.abs(dual.t.T @ probabilities) / dual.n_rows
    return float(np.linalg.norm(np.maximum(violations - dual.eps[:, None], 0.0)))


def gradient_variance(dual: Dual, difference: Vector) -> float:
    """Return ``E ||g - grad F||^2`` at D (K, G): Lambda and V have the same noise, so that each entry counts twice."""
    probabilities = dual.probabilities(difference)
    second_moment = float(np.mean((probabilities**2).sum(axis=1) * (dual.t**2).sum(axis=1)))
    return 2.0 * (second_moment - float((dual.smooth(difference)[1] ** 2).sum()))


def of_optimum(problem: DualProblem) -> Iterator[Inequality]:
    """Yield Lemmas 3.2 and 3.3, which are about the solution alone; the start shows what they say nothing of."""
    dual, difference = problem.fitted, problem.optimum[0] - problem.optimum[1]
    probabilities, tolerance = dual.probabilities(difference), float(dual.eps.max())
    yield Inequality("Lemma 3.2", float(dual.violations(difference).max()), tolerance, SOLVER)
    yield Inequality("Lemma 3.2 at the start", float(dual.violations(0.0 * difference).max()), tolerance, SOLVER)
    yield Inequality("Lemma 3.3", risk(dual, probabilities), problem.lowest_risk + problem.entropy)


def of_point(problem: DualProblem, point: Vector, step: float) -> Iterator[Inequality]:
    """Yield Lemmas 3.4, 3.5, 4.1, 5.1 and 5.2 at a point (2, K, G), with the gradient mapping of a step."""
    dual, rows, difference = problem.fitted, problem.rows, point[0] - point[1]
    probabilities = dual.probabilities(difference)
    mapping, size = (float(np.linalg.norm(array)) for array in (dual.gradient_mapping(point, step), point))
    # The Hessian of F by (Lambda, V) is [[H, -H], [-H, H]], whose eigenvalues are 0 and twice those of H.
    eigenvalues = 2.0 * np.linalg.eigvalsh(dual.hessian(probabilities))
    yield Inequality("Lemma 3.4", float(eigenvalues[-1]), 2.0 * dual.beta * problem.sigma2)
    yield Inequality("Lemma 3.4, convex", -float(eigenvalues[0]), 0.0, 1e-9)
    yield Inequality("Lemma 3.5, unfairness", exceeded(dual, probabilities), mapping, SOLVER)
    best = risk(dual, dual.probabilities(problem.optimum[0] - problem.optimum[1]))
    yield Inequality("Lemma 3.5, risk", risk(dual, probabilities), best + size * mapping + problem.entropy)
    yield from of_noise(problem, difference)
    # E^(1/2) ||t - t_hat||^2 and E max_l |r_l - r_hat_l|
    weights_error = math.sqrt(float(np.mean(((rows.t - dual.t) ** 2).sum(axis=1))))
    costs_error = float(np.abs(rows.r - dual.r).max(axis=1).mean())
    yield Inequality("Lemma 5.1", exceeded(rows, probabilities), mapping + weights_error)
    best = risk(rows, rows.probabilities(problem.rows_optimum[0] - problem.rows_optimum[1]))
    right = best + size * mapping + problem.entropy + 2.0 * costs_error + math.sqrt(2.0) * size * weights_error
    yield Inequality("Lemma 5.2", risk(rows, probabilities), right)


def of_noise(problem: DualProblem, difference: Vector, beta: float | None = None) -> Iterator[Inequality]:
    """Yield Lemma 4.1 as printed and with twice its bound, for both duals at D (K, G) and possibly another beta."""
    for dual, sigma2 in ((problem.fitted, problem.sigma2), (problem.rows, problem.rows_sigma2)):
        variance = gradient_variance(Dual(dual.t, dual.r, dual.eps, beta or dual.beta), difference)
        yield Inequality("Lemma 4.1", variance, sigma2)
        yield Inequality("Lemma 4.1 with 2 sigma^2", variance, 2.0 * sigma2)


def mapping_bound(sigma2: float, beta: float, steps: int, norm: float) -> float:
    """Return the bound of Theorem C.2 on ``E ||G||^2`` with M = 2 beta sigma^2 and mu = 2 sigma^2 / beta."""
    smoothness, mu, T = 2.0 * beta * sigma2, 2.0 * sigma2 / beta, float(steps)
    log = math.log2(smoothness / mu)
    start = (81 * 2**16 * smoothness**2 / T**4 * log**5 + 2 * mu**2) * norm**2
    return start + sigma2 * (81 * 2**17 * smoothness / (mu * T**3) * log**4 + 81 * 2**11 / T * log**3)


def of_theorem(problem: DualProblem, point: Vector, steps: int) -> Iterator[Inequality]:
    """Yield Theorem 5.1 at a point (2, K, G) after ``steps`` steps, with the proof's constants and with constants of 1.

    The risk R* of the benchmark (12) is replaced by 0, the least that it can be, which makes the theorem's right side
    smaller. B is 1: labels are mapped to [-1, 1].
    """
    dual, probabilities = problem.fitted, problem.fitted.probabilities(point[0] - point[1])
    size, norm, half_atoms = float(np.linalg.norm(point)), float(np.linalg.norm(problem.optimum)), dual.shape[1] // 2
    unfairness, measured_risk = exceeded(dual, probabilities), risk(dual, probabilities)
    proved = math.sqrt(mapping_bound(problem.sigma2, dual.beta, steps, norm))
    discretised = 4.0 / half_atoms + 1.0 / half_atoms**2 + 2.0 * problem.entropy  # Lemma B.1 and Lemma 3.5
    yield Inequality("Theorem 5.1, unfairness", unfairness, proved)
    yield Inequality("Theorem 5.1, risk", measured_risk, size * proved + discretised)
    rate = math.sqrt(problem.sigma2 / steps)
    order = rate * (1.0 + rate * norm)
    yield Inequality("Theorem 5.1, unfairness, constants of 1", unfairness, order)
    yield Inequality("Theorem 5.1, risk, constants of 1", measured_risk, size * order + 1.0 / math.sqrt(steps))


def csv_lines(context: Context[DualInequalities]) -> Iterator[Line]:
    """Yield a line per dataset, experiment, fit and statement; one with a note for data that are not prepared."""
    for experiment in context.experiments:
        for dataset in context.config.experiment(experiment).runs:
            if dataset in context.options.datasets:
                for line in lines_of(context, experiment, dataset):
                    yield {"dataset": dataset, "setting": experiment} | line


def lines_of(context: Context[DualInequalities], experiment: str, dataset: str) -> Iterator[Line]:
    """Yield the lines of one dataset with the settings of one experiment."""
    seed = context.options.seed
    table, split_path = (context.root / path for path in (paths.table(dataset), paths.split(dataset, seed)))
    if not (is_here(table) and is_here(split_path)):
        yield {"note": f"{dataset} is not prepared"}
        return
    settings, task = settings_of(context, experiment), task_of(context, experiment, dataset, table)
    model, exact = fitted(task, settings | {"optimiser": "exact"})
    problem = problem_of(task.validation, model, exact)
    yield from of_fit("exact", of_optimum(problem))
    yield from of_fit("exact", of_point(problem, exact.point, exact.step))
    start = of_noise(problem, np.zeros(problem.fitted.shape), context.options.large_beta)
    yield from of_fit(f"start, beta {context.options.large_beta:g}", start)
    for label, changed in context.options.fits.items():
        point = fitted(task, settings | changed)[1]
        yield from of_fit(label, of_point(problem, point.point, point.step))
        if experiment in context.options.theorem:
            steps = int(by_dataset(settings["steps"], task, "steps"))
            yield from of_fit(label, of_theorem(problem, point.point, steps))


def of_fit(label: str, members: Iterator[Inequality]) -> Iterator[Line]:
    """Yield the lines of one fit."""
    for line in inequalities.summary(list(members)):
        yield {"fit": label} | line


def settings_of(context: Context[DualInequalities], experiment: str) -> dict[str, Any]:
    """Return the settings of an experiment for a single tolerance without repeats."""
    return {**context.config.algorithm_settings(experiment, ALGORITHM), "levels": [], "repeats": 0}


def task_of(context: Context[DualInequalities], experiment: str, dataset: str, table: Any) -> Task:
    """Return the task of a dataset at the first tolerance of the experiment."""
    entry, data = context.config.experiment(experiment), Dataset.load(table)
    run, seed = entry.runs[dataset], context.options.seed
    split = Split.load(context.root / paths.split(dataset, seed), data.n_rows)
    return Task(
        train=data.take(split.train), validation=data.take(split.validation), constraint=entry.constraint,
        interval=run.interval, kappa=run.algorithms[ALGORITHM][0], kappa_scale=entry.kappa_scale, seed=seed,
        report=lambda _: None,
    )  # fmt: skip


def fitted(task: Task, settings: dict[str, Any]) -> tuple[GridPredictor, PostProcessed]:
    """Return the predictor and the point of the dual of one fit."""
    fit = DPPostproc().fit(task, DPPostprocSettings(**settings))
    assert isinstance(fit.model, GridPredictor) and isinstance(fit.evaluated_point, PostProcessed)
    return fit.model, fit.evaluated_point


FROM_TABLES = True
KIND = inequalities.kind(DualInequalities, csv_lines)
