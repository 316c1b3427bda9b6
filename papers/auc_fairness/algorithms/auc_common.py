"""What the algorithms of the AUC fairness paper share: their rows, candidates, and the choice on validation rows.

An algorithm makes candidates: snapshots of runs with several training tolerances (or penalty weights) and step sizes.
For a target tolerance kappa the candidate with the largest AUC on validation rows among those with ``|Delta| <= kappa``
there is taken; if there is none, the one with the smallest ``|Delta|``, which is marked. One job chooses for several
targets: ``kappas`` besides its own.
"""

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt
from scipy import sparse

from papers.auc_fairness.algorithms.pair_descent import DescentBudget
from partialfair import plugins
from partialfair.algorithms.auc.level_set import PairLoss, Rows
from partialfair.algorithms.auc.quadratic_auc import QuadraticAUC, SetMoments
from partialfair.algorithms.contract import Algorithm, EvaluatedPoint, Fit, Record, Task, Trace, unsuitable
from partialfair.algorithms.tuning import AUC_WITHIN, Choice, select
from partialfair.data.auc_sets import FourSets, cell_counts, cells_of, preset
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError, NotEstimableError
from partialfair.kernels.cell_auc import auc_from_wins, win_tables
from partialfair.models.features import features, group_indicators
from partialfair.models.linear import LinearScore
from partialfair.models.score_levels import ScoreLevels, level_key
from partialfair.seeding import generator

Vector = NDArray[np.float64]
FAMILY = "auc_gap"
SHARES = (0.1, 0.25, 0.5)
"""Shares of the steps after which a model is chosen, too, from the candidates that there are by then."""
SLACKS = (0.01, 0.03, 0.06, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5)
CONSTANTS = (0.01, 0.1, 0.3, 1.0)
RARE = 3.09  # standard deviations that a normal variable exceeds once in a thousand times


def gap_of(constraint: str) -> str | None:
    """Return which gap between AUCs a constraint bounds, a name of four sets; ``None`` if it bounds none."""
    member = plugins.member("constraints", constraint)
    return member.value if member is not None and member.family == FAMILY else None


class AUCSettings(PairLoss):
    """Settings of every algorithm of the paper.

    Attributes:
        kappas: further target tolerances for which the job chooses a model.
        protected: code of the group called protected; for Examples 1 to 3 it makes no difference.
    """

    kappas: tuple[PositiveFloat, ...] = ()
    protected: NonNegativeInt = 0


class ModelSettings(AUCSettings, DescentBudget):
    """Settings of algorithms for linear models and networks.

    Attributes:
        model: "linear", or "network" for one hidden layer of ``hidden`` sigmoid units with a sigmoid output.
        constants: c of the steps ``c / sqrt(t + 1)``; all are tried.
    """

    model: Literal["linear", "network"] = "linear"
    hidden: PositiveInt = 10
    constants: tuple[PositiveFloat, ...] = Field((0.01, 0.1, 1.0), min_length=1)


class UnconstrainedSettings(ModelSettings):
    """Settings of algorithms that begin with an unconstrained model.

    Attributes:
        by_steps: whether a linear score, too, comes from steps, tuned and stopped early on validation rows as the
            constrained ones are; else it is the minimiser in closed form.
    """

    by_steps: bool = False

    @property
    def is_closed_form(self) -> bool:
        """Whether the unconstrained model is the minimiser in closed form."""
        return self.model == "linear" and not self.by_steps


@dataclass(frozen=True, eq=False)
class AUCRows:
    """The rows of a task as these algorithms see them.

    Attributes:
        task: the task; settings: of the algorithm; sets: the four sets of its constraint.
    """

    task: Task
    settings: AUCSettings
    sets: FourSets

    @classmethod
    def from_task(cls, task: Task, settings: AUCSettings) -> "AUCRows":
        """Look at a task.

        Raises:
            ConfigError: the protected group does not exist.
            NotEstimableError: a set has no training or no validation rows.
        """
        if settings.protected >= task.train.n_groups:
            names = ", ".join(task.train.group_names)
            raise ConfigError(f"protected: {settings.protected} is no group code of {task.train.name} ({names})")
        rows = cls(task, settings, preset(gap_of(task.constraint) or task.constraint))
        for table_name, cells in (("training", rows.cells), ("validation", rows.validation_cells)):
            try:
                rows.sets.require(cell_counts(cells))
            except NotEstimableError as error:
                raise NotEstimableError(f"{table_name} rows: {error}") from error
        return rows

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """Cell codes of the training rows."""
        return cells_of(self.task.train.y, self.task.train.group, self.settings.protected)

    @cached_property
    def validation_cells(self) -> NDArray[np.int64]:
        """Cell codes of the validation rows."""
        return cells_of(self.task.validation.y, self.task.validation.group, self.settings.protected)

    def features(self, table: Dataset) -> sparse.csr_array:
        """Standardised features and indicators of the groups 1, 2, ...: (n, d + G - 1), float64."""
        indicators = group_indicators(table.group, table.n_groups)
        # there is no intercept: a constant changes no AUC, an intercept of one group does
        encoded = sparse.csr_array(features(table.X, self.task.standardiser, indicators))
        encoded.eliminate_zeros()
        return encoded

    @cached_property
    def inputs(self) -> sparse.csr_array:
        """Features of the training rows."""
        return self.features(self.task.train)

    @cached_property
    def validation_inputs(self) -> sparse.csr_array:
        """Features of the validation rows."""
        return self.features(self.task.validation)

    @cached_property
    def rows(self) -> Rows:
        """Training rows for the stochastic solvers."""
        return Rows(self.inputs, self.cells, self.sets)

    @cached_property
    def problem(self) -> QuadraticAUC:
        """The surrogate problem of a linear score on the training rows."""
        moments = SetMoments.from_rows(self.inputs, self.cells, self.sets)
        return QuadraticAUC(moments, self.settings.c1, self.settings.c2)

    def random(self, *names: str) -> np.random.Generator:
        """A random stream of this task."""
        return generator("auc_fairness", *names, self.task.train.name, self.task.constraint, self.task.seed)

    def linear_score(self, w: Vector) -> LinearScore:
        """The stored form of weights (d + G - 1,) of :meth:`features`."""
        train = self.task.train
        d = train.n_features
        weights = np.zeros((train.n_groups, d + 1))
        weights[:, 1:] = w[:d]
        weights[1:, 0] = w[d:]
        return LinearScore(weights, self.task.standardiser, np.zeros(0), train.group_names, train.feature_names)


@dataclass(frozen=True)
class Quality:
    """AUC and signed gap of candidates (S,) on some rows.

    Attributes:
        auc, delta: (S,) each.
        chance: AUC that scores without relation to the labels exceed with a probability of one in a thousand.
    """

    auc: Vector
    delta: Vector
    chance: float = 0.5

    @classmethod
    def from_wins(cls, wins: Vector, cells: NDArray[np.integer], sets: FourSets) -> "Quality":
        """Read both off win tables (..., 4, 4); see :mod:`partialfair.kernels.cell_auc`."""
        counts, table = cell_counts(cells).astype(float), sets.table
        # Delta = AUC(G1, G1') - AUC(G2, G2'), equation (1); AUC(A, A) is 1/2
        gap_from, gap_to = (
            0.5 if np.array_equal(table[a], table[a + 1]) else auc_from_wins(wins, table[a], table[a + 1], counts)
            for a in (2, 4)
        )
        auc = auc_from_wins(wins, table[0], table[1], counts)
        # variance of the Mann-Whitney statistic under chance: (n+ + n- + 1) / (12 n+ n-)
        positives, negatives = counts[table[0]].sum(), counts[table[1]].sum()
        spread = math.sqrt((positives + negatives + 1) / (12 * positives * negatives))  # of the Mann-Whitney statistic
        return cls(auc, np.asarray(gap_from - gap_to), 0.5 + RARE * spread)

    @classmethod
    def of_scores(cls, scores: Vector, cells: NDArray[np.integer], sets: FourSets) -> "Quality":
        """Measure candidates with scores (S, n)."""
        return cls.from_wins(win_tables(scores, cells), cells, sets)


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidates and what is known of them.

    Attributes:
        quality: on validation rows.
        tags: name of the run that each candidate is a snapshot of.
        training: training tolerance (kappa, slack or penalty weight) of each; NaN where there is none.
        model: the score model of a candidate.
        objective: f0 of a candidate on the training rows.
        facts: what is recorded of the whole pool.
        work: (S,) share of the steps after which each was found; ``None`` where no steps are taken, or where ``early``
            says what there is after a share of them.
        early: the pool of a method that has taken a share of its steps, where that is not a part of this pool.
    """

    quality: Quality
    tags: Sequence[str]
    training: Vector
    model: Callable[[int], Any]
    objective: Callable[[int], float]
    facts: dict[str, Any] = field(default_factory=dict)
    work: Vector | None = None
    early: "Callable[[float], Pool | None] | None" = None

    def after(self, share: float) -> "tuple[Pool, NDArray[np.bool_] | None] | None":
        """The pool after a share of the steps and which of its candidates count; ``None`` where there is none yet."""
        if self.early is not None:
            pool = self.early(share)
            return None if pool is None else (pool, None)
        return None if self.work is None or share < self.work.min() else (self, self.work <= share)


def choose(quality: Quality, kappa: float, allowed: NDArray[np.bool_] | None = None) -> Choice:
    """The candidate for a target tolerance kappa: the bound on ``|Delta|`` on the rows of ``quality``.

    Candidates that rank no better than chance (``quality.chance``) are refused while there are others: every constant
    score satisfies every tolerance, so that a random one would win wherever nothing else does.
    """
    # random scores satisfy every bound on |Delta|; they are refused while a better ranking exists
    ranks = quality.auc > quality.chance
    if allowed is not None:
        ranks &= allowed
    usable = ranks if ranks.any() else allowed
    return select({"auc": quality.auc, "gap": np.abs(quality.delta)}, AUC_WITHIN, limit=kappa, allowed=usable)


@dataclass(frozen=True, eq=False)
class AUCPoint(EvaluatedPoint):
    """A model on the training rows; it is stationary for nothing that is known.

    Attributes:
        rows: of the task.
        model: the job's own.
        loss: f0 of the model.
    """

    rows: AUCRows
    model: Any
    loss: float

    def objective(self) -> float:
        """Mean quadratic loss f0 over pairs of a positive and a negative row."""
        return self.loss

    def violation(self) -> float:
        """Gap beyond the tolerance; it is bounded as it is, with no surrogate."""
        return self.indicator_violation()

    def indicator_violation(self, point: Any = None) -> float:
        """The same, here or of another model."""
        task = self.rows.task
        if not math.isfinite(task.kappa):
            return 0.0
        delta = gap_on(self.rows, self.model if point is None else point, task.train, self.rows.cells)
        return abs(delta) - task.kappa


S = TypeVar("S", bound=AUCSettings)


class AUCAlgorithm(Algorithm[S]):
    """An algorithm of the paper: a pool of candidates per task, and the common choice.

    ``settings.mode`` "same", where an algorithm offers it, restricts the candidates of a target to those trained with
    it; by default all are pooled.
    """

    loss = "quadratic_auc"

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """Constraints on AUC gaps, on datasets with two groups."""
        if gap_of(constraint) is None:
            return f"it constrains gaps between AUCs ({FAMILY}_...), not {constraint}"
        reason = unsuitable(data)
        if reason is None and data.n_groups != 2:
            return f"{data.name} has {data.n_groups} groups, it tells one protected group from the others"
        return reason

    @abstractmethod
    def pool(self, rows: AUCRows, settings: S, targets: Sequence[float]) -> Pool:
        """Make the candidates for some target tolerances."""

    def fit(self, task: Task, settings: S) -> Fit:
        """Make the pool on the training rows, choose on the validation rows."""
        rows = AUCRows.from_task(task, settings)
        # one pool of candidates serves all targets kappa, the job's own first
        targets = [task.kappa, *(kappa for kappa in settings.kappas if kappa != task.kappa)]
        pool = self.pool(rows, settings, targets)
        models, facts, places = {}, dict(pool.facts) | {"candidates": len(pool.quality.auc)}, []
        only_same = getattr(settings, "mode", "pooled") == "same"
        for kappa in targets:
            choice = chosen(pool, kappa, only_same)
            i = choice.index
            places.append(i)
            models[kappa] = pool.model(i)
            facts[f"kappa={kappa:g}"] = {
                "run": pool.tags[i],
                "validation_auc": float(pool.quality.auc[i]),
                "validation_delta": float(pool.quality.delta[i]),
                "infeasible_on_val": not choice.within,
            }
            note = "" if choice.within else ", not within kappa on validation rows"
            task.report(
                f"kappa {kappa:g}: AUC {pool.quality.auc[i]:.4f}, gap {pool.quality.delta[i]:+.4f} on validation rows, "
                f"{pool.tags[i]}{note}"
            )
        main = models.pop(task.kappa)
        evaluated_point = AUCPoint(rows, main, pool.objective(places[0]))
        record = Record(
            1, len(pool.quality.auc), evaluated_point.loss, evaluated_point.violation(), time.process_time(), main
        )
        tag = pool.tags[places[0]]
        levels = {f"{kappa:g}": level for kappa, level in models.items()} | early_models(pool, targets, only_same)
        model = ScoreLevels(main, levels)
        return Fit(model, facts, Trace({tag: [record]}, tag), evaluated_point)


def chosen(pool: Pool, kappa: float, only_same: bool, allowed: NDArray[np.bool_] | None = None) -> Choice:
    """The candidate of a pool for a target, among those ``allowed`` (S,) and, if asked, those trained with it alone."""
    if only_same and math.isfinite(kappa):
        trained = np.isclose(pool.training, kappa)
        allowed = trained if allowed is None else allowed & trained
    return choose(pool.quality, kappa, allowed)


def early_models(pool: Pool, targets: Sequence[float], only_same: bool) -> dict[str, Any]:
    """The models that the same rule chooses after :data:`SHARES` of the steps, by the keys of their levels."""
    models = {}
    for share in SHARES:
        early_pool = pool.after(share)
        if early_pool is None:
            continue
        early, allowed = early_pool
        for kappa in targets:
            models[level_key(kappa, share)] = early.model(chosen(early, kappa, only_same, allowed).index)
    return models


def gap_on(rows: AUCRows, model: Any, table: Dataset, cells: NDArray[np.integer]) -> float:
    """Signed gap of a model on some rows."""
    scores = np.asarray(model.scores(table.X, table.group))[None]
    return float(Quality.of_scores(scores, cells, rows.sets).delta[0])
