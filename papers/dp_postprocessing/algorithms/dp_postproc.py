"""Demographic parity by post-processing a regression with unlabeled data (DP post-processing paper, Algorithm 1).

The training rows give the base models; the rows of the validation part are the unlabeled ones: their labels are not
read, and with calibrated shares not their groups either. Nothing is tuned.
"""

import math
import time
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from papers.dp_postprocessing.algorithms import per_step
from papers.dp_postprocessing.algorithms.regression_base import Scale, by_dataset, fit_base, parity_only, scale_of
from papers.dp_postprocessing.algorithms.stochastic_approximation import DualSteps, Preset, Schedule, minimise, shift_of
from partialfair import seeding
from partialfair.algorithms.contract import (
    Algorithm,
    Certificate,
    EvaluatedPoint,
    Fit,
    PlotStyle,
    Record,
    Settings,
    Task,
    Trace,
)
from partialfair.algorithms.regression import proximal_newton
from partialfair.algorithms.regression.fair_dual import Dual, split, spread
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError
from partialfair.models.grid_predictor import GridPredictor, PlugIns, group_weights

Vector = NDArray[np.float64]
SMALL = 1e-6
"""Gradient mapping, and excess of a constraint, that the exact optimiser stays below."""
Optimiser = Literal["exact", "sgd", "acsa", "acsa2", "sgd3_sgd", "sgd3_acsa", "sgd3_acsa2"]


class DPPostprocSettings(Settings):
    """Settings of the base models, of the dual and of its optimiser.

    Attributes:
        optimiser: ``exact`` minimises the dual of the unlabeled sample; the others draw one row per step.
        levels: further tolerances, fitted from the same base models in the same job.
        repeats: further runs of a stochastic optimiser at every tolerance, on other drawn rows; they are no results but
            show how much the result depends on the rows that happened to be drawn.
        preset, steps, mu, smoothness, first_regulariser, average: of the stochastic optimisers; ``steps`` may be given
            by dataset. ``mu``: ``budget`` is M / T, ``theorem`` 2 sigma^2 / beta. ``smoothness``: ``paper`` is
            2 beta sigma^2, ``tight`` beta times the mean squared norm of t.
        beta: inverse strength of the entropic term; by default sqrt(N) log2(sqrt(N)) of N unlabeled rows.
        half_atoms: L, with 2 L + 1 atoms; by default the integer part of sqrt(N).
        shares: ``calibrated`` (means of tau over the unlabeled rows) or ``frequencies`` of groups in the training and
            unlabeled rows, as in the paper's code, with which the constraints are infeasible at small tolerances.
        ranges: smallest and largest label by dataset, where they are known beforehand; else of the training rows.
        rescale: whether that range is mapped to [-1, 1].
        unlabeled: how many of the unlabeled rows are used, the first ones; by default all of them.
        max_iter: iterations of the logistic regression.
        record_every: steps between recorded points of the optimiser's path; 0 for none.
        base_models: ``once`` evaluates them once per unlabeled row, ``every_step`` at every step, as the paper's code
            does; the result is the same, the time is not.
        tolerance: subgradient norm of ``exact``.
        literal_eps: slack given to the optimiser in place of kappa. The paper's code writes ``2 ^ -8``, which Python
            evaluates as exclusive or, -6. Figure 1, labelled 2^-8, was run with eps = -6, which is no valid slack.
    """

    optimiser: Optimiser = "exact"
    levels: list[float] = Field(default_factory=list)
    repeats: NonNegativeInt = 0
    preset: Preset = "released"
    steps: PositiveInt | dict[str, PositiveInt] = 10_000
    mu: Literal["budget", "theorem"] = "budget"
    smoothness: Literal["paper", "tight"] = "paper"
    first_regulariser: bool = True
    average: bool = False
    beta: PositiveFloat | None = None
    half_atoms: PositiveInt | None = None
    shares: Literal["calibrated", "frequencies"] = "calibrated"
    ranges: dict[str, tuple[float, float]] = Field(default_factory=dict)
    rescale: bool = True
    unlabeled: PositiveInt | None = None
    max_iter: PositiveInt = 100
    record_every: NonNegativeInt = 0
    base_models: Literal["once", "every_step"] = "once"
    tolerance: PositiveFloat = 1e-8
    literal_eps: float | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """Base models, shares and dual, which all tolerances of a job share."""

    base: PlugIns
    scale: Scale
    shares: Vector
    dual: Dual

    @property
    def smoothness(self) -> float:
        """M = 2 beta sigma^2 (the paper's Lemma 3.4)."""
        return 2.0 * self.dual.beta * spread(self.shares)


@dataclass(frozen=True, eq=False)
class PostProcessed(EvaluatedPoint):
    """A point (Lambda, V) of the dual of the unlabeled rows.

    Attributes:
        dual: the dual, with the slack that the optimiser was given.
        point: (2, K, G).
        step: step of the gradient mapping.
        kappa: tolerance of the task.
        accepted, stationary: see :class:`EvaluatedPoint`; infinite for stochastic optimisers, which promise nothing.
    """

    dual: Dual
    point: Vector
    step: float
    kappa: float
    accepted: float = math.inf
    stationary: float = math.inf

    @property
    def difference(self) -> Vector:
        """D (K, G), on which the predictor depends."""
        return np.asarray(self.point[0] - self.point[1])

    def objective(self) -> float:
        """Risk against the base regressor on the unlabeled rows."""
        # mean over rows of sum_l pi(l | x) r_l(x)
        return float((self.dual.probabilities(self.difference) * self.dual.r).sum() / self.dual.n_rows)

    def violation(self) -> float:
        """Largest difference of shares of an atom, beyond the slack."""
        return float((self.dual.violations(self.difference) - self.dual.eps[:, None]).max())

    def indicator_violation(self, point: Any = None) -> float:
        """Return the largest difference beyond kappa, at this point or at another D; there is no surrogate."""
        return float(self.dual.violations(self.difference if point is None else point).max() - self.kappa)

    def certificate(self) -> Certificate:
        """Norm of the gradient mapping of the dual; its points are the multipliers."""
        # |G_alpha| of equation (8) with alpha = 1 / M; by Lemma 3.5 it bounds unfairness and risk together
        mapping = float(np.linalg.norm(self.dual.gradient_mapping(self.point, self.step)))
        return Certificate("gradient_mapping", mapping, "an absolute norm", SMALL, self.point.ravel())


@dataclass(frozen=True, eq=False)
class Solved:
    """Result of an optimiser at one tolerance: point, steps, processor time before and after, and recorded D."""

    evaluated_point: PostProcessed
    steps: int
    clock: tuple[float, float]
    path: Vector
    failure: str = ""

    @property
    def records(self) -> list[Record]:
        """Two records, at the first and the last clock reading.

        Both have the final loss and violation, since only their times are used; the model's ``trace`` has the path.
        """
        loss, excess, zero = (
            self.evaluated_point.objective(),
            self.evaluated_point.violation(),
            np.zeros(self.evaluated_point.dual.shape),
        )
        return [
            Record(0, 0, loss, excess, self.clock[0], zero),
            Record(1, self.steps, loss, excess, self.clock[1], self.evaluated_point.difference),
        ]


class DPPostproc(Algorithm[DPPostprocSettings]):
    """Post-process least squares into a randomised predictor with equal distributions of predictions."""

    settings = DPPostprocSettings
    label = "Post-processing"
    paper = "DP post-processing paper, Algorithm 1"
    look = PlotStyle("#0072B2", "o")

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """Tables with real-valued labels under parity of the distribution of predictions."""
        return parity_only(constraint, data)

    def fit(self, task: Task, settings: DPPostprocSettings) -> Fit:
        """Fit base models on the training rows, solve on the unlabeled ones.

        Raises:
            InfeasibleError: by ``exact``, where no predictor meets a tolerance.
        """
        prepared = prepare(task, settings)
        # the base models and the dual's t and r do not depend on eps: all tolerances share them
        levels = [task.kappa, *(eps for eps in settings.levels if eps != task.kappa)]
        solutions = _path(task, settings, prepared, levels)
        main, stride = solutions[0], settings.record_every
        again = _repeated(task, settings, prepared, levels)
        model = GridPredictor(
            base=prepared.base,
            shares=prepared.shares,
            beta=prepared.dual.beta,
            theta=prepared.scale.atoms(prepared.dual.shape[1] // 2),
            scale=prepared.scale.back,
            difference=main.evaluated_point.difference,
            group_names=task.train.group_names,
            feature_names=task.train.feature_names,
            level_eps=np.array(levels[1:]),
            level_differences=np.array([solution.evaluated_point.difference for solution in solutions[1:]]),
            repeat_eps=np.array([eps for eps, _ in again]),
            repeat_differences=np.array([difference for _, difference in again]),
            trace_steps=np.arange(1, len(main.path) + 1) * stride if stride else np.zeros(0, np.int64),
            trace=main.path.astype(np.float32),
        )
        candidates = {f"eps={eps:.3g}": solution.records for eps, solution in zip(levels, solutions, strict=True)}
        return Fit(
            model,
            trace=Trace(candidates, next(iter(candidates))),
            evaluated_point=main.evaluated_point,
            failure=main.failure,
        )


def _repeated(
    task: Task, settings: DPPostprocSettings, prepared: Prepared, levels: list[float]
) -> list[tuple[float, Vector]]:
    """Return tolerance and D of further runs on other drawn rows; none for ``exact``, which draws no rows."""
    if settings.optimiser == "exact":
        return []
    records = []
    for eps in levels:
        dual = prepared.dual.with_eps(eps if settings.literal_eps is None else settings.literal_eps)
        for repeat in range(1, settings.repeats + 1):
            point = _stochastic(task, settings, prepared, dual, (eps, repeat))[0]
            records.append((eps, point[0] - point[1]))
    return records


def _path(task: Task, settings: DPPostprocSettings, prepared: Prepared, levels: list[float]) -> list[Solved]:
    """Solve at every tolerance, from the largest to the smallest; ``exact`` starts at the last solution."""
    solutions: dict[float, Solved] = {}
    # from loose to strict, so that each exact solution is a warm start of the next
    before = None
    for eps in sorted(set(levels), reverse=True):
        solutions[eps] = _solve(task, settings, prepared, eps, before)
        before = solutions[eps].evaluated_point.difference
    return [solutions[eps] for eps in levels]


def _solve(task: Task, settings: DPPostprocSettings, prepared: Prepared, eps: float, before: Vector | None) -> Solved:
    """Solve the dual at tolerance ``eps``, from the difference ``before`` (K, G) if there is one."""
    dual = prepared.dual.with_eps(eps if settings.literal_eps is None else settings.literal_eps)
    if settings.optimiser != "exact" and settings.base_models == "once":
        warm_up(dual)
    began = time.process_time()
    failure, path, accepted = "", np.zeros((0, *dual.shape)), math.inf
    if settings.optimiser == "exact":
        optimum = proximal_newton.solve(dual, before, tolerance=settings.tolerance)
        point, steps, accepted = optimum.point, optimum.iterations, SMALL
        failure = "" if optimum.status == "ok" else f"{optimum.status}; raise tolerance ({settings.tolerance:g})"
    else:
        point, steps, path = _stochastic(task, settings, prepared, dual, (eps, 0))
    clock = began, time.process_time()
    evaluated_point = PostProcessed(dual, point, 1.0 / prepared.smoothness, task.kappa, accepted, accepted)
    task.report(
        f"eps {eps:.3g}: risk {evaluated_point.objective():.5f}, excess {evaluated_point.violation():+.1e}, "
        f"gradient mapping {evaluated_point.certificate().value:.1e}"
    )
    return Solved(evaluated_point, steps, clock, path, failure)


def unlabeled_rows(task: Task, settings: DPPostprocSettings) -> Dataset:
    """Return the unlabeled rows, or the first of them.

    Raises:
        ConfigError: there are fewer.
    """
    if settings.unlabeled is None:
        return task.validation
    if settings.unlabeled > task.validation.n_rows:
        raise ConfigError(
            f"unlabeled: {settings.unlabeled} rows of {task.train.name} are asked for, and there are "
            f"{task.validation.n_rows}; give at most as many"
        )
    return task.validation.take(np.arange(settings.unlabeled))


def prepare(task: Task, settings: DPPostprocSettings) -> Prepared:
    """Fit the base models, and return them with the shares and the dual at slack 0."""
    scale = scale_of(task, settings.ranges, settings.rescale)
    base = fit_base(task, scale, settings.max_iter)
    unlabeled = unlabeled_rows(task, settings)
    # appendix G: L = sqrt(N), beta = sqrt(N) log sqrt(N), with N unlabeled rows; the logarithm is base 2 in the
    # released code
    root = float(np.sqrt(unlabeled.n_rows))
    theta = scale.atoms(settings.half_atoms or int(root))
    tau, eta = base.tau(unlabeled.X), base.eta(unlabeled.X)
    # p_s = mean tau_s makes E t_s = 0 on the unlabeled rows, without which a small eps has no solution
    if settings.shares == "calibrated":
        shares = tau.mean(axis=0)
    else:
        groups = np.concatenate([task.train.group, unlabeled.group])
        shares = np.bincount(groups, minlength=task.train.n_groups) / groups.size
    beta = settings.beta or root * float(np.log2(root))
    # t_s = 1 - tau_s / p_s (N, K) and r_l = (eta - theta_l)^2 (N, G), computed once for all tolerances
    dual = Dual(group_weights(tau, shares), (eta[:, None] - theta) ** 2, np.zeros(len(shares)), beta)
    return Prepared(base, scale, shares, dual)


def _stochastic(
    task: Task, settings: DPPostprocSettings, prepared: Prepared, dual: Dual, stream: tuple[float, int]
) -> tuple[Vector, int, Vector]:
    """Run a stochastic optimiser; returns the point, its steps and the recorded path.

    ``stream`` names the drawn rows: tolerance and number of the repeat, which is 0 for the result.
    """
    eps, repeat = stream
    steps = int(by_dataset(settings.steps, task, "steps"))
    # M = 2 beta sigma^2 of Lemma 3.4, or the tighter beta E|t|^2; mu = M / T as released, or 2 sigma^2 / beta
    smoothness = prepared.smoothness if settings.smoothness == "paper" else dual.bound
    mu = smoothness / steps if settings.mu == "budget" else 2.0 * spread(prepared.shares) / dual.beta
    schedule = Schedule(smoothness, mu, steps, settings.preset, settings.first_regulariser, settings.average)
    random = seeding.generator(
        "dp_postproc", task.train.name, task.seed, settings.optimiser, repr(float(eps)), *([repeat] if repeat else [])
    )
    shift = shift_of(settings.preset)
    start = split(np.zeros(dual.shape))
    if settings.base_models == "every_step":
        X = unlabeled_rows(task, settings).X
        slow = per_step.EveryStep.build(dual, prepared.base, X, prepared.shares, random, shift)
        return minimise(slow, start, settings.optimiser, schedule), steps, np.zeros((0, *dual.shape))
    run = DualSteps(dual, random, shift, settings.record_every, 2 * steps)
    point = minimise(run, start, settings.optimiser, schedule)
    return point, run.done, run.trace[: run.done // settings.record_every if settings.record_every else 0]


def warm_up(dual: Dual) -> None:
    """Load the compiled kernels before time is taken."""
    run = DualSteps(dual, np.random.default_rng(0))
    zero = split(np.zeros(dual.shape))
    run.acsa(zero, zero, 1.0, 1.0, 1, 0.0, zero)
    run.sgd(zero, 1.0, 1)


ALGORITHM = DPPostproc()
