"""How a classifier is trained: one function per solver, on rows that all tolerances of a path share."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair import plugins
from partialfair.algorithms import tuning
from partialfair.algorithms.contract import Fit, Task, Trace, algorithm_for, linear_score, served
from partialfair.algorithms.linear import calibrated
from partialfair.algorithms.linear.augmented_lagrangian import ALMSettings
from partialfair.algorithms.linear.certificate import LinearPoint
from partialfair.algorithms.linear.equal_rates.fits import ParityFits, Rates
from partialfair.algorithms.linear.group_thresholds import best_thresholds
from partialfair.algorithms.linear.problem import LinearProblem, Point, score_at
from partialfair.algorithms.linear.rank_map import FittedMap, fit_rank_map, padded
from partialfair.algorithms.linear.rank_penalty import minimise_with_rank_penalty
from partialfair.algorithms.linear.weighted import WeightedProblem, minimise_weighted
from partialfair.algorithms.measure import MISSED, OK, ROUNDING
from partialfair.data.dataset import Dataset
from partialfair.data.intervals import FULL, Interval, Pairs, for_groups, measure
from partialfair.estimators.drawn_mixtures import Lottery
from partialfair.estimators.folds import out_of_fold
from partialfair.estimators.group_cuts import GroupCuts, curves_of
from partialfair.estimators.inputs import InputError, solver_settings
from partialfair.estimators.promise import STRATA, Promise
from partialfair.estimators.randomised_thresholds import DrawnCuts, best_drawn_cuts
from partialfair.estimators.threads import on_one_thread
from partialfair.metrics import evaluate_all
from partialfair.models.design import GroupedDesign
from partialfair.models.linear_mixture import LinearMixture
from partialfair.models.rank_mapped import RankMapped
from partialfair.models.row_lots import row_lots

Vector = NDArray[np.float64]
AUTO = "auto"
SOLVERS = (AUTO, "ranks", "select", "thresholds", "parity", "penalty", "alm", "idca")
PSP, PDP = "partial_statistical_parity", "partial_demographic_parity"
SALTS = 32
"""Lots among which thresholds that are drawn choose those of the training rows."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A fit, the solver it is from, what a person should know if the constraint is not met, and what is promised."""

    fit: Fit
    solver: str
    remedy: str = "raise kappa"
    promise: Promise | None = None


@dataclass(eq=False)
class Training:
    """Rows and settings of a fit; everything that does not depend on kappa is computed once.

    Attributes:
        rows: training rows.
        weights: (n,) weights of the rows in the loss; ``None`` for equal ones.
        penalty: L2 penalty on the coefficients, see :class:`WeightedProblem`.
        uses_group: whether the score may depend on the group.
        options: ``solver_options``.
        to_device: moves a problem to a GPU.
        salt: of the lots that mixtures draw.
        hold_out: gives (kept, held out) rows for choices on validation rows.
        fits: cost-sensitive fits by family, which grow.
    """

    rows: Dataset
    weights: Vector | None
    penalty: float
    uses_group: bool
    options: Mapping[str, Any]
    to_device: Callable[[Any], Any] | None
    salt: int
    hold_out: Callable[[], tuple[NDArray[np.int64], NDArray[np.int64]]]
    fits: dict[str, ParityFits] = field(default_factory=dict)

    def part(self, rows: NDArray[np.int64]) -> "Training":
        """Return the same on some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, rows=self.rows.take(rows), weights=weights, fits={})

    @cached_property
    def by_content(self) -> "Training":
        """Return the same rows in an order that their content alone decides.

        Sums depend by rounding on the order of rows, and a solver that does not converge depends on rounding.
        """
        keys: list[NDArray[Any]] = [self.rows.y, self.rows.group, row_lots(self.rows.X)]
        return self.part(np.lexsort(tuple(keys if self.weights is None else [self.weights, *keys])))

    @cached_property
    def task(self) -> Task:
        """Return a task of these rows without constraints."""
        no_rows = self.rows.take(np.zeros(0, np.int64))
        silent = {"report": lambda line: None}
        return Task(self.rows, no_rows, "", FULL, math.inf, uses_group=self.uses_group, **silent)  # type: ignore[arg-type]

    @cached_property
    def problem(self) -> LinearProblem:
        """Return the rows laid out for the solvers without a constraint."""
        return self.laid_out(None)

    @cached_property
    @on_one_thread
    def free(self) -> Vector:
        """Return the parameters (R, d+1) without constraints."""
        return minimise_weighted(self.problem)[0]

    @cached_property
    def free_scores(self) -> Vector:
        """Return the scores (n,) of these, as the stored model computes them: the kernels' differ by rounding.

        In the narrow tube of a small group rounding decides which rows exceed a threshold.
        """
        return np.asarray(score_at(self.task, self.free, np.zeros(0)).scores(self.rows.X, self.rows.group))

    @cached_property
    @on_one_thread
    def unseen_scores(self) -> Vector:
        """Return the scores (n,) without constraint, those of every fifth of the rows by a fit to the others."""
        rows = self.rows

        def scores_of(fitted: NDArray[np.int64], held_out: NDArray[np.int64]) -> Vector:
            fold, unseen = self.part(fitted), rows.take(held_out)
            return np.asarray(score_at(fold.task, fold.free, np.zeros(0)).scores(unseen.X, unseen.group))

        return out_of_fold(2 * rows.group.astype(np.int64) + (rows.y > 0), np.random.RandomState(self.salt), scores_of)

    @cached_property
    def cuts(self) -> GroupCuts:
        """Return the scores for thresholds per group."""
        return GroupCuts(self)

    def laid_out(self, program: Any) -> LinearProblem:
        """Return the problem with constraints, or ``None`` for none."""
        rows = self.rows
        if program is not None and _by_group(program, rows):
            return replace(self.problem, program=program)
        problem = LinearProblem.build(
            rows.X,
            rows.y,
            rows.group,
            program=program,
            standardiser=self.task.standardiser,
            n_groups=rows.n_groups,
            uses_group=self.uses_group,
        )
        problem = replace(problem, design=uncombined(problem.design))
        if self.weights is None and self.penalty == 0:
            return problem
        return WeightedProblem.from_problem(problem, self.weights, self.penalty)

    @on_one_thread
    def train(self, task: Task, solver: str, start: Point | None = None) -> Trained:
        """Train for a task of these rows.

        Args:
            task: the task; its kappa may be infinite.
            solver: one of :data:`SOLVERS`.
            start: point of a neighbouring tolerance, which "alm" begins at.

        Raises:
            InputError: a solver that does not serve the task.
        """
        if math.isinf(task.kappa):
            return Trained(self._unconstrained(task), "unconstrained")
        name = solver_for(task) if solver == AUTO else solver
        if solver == AUTO and name == "penalty" and (self.options or self.to_device is not None):
            name = "alm"  # which has settings, and runs on a GPU
        if name == "alm":
            return self._alm(task, start)
        if name == "idca":
            return self._idca(task)
        self.check_solver(name)
        trained: Trained = getattr(self, f"_{name}")(task)
        return trained

    def check_solver(self, name: str) -> None:
        """Refuse settings of "alm" and "idca" with other solvers.

        Raises:
            InputError: naming the setting and the solver.
        """
        if name in ("alm", "idca"):
            return
        if self.options:
            raise InputError(f"solver_options: solver {name!r} has no settings; leave them out, or use solver='alm'")
        if self.to_device is not None:
            raise InputError(f"device is 'cuda', and solver={name!r} runs on the CPU only; use device='cpu'")

    def _unconstrained(self, task: Task) -> Fit:
        point = LinearPoint(self.problem, self.free, np.zeros(0))
        return Fit(score_at(task, self.free, np.zeros(0)), evaluated_point=point)

    def _ranks(self, task: Task) -> Trained:
        """Return the free fit, then one increasing map of scores per group."""
        if task.constraint != PSP or not task.uses_group:
            raise InputError(
                f"solver 'ranks' serves {PSP} with the group known at prediction; use solver='alm' or 'auto'"
            )
        rows = self.rows
        options = {"interval": Interval.of(task.interval), "kappa": task.kappa, "kappa_scale": task.kappa_scale}
        fitted_map = fit_rank_map(self.free_scores, rows.group, rows.group_names, **options)  # type: ignore[arg-type]
        model = RankMapped.of(score_at(task, self.free, np.zeros(0)), fitted_map.mapping)
        return Trained(Fit(model), "ranks", why_missed(fitted_map, np.bincount(rows.group), rows.group_names))

    def _select(self, task: Task) -> Trained:
        """Ranks or linear, whichever is more accurate on held-out rows within the tolerance and its sampling band."""
        fitted, held_out = self.hold_out()
        training, rows = self.part(fitted), self.rows.take(held_out)
        metric = plugins.load("constraints", task.constraint).VIOLATION[task.kappa_scale]
        names = ("ranks", "alm")
        gaps, accuracies = [], []
        for name in names:
            model = training.train(replace(task, train=training.rows), name).fit.model
            values, _ = evaluate_all(
                model.scores(rows.X, rows.group), rows.y, rows.group, task.interval, only=("accuracy", metric)
            )
            gaps.append(_number(values[metric]))
            accuracies.append(_number(values["accuracy"]))
        limit = task.kappa + (sampling_band(replace(task, train=rows)) or 0.0)
        table = {"validation_accuracy": accuracies, "violation": gaps}
        chosen = names[tuning.select(table, tuning.ACCURATE_WITHIN, limit=limit).index]
        trained = self.train(task, chosen)
        scores = {f"validation_accuracy_{name}": value for name, value in zip(names, accuracies, strict=True)}
        return replace(trained, fit=replace(trained.fit, chosen={"solver": chosen, **scores}))

    def check_thresholds(self, task: Task) -> None:
        """Refuse what thresholds per group do not serve.

        Raises:
            InputError: with the families that they do.
        """
        strata = STRATA.get(task.constraint)
        if strata is None or len(strata) > 1 or not task.uses_group:
            raise InputError(
                "solver 'thresholds' serves partial demographic parity and partial equal opportunity with the group "
                "known at prediction; use solver='parity' or 'alm'"
            )

    def _thresholds(self, task: Task) -> Trained:
        """Return the most accurate threshold of each group on a score that is fitted for being cut there."""
        self.check_thresholds(task)
        moved = self.cuts.score(task)
        rows = self.rows
        strata_sizes = np.bincount(rows.group[rows.y > 0] if STRATA[task.constraint] else rows.group)
        scores = linear_score(task, moved).scores(rows.X, rows.group)
        curves, slack = curves_of(task, rows, scores, self.weights)
        whole_range = set(for_groups(task.interval, rows.n_groups)) == {FULL}
        if whole_range and slack * strata_sizes.min() < 1:
            return self._drawn_thresholds(task, moved, best_drawn_cuts(curves, slack), strata_sizes)
        moved[:, 0] -= best_thresholds(curves, slack)[0]
        return Trained(Fit(linear_score(task, moved), chosen=self.cuts.chosen), "thresholds")

    def _drawn_thresholds(self, task: Task, score: Vector, cuts: DrawnCuts, sizes: NDArray[np.int64]) -> Trained:
        """Thresholds drawn by the rows' lots, with the salt whose draws of the training rows differ least."""
        rows, gap = self.rows, gap_of(task)
        blocks = np.repeat(score[None], cuts.shares.size, axis=0)
        blocks[:, :, 0] -= cuts.thresholds
        weights = np.ones(rows.n_rows) if self.weights is None else self.weights
        drawn = []
        for salt in range(self.salt, self.salt + SALTS if cuts.shares.size > 1 else self.salt + 1):
            model = LinearMixture(
                blocks, cuts.shares, np.array([salt], np.int64), self.task.standardiser, rows.group_names,
                rows.feature_names, uses_group=True,
            )  # fmt: skip
            scores = np.asarray(model.scores(rows.X, rows.group))
            wrong = float(weights @ ((scores > 0) != (rows.y > 0)))
            drawn.append((max(gap(scores) - task.kappa, 0.0), wrong, salt, model))
        model = min(drawn, key=lambda candidate: candidate[:3])[3]
        code = int(sizes.argmin())
        counted = "rows" if task.constraint == PDP else "rows with the second label"
        remedy = (
            f"group {rows.group_names[code]!r} has {sizes[code]} {counted}, one of which moves its rate by "
            f"{1 / sizes[code]:.2g}: thresholds are drawn so that expected rates are within kappa, and drawn ones are "
            "not; raise kappa above that, or add rows of the group"
        )
        return Trained(Fit(model, chosen={**self.cuts.chosen, "shares": cuts.shares.tolist()}), "thresholds", remedy)

    def _parity(self, task: Task) -> Trained:
        """Return a mixture of a few linear decisions; the tolerance holds for what its lots decide."""
        whole_range = set(for_groups(task.interval, self.rows.n_groups)) == {FULL}
        if task.constraint not in STRATA or not whole_range:
            raise InputError(
                "solver 'parity' serves partial demographic parity, equal opportunity and equalized odds on the whole "
                "range, interval=[(0, 1)]; use solver='alm'"
            )
        fits, rows = self._parity_fits(task.constraint), self.rows
        weights = np.ones(rows.n_rows) if self.weights is None else self.weights
        drawn = Lottery(fits, rows, weights, gap_of(task)).best(task.kappa, self.salt)
        mixture = drawn.mixture
        blocks = np.array([fits.problem.model.effective(fits.decisions[index].params) for index in mixture.used])
        model = LinearMixture(
            blocks, mixture.shares, np.array([drawn.salt], np.int64), self.task.standardiser, rows.group_names,
            rows.feature_names, uses_group=self.uses_group,
        )  # fmt: skip
        return Trained(Fit(model, chosen={"shares": mixture.shares.tolist()}), "parity")

    def _penalty(self, task: Task) -> Trained:
        """One score for all groups, by a penalty on the smoothed differences of their ranks."""
        unions = set(for_groups(task.interval, self.rows.n_groups))
        if task.constraint != PSP or task.uses_group or len(unions) > 1:
            raise InputError(
                f"solver 'penalty' serves {PSP} without the group at prediction, on one interval for all groups; use "
                "solver='alm' or 'auto'"
            )
        (pairs,) = unions
        sorted_training, problem = self.by_content, self.by_content.problem
        slack = task.kappa * (measure(pairs) if task.kappa_scale == "relative" else 1.0)
        # On the absolute scale a threshold counts as soon as one group's rank lies inside.
        counted = pairs if task.kappa_scale == "relative" else padded(pairs, slack)
        metric = gap_of(replace(task, train=sorted_training.rows))

        def gap(scores: Vector) -> float:
            return metric(calibrated.in_order_of_rows(problem, scores))

        penalised = minimise_with_rank_penalty(problem, sorted_training.free, counted, slack, task.kappa, gap)
        sizes, names = np.bincount(self.rows.group), self.rows.group_names
        remedy = blind_remedy(penalised.gap, task.kappa, slack, sizes, names)
        return Trained(Fit(score_at(task, penalised.params, np.zeros(0))), "penalty", remedy)

    def _parity_fits(self, constraint: str) -> ParityFits:
        """Return the fits for a family's rates, kept for further tolerances."""
        if constraint not in self.fits:
            rows, labels = self.rows, STRATA[constraint]
            stratum = np.zeros(rows.n_rows, np.int64)
            if labels:
                stratum = np.full(rows.n_rows, -1)
                for index, label in enumerate(labels):
                    stratum[rows.y == label] = index
            order = self.problem.design.order
            rates = Rates.from_groups(rows.group[order], stratum[order], rows.n_groups, max(len(labels), 1))
            self.fits[constraint] = ParityFits(self.problem, rates, self.penalty or 1 / rows.n_rows)
        return self.fits[constraint]

    def _alm(self, task: Task, start: Point | None) -> Trained:
        """Return the direct solver, calibrated so that the constraint itself holds."""
        algorithm = algorithm_for("alm", task)
        settings: Any = solver_settings(algorithm, dict(self.options))
        if not served(task) or not isinstance(settings, ALMSettings):
            if self.weights is not None or self.penalty:
                raise InputError(f"constraint {task.constraint!r} takes neither row weights nor a penalty C")
            return Trained(algorithm.fit(task, settings), "alm")
        sorted_training = self.by_content
        task = replace(task, train=sorted_training.rows)
        problem = sorted_training.laid_out(calibrated.constraints(task))
        solution = calibrated.solve_calibrated(
            task,
            problem,
            settings,
            gap_of(task),
            free=sorted_training.free,
            start=start,
            place=self.to_device or _unmoved,
        )
        evaluated_point = LinearPoint(solution.problem, solution.params, solution.aux)
        trace = Trace({"alm": solution.records}, "alm")
        remedy = "raise kappa"
        if task.constraint == PSP and len(set(for_groups(task.interval, task.train.n_groups))) == 1:
            alternative = (
                "solver='ranks'" if task.uses_group else "uses_group=True where the group is known at prediction"
            )
            remedy += f", or use {alternative}"
        return Trained(
            Fit(score_at(task, solution.params, solution.aux), trace=trace, evaluated_point=evaluated_point),
            "alm",
            remedy,
        )

    def _idca(self, task: Task) -> Trained:
        """Return the paper's method, tuned on held-out rows."""
        if self.weights is not None or self.penalty:
            raise InputError("solver 'idca' takes neither row weights nor a penalty C; use another solver")
        fitted, held_out = self.hold_out()
        task = replace(task, train=self.rows.take(fitted), validation=self.rows.take(held_out))
        algorithm = algorithm_for("idca", task)
        settings: Any = solver_settings(algorithm, dict(self.options))
        return Trained(algorithm.fit(task, settings), "idca", "raise kappa, or use another solver")


def _by_group(program: Any, rows: Dataset) -> bool:
    """Tell whether constraints look at the groups of these rows alone, so that rows lie as without constraints."""
    groups = np.arange(rows.n_groups)
    return np.array_equal(program.subset_group, groups) and np.array_equal(program.row_subset, rows.group)


def solver_for(task: Task) -> str:
    """Return the solver that "auto" stands for, by constraint, interval and use of the group."""
    unions = set(for_groups(task.interval, task.train.n_groups))
    whole_range = unions == {FULL}
    if task.constraint == PSP and len(unions) == 1:
        return "ranks" if task.uses_group else "penalty"
    strata = STRATA.get(task.constraint)
    if strata is not None and task.uses_group and len(strata) < 2:
        return "thresholds"
    return "parity" if strata is not None and whole_range else "alm"


def gap_of(task: Task) -> Callable[[Vector], float]:
    """The metric that kappa bounds, of scores (n,) of the training rows; infinite where it cannot be estimated."""
    metric = plugins.load("constraints", task.constraint).VIOLATION[task.kappa_scale]
    rows = task.train

    def violation(scores: Vector) -> float:
        values, _ = evaluate_all(scores, rows.y, rows.group, task.interval, only=(metric,))
        return _number(values[metric])

    return violation


def sampling_band(task: Task, level: float = 0.95) -> float | None:
    """By how much the metric may be larger in the population that the rows of a task are drawn from.

    The inequality of Dvoretzky, Kiefer, Wolfowitz and Massart for each group's ranks (Hoeffding's for rates), all
    groups at once. It is for scores that were fixed before the rows were seen; fitted ones can do worse by what they
    overfit. On the absolute scale it bounds the gap of ranks that are clipped to the interval; ``rank_gap`` counts a
    threshold as soon as one rank lies inside, and can be larger by more at an end of the interval. ``None`` for
    families that compare something else.
    """
    labels: tuple[int, ...] | None = () if task.constraint == PSP else STRATA.get(task.constraint)
    if labels is None or math.isinf(task.kappa):
        return None
    rows = task.train
    strata = [rows.group[rows.y == label] for label in labels] or [rows.group]
    sizes = np.array([np.bincount(groups, minlength=rows.n_groups) for groups in strata])
    unions = for_groups(task.interval, rows.n_groups)
    shortest = min(unions, key=measure)
    return sampling_radius(sizes, shortest, task.kappa_scale, level)


def sampling_radius(sizes: NDArray[np.int64], pairs: Pairs, kappa_scale: str, level: float = 0.95) -> float:
    """That of groups of ``sizes`` (S, G) in every stratum, see :func:`sampling_band`."""
    radius = np.sqrt(np.log(2 * sizes.size / (1 - level)) / (2 * np.maximum(sizes, 1)))
    widest_pair = np.sort(radius, axis=1)[:, -2:].sum(axis=1).max()
    return float(widest_pair / (measure(pairs) if kappa_scale == "relative" else 1.0))


def status_of(
    constraint: str, kappa_scale: str, violation: float, kappa: float, remedy: str, rows: str = "training rows"
) -> str:
    """Return the status that follows from the violation on the rows that it was measured on."""
    if violation <= kappa + ROUNDING:
        return OK
    metric = plugins.load("constraints", constraint).VIOLATION[kappa_scale]
    return f"{MISSED}: {metric} is {violation:.4g} on the {rows}, kappa asks for {kappa:.4g}; {remedy}"


def why_missed(fitted_map: FittedMap, sizes: NDArray[np.int64], names: tuple[str, ...]) -> str:
    """Return what keeps a map from reaching kappa, for groups of ``sizes`` (G,)."""
    if fitted_map.least is None:
        return "raise kappa"
    share, code = fitted_map.tied
    size = int(sizes.min())
    why = (
        f"{share:.0%} of the rows of group {names[code]!r} share one score"
        if share * size > 1.5
        else f"the smallest group has {size} rows"
    )
    least = math.ceil(fitted_map.least * 1e4) / 1e4  # rounded up: at this kappa the map that was found is within it
    limit = f"no increasing map of these scores is known to get below {least:.4g}"
    return f"{why}, and {limit}; raise kappa to that or more"


def blind_remedy(gap: float, kappa: float, slack: float, sizes: NDArray[np.int64], names: tuple[str, ...]) -> str:
    """What helps where one score for groups of ``sizes`` (G,) misses kappa, which allows ``slack`` rows' shares."""
    if gap <= kappa:
        return "raise kappa"
    smallest = int(sizes.argmin())
    share = 1 / sizes[smallest]
    why = f"group {names[smallest]!r} has {sizes[smallest]} rows, one of which is more than kappa allows; "
    return (
        f"{why if slack < share else ''}raise kappa (no score was found below {math.floor(gap * 1e4) / 1e4:.4g}), or "
        "use uses_group=True where the group is known at prediction"
    )


def uncombined(design: GroupedDesign) -> GroupedDesign:
    """Return the design without combinations of ones, where their table is larger than the ones themselves.

    That is so for few rows with many columns: on communities (1,994 rows, 680 columns) it is half of the time.
    """
    if design.members.size <= design.ones.size:
        return design
    dense, last = design.dense_columns, design.n_features + 1
    binary = np.setdiff1d(np.arange(1, last + 1), dense)
    members = np.concatenate([[0], dense, binary])
    position = np.empty(last + 1, np.int64)
    position[members] = np.arange(members.size)
    codes = position[design.ones].astype(design.ones.dtype)
    return replace(design, codes=codes, members=members[:, None])


def _number(value: float | None) -> float:
    """Return a metric's value; infinite where it could not be estimated."""
    return math.inf if value is None else float(value)


def _unmoved(problem: Any) -> Any:
    return problem
