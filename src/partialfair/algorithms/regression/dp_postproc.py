"""Demographic parity by post-processing a regression with unlabeled data (DP post-processing paper, Algorithm 1).

The training rows give the base models; the rows of the validation part are the unlabeled ones: their labels are not
read, and with calibrated shares not their groups either. Nothing is tuned.
"""

import time
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from partialfair import seeding
from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.regression import per_step, proximal_newton
from partialfair.algorithms.regression.fair_dual import Dual, split, spread
from partialfair.algorithms.regression.regression_base import Scale, by_dataset, fit_base, regression_only, scale_of
from partialfair.algorithms.regression.stochastic_approximation import DualSteps, Preset, Schedule, minimise, shift_of
from partialfair.algorithms.solution import Certificate, Record, Solution
from partialfair.algorithms.transition import Fit
from partialfair.models.grid_predictor import GridPredictor, PlugIns, group_weights
from partialfair.tables.dataset import Dataset

Vector = NDArray[np.float64]
Optimiser = Literal["exact", "sgd", "acsa", "acsa2", "sgd3_acsa", "sgd3_acsa2"]


class DPPostprocSettings(Settings):
    """Settings; sources are sections of the spec of the DP post-processing paper.

    Attributes:
        optimiser: ``exact`` minimises the dual of the unlabeled sample; the others draw one row per step.
        levels: further tolerances, fitted from the same base models in the same job.
        preset, steps, mu, smoothness, first_regulariser, average: of the stochastic optimisers; ``steps`` may be given
            by dataset. ``mu``: ``budget`` is M / T, ``theorem`` 2 sigma^2 / beta. ``smoothness``: ``paper`` is
            2 beta sigma^2, ``tight`` beta times the mean squared norm of t.
        beta: inverse strength of the entropic term; by default sqrt(N) log2(sqrt(N)) of N unlabeled rows.
        half_atoms: L, with 2 L + 1 atoms; by default the integer part of sqrt(N).
        shares: ``calibrated`` (means of tau over the unlabeled rows) or ``frequencies`` of groups in the training and
            unlabeled rows, as in the paper's code, with which small tolerances contradict each other.
        ranges: smallest and largest label by dataset, where they are known beforehand; else of the training rows.
        rescale: whether that range is mapped to [-1, 1].
        max_iter: iterations of the logistic regression.
        record_every: steps between recorded points of the optimiser's path; 0 for none.
        base_models: ``once`` evaluates them once per unlabeled row, ``every_step`` at every step, as the paper's code
            does; the result is the same, the time is not.
        tolerance: subgradient norm of ``exact``.
        literal_eps: slack that the optimiser is given in place of kappa. The paper's code writes a power of two as an
            exclusive or and so runs its Figure 1 with -6, which no constraint means (A4).
    """

    optimiser: Optimiser = "exact"
    levels: list[float] = Field(default_factory=list)
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
    max_iter: PositiveInt = 100
    record_every: NonNegativeInt = 0
    base_models: Literal["once", "every_step"] = "once"
    tolerance: PositiveFloat = 1e-8
    literal_eps: float | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that the tolerances of a job have in common."""

    base: PlugIns
    scale: Scale
    shares: Vector
    dual: Dual

    @property
    def smoothness(self) -> float:
        """M = 2 beta sigma^2 (A9)."""
        return 2.0 * self.dual.beta * spread(self.shares)


class DPPostproc:
    """Post-process least squares into a randomised predictor with equal distributions of predictions."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings: ClassVar[type[Settings]] = DPPostprocSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Tables with real-valued labels under parity of the distribution of predictions."""
        if constraint != "distribution_parity":
            return False, f"it makes distributions of predictions equal, which is distribution_parity, not {constraint}"
        return regression_only(dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Fit base models on the training rows, solve on the unlabeled ones.

        Raises:
            InfeasibleError: by ``exact``, where no predictor meets a tolerance.
        """
        assert isinstance(settings, DPPostprocSettings)
        prepared = prepare(task, settings)
        levels = [task.kappa, *(eps for eps in settings.levels if eps != task.kappa)]
        found = self._path(task, settings, prepared, levels)
        histories = {f"eps={eps:.3g}": part[1] for eps, part in zip(levels, found, strict=True)}
        main, trace = found[0][0], found[0][2]
        every = settings.record_every
        model = GridPredictor(
            base=prepared.base,
            shares=prepared.shares,
            beta=prepared.dual.beta,
            theta=prepared.scale.atoms(prepared.dual.shape[1] // 2),
            scale=prepared.scale.back,
            difference=main.params,
            group_names=task.train.group_names,
            feature_names=task.train.feature_names,
            level_eps=np.array(levels[1:]),
            level_differences=np.array([part[0].params for part in found[1:]]),
            trace_steps=np.arange(1, len(trace) + 1) * every if every else np.zeros(0, np.int64),
            trace=trace.astype(np.float32),
        )
        dual = prepared.dual
        return Fit(
            main, model, {}, histories, next(iter(histories)),
            lambda params, aux: float(dual.violations(params).max() - task.kappa),
        )  # fmt: skip

    def _path(
        self, task: Task, settings: DPPostprocSettings, prepared: Prepared, levels: list[float]
    ) -> list[tuple[Solution, list[Record], Vector]]:
        """Solve at every tolerance, from the largest to the smallest; ``exact`` starts at the one before."""
        found, before = {}, None
        for eps in sorted(set(levels), reverse=True):
            found[eps] = self._solve(task, settings, prepared, eps, before)
            before = found[eps][0].params
        return [found[eps] for eps in levels]

    def _solve(
        self, task: Task, settings: DPPostprocSettings, prepared: Prepared, eps: float, before: Vector | None
    ) -> tuple[Solution, list[Record], Vector]:
        """Solve at one tolerance; returns the solution, its history (before, after) and the recorded path."""
        dual = prepared.dual.with_eps(eps if settings.literal_eps is None else settings.literal_eps)
        nothing = np.zeros(0)
        began = time.process_time()
        status, trace = "ok", np.zeros((0, *dual.shape))
        if settings.optimiser == "exact":
            optimum = proximal_newton.solve(dual, before, tolerance=settings.tolerance)
            point, steps, status = optimum.point, optimum.iterations, optimum.status
        else:
            point, steps, trace = _stochastic(task, settings, prepared, dual, eps)
        ended = time.process_time()
        difference = point[0] - point[1]
        risk = float((dual.probabilities(difference) * dual.r).sum() / dual.n_rows)
        excess = float((dual.violations(difference) - dual.eps[:, None]).max())
        mapping = float(np.linalg.norm(dual.gradient_mapping(point, 1.0 / prepared.smoothness)))
        task.report(f"eps {eps:.3g}: risk {risk:.5f}, excess {excess:+.1e}, gradient mapping {mapping:.1e}")
        zero = np.zeros(dual.shape)
        history = [
            Record(0, 0, risk, excess, began, zero, nothing),
            Record(1, steps, risk, excess, ended, difference, nothing),
        ]
        certificate = Certificate(risk, max(excess, 0.0), mapping, point.ravel())
        return Solution(difference, nothing, certificate, history, status), history, trace


def prepare(task: Task, settings: DPPostprocSettings) -> Prepared:
    """Base models, shares and the dual at slack 0."""
    scale = scale_of(task, settings.ranges, settings.rescale)
    base = fit_base(task, scale, settings.max_iter)
    unlabeled = task.validation
    root = float(np.sqrt(unlabeled.n_rows))
    theta = scale.atoms(settings.half_atoms or int(root))
    tau, eta = base.tau(unlabeled.X), base.eta(unlabeled.X)
    if settings.shares == "calibrated":
        shares = tau.mean(axis=0)
    else:
        groups = np.concatenate([task.train.group, unlabeled.group])
        shares = np.bincount(groups, minlength=task.train.n_groups) / groups.size
    beta = settings.beta or root * float(np.log2(root))
    dual = Dual(group_weights(tau, shares), (eta[:, None] - theta) ** 2, np.zeros(len(shares)), beta)
    return Prepared(base, scale, shares, dual)


def _stochastic(
    task: Task, settings: DPPostprocSettings, prepared: Prepared, dual: Dual, eps: float
) -> tuple[Vector, int, Vector]:
    """Run a stochastic optimiser; returns the point, its steps and the recorded path."""
    steps = int(by_dataset(settings.steps, task, "steps"))
    smoothness = prepared.smoothness if settings.smoothness == "paper" else dual.bound
    mu = smoothness / steps if settings.mu == "budget" else 2.0 * spread(prepared.shares) / dual.beta
    schedule = Schedule(smoothness, mu, steps, settings.preset, settings.first_regulariser, settings.average)
    random = seeding.generator("dp_postproc", task.train.name, task.seed, settings.optimiser, repr(float(eps)))
    shift = shift_of(settings.preset)
    start = split(np.zeros(dual.shape))
    if settings.base_models == "every_step":
        slow = per_step.EveryStep.build(dual, prepared.base, task.validation.X, prepared.shares, random, shift)
        return minimise(slow, start, settings.optimiser, schedule), steps, np.zeros((0, *dual.shape))
    warm_up(dual)
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
