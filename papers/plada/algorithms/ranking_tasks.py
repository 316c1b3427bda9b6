"""What the two ranking algorithms share: queries of a table, curves, the ranker (PLADA paper, appendix D.3)."""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveInt

from papers.plada.algorithms.query_pairs import Query, Ranker, ndcg
from partialfair.algorithms.contract import (
    Algorithm,
    EvaluatedPoint,
    Fit,
    Record,
    Settings,
    Task,
    Trace,
    diverged,
    unsuitable,
)
from partialfair.data.dataset import Dataset
from partialfair.errors import NotEstimableError
from partialfair.models.query_ranker import QueryRanker, inputs_of
from partialfair.models.stacked import StackedMLP
from partialfair.models.traced import TracedScore
from partialfair.seeding import generator

CONSTRAINT = "auc_gap_inter_group"
CURVES = ("error", "violation", "percentile90", "largest", "ndcg", "train_error", "train_violation")


class RankingSettings(Settings):
    """Settings of both methods.

    Attributes:
        hidden: widths of the ranker's hidden layers, ReLU.
        epochs: passes over the training queries, one query per step.
    """

    hidden: list[PositiveInt] = Field([128], min_length=1)
    epochs: PositiveInt = 10


class Method(Protocol):
    """A method that trains its ranker on one query a step."""

    ranker: Ranker

    def step(self, query: Query) -> None:
        """Move the ranker, and whatever else is trained, by the pairs of one query."""
        ...


S = TypeVar("S", bound=RankingSettings)


class RankingAlgorithm(Algorithm[S]):
    """Base of the methods: they take the gap of errors on pairs of documents between two groups."""

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """The gap of errors between groups on pairs of documents; two groups."""
        if constraint != CONSTRAINT:
            return f"{constraint} is not the gap of pairwise errors between two groups; use {CONSTRAINT}"
        if data.n_groups != 2:
            return f"{data.name} has {data.n_groups} groups, pairs across groups need two"
        return unsuitable(data)


@dataclass(frozen=True, eq=False)
class RankingTask:
    """Queries of a task; a table without a column ``query`` is one query."""

    task: Task
    settings: RankingSettings

    def queries(self, rows: Dataset) -> list[Query]:
        """The queries of some rows that have a pair."""
        inputs, number = inputs_of(rows.X, rows.group, self.task.standardiser, rows.feature_names)
        rows_of_query = [np.flatnonzero(number == k) for k in range(int(number.max()) + 1)]
        queries = [Query(inputs[members], rows.y[members] > 0, rows.group[members]) for members in rows_of_query]
        usable = [query for query in queries if query.n_pairs]
        if not usable:
            raise NotEstimableError(f"{rows.name}: no query has a positive and a negative document")
        return usable

    @cached_property
    def train(self) -> list[Query]:
        """Training queries."""
        return self.queries(self.task.train)

    @cached_property
    def validation(self) -> list[Query]:
        """Validation queries."""
        return self.queries(self.task.validation)

    @property
    def n_inputs(self) -> int:
        """Width of the ranker's input."""
        return int(self.train[0].X.shape[1])

    def ranker(self) -> Ranker:
        """The ranker at the initial weights of the task's seed."""
        model = StackedMLP(self.n_inputs, tuple(self.settings.hidden))
        stream = generator("ranking", "initial", self.task.train.name, self.task.seed)
        return Ranker(model, model.initial(stream))

    def score(self, theta: NDArray[np.floating]) -> QueryRanker:
        """The ranker with weights theta (1, size), as it is stored."""
        data = self.task.train
        hidden = tuple(self.settings.hidden)
        return QueryRanker(theta[0].copy(), hidden, self.task.standardiser, data.group_names, data.feature_names)

    def measured(self, ranker: Ranker, queries: list[Query]) -> dict[str, float]:
        """Means over queries of error, violation and gain; 90th percentile and maximum of the violation."""
        if not np.isfinite(ranker.theta).all():
            return dict.fromkeys(CURVES[:5], float("nan"))
        errors, gaps, gains = [], [], []
        for query in queries:
            scores = ranker.model.forward(ranker.theta, query.X[None])[0][0]
            error, gap = query.errors(query.margins(scores))
            errors.append(error)
            gaps.append(abs(gap) - self.task.kappa)
            gains.append(ndcg(scores, query.positive))
        return {
            "error": float(np.mean(errors)),
            "violation": float(np.mean(gaps)),
            "percentile90": float(np.percentile(gaps, 90)),
            "largest": float(max(gaps)),
            "ndcg": float(np.mean(gains)),
        }

    def loss(self, ranker: Ranker) -> float:
        """Mean pairwise loss of the training queries."""
        return float(np.mean([query.loss(ranker.margins(query)[0])[0] for query in self.train]))


@dataclass(frozen=True, eq=False)
class RankingPoint(EvaluatedPoint):
    """A trained ranker on the training queries; it is stationary for nothing that is known."""

    ranking_task: RankingTask
    ranker: Ranker

    def objective(self) -> float:
        """Mean loss of pairs, averaged over the training queries."""
        return self.ranking_task.loss(self.ranker)

    def violation(self) -> float:
        """Mean gap of pairwise errors, beyond the tolerance; these errors have no surrogate here."""
        return self.indicator_violation()

    def indicator_violation(self, point: NDArray[np.floating] | None = None) -> float:
        """The same, here or at other parameters (1, size)."""
        ranker = self.ranker if point is None else Ranker(self.ranker.model, point[0])
        return self.ranking_task.measured(ranker, self.ranking_task.train)["violation"]


def fit(task: Task, settings: RankingSettings, name: str, methods: dict[str, Any]) -> Fit:
    """Run methods by name and return the first one's last iterate; nothing is chosen on validation rows.

    Args:
        task: what is to be trained.
        settings: network and epochs.
        name: of the algorithm, for its random stream.
        methods: functions of the :class:`RankingTask` that make a method at its start.
    """
    ranking_task = RankingTask(task, settings)
    curves: dict[str, Any] = {}
    candidates: dict[str, list[Record]] = {}
    last: dict[str, Ranker] = {}
    for candidate, make in methods.items():
        method: Method = make(ranking_task)
        table, records = _follow(ranking_task, method, generator(name, "queries", task.train.name, task.seed))
        curves |= {f"{candidate}/{quantity}": values for quantity, values in table.items()}
        candidates[candidate], last[candidate] = records, method.ranker
        task.report(f"{candidate}: loss {records[-1].objective:.4f}, violation {records[-1].violation:+.4f}")
    result = next(iter(methods))
    if not np.isfinite(candidates[result][-1].point).all():
        return diverged(task, Trace(candidates, result))
    n_pairs = sum(query.n_pairs for query in ranking_task.train)
    chosen = {"epochs": settings.epochs, "queries": len(ranking_task.train), "pairs": n_pairs}
    model = TracedScore(ranking_task.score(last[result].theta), curves)
    return Fit(model, chosen, Trace(candidates, result), RankingPoint(ranking_task, last[result]))


def _follow(
    ranking_task: RankingTask, method: Method, stream: np.random.Generator
) -> tuple[dict[str, NDArray[np.float64]], list[Record]]:
    """Run a method; measure before the first epoch and after every one."""
    rows, records, spent, steps = [], [], 0.0, 0
    for epoch in range(ranking_task.settings.epochs + 1):
        began = time.process_time()
        for query_index in stream.permutation(len(ranking_task.train)) if epoch else ():
            method.step(ranking_task.train[query_index])
            steps += 1
        spent += time.process_time() - began
        on_validation, on_train = (
            ranking_task.measured(method.ranker, ranking_task.validation),
            ranking_task.measured(method.ranker, ranking_task.train),
        )
        rows.append([epoch, *on_validation.values(), on_train["error"], on_train["violation"]])
        point = method.ranker.theta.astype(np.float64)
        records.append(Record(epoch, steps, ranking_task.loss(method.ranker), on_train["violation"], spent, point))
    table = np.array(rows)
    return {
        "epoch": table[:, 0],
        **{name: table[:, query_index + 1] for query_index, name in enumerate(CURVES)},
    }, records
