"""Fits of the classifier with a promise about new rows, see :mod:`partialfair.estimators.promise`."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.contract import Fit, Task, linear_score
from partialfair.algorithms.linear.problem import score_at
from partialfair.data.intervals import measure
from partialfair.estimators.folds import folds, out_of_fold
from partialfair.estimators.group_cuts import cuts_of
from partialfair.estimators.inputs import InputError, stratified_rows
from partialfair.estimators.promise import (
    CROSS_FITTED,
    HELD_OUT,
    OUT_OF_FOLD,
    PATH,
    PSP,
    STRICTEST,
    Constraint,
    promised_map,
    tested,
    widest,
)
from partialfair.estimators.threads import on_one_thread
from partialfair.metrics.rank_noise import decision_violations
from partialfair.models.rank_mapped import RankMapped

if TYPE_CHECKING:
    from partialfair.estimators.training import Trained, Training

Vector = NDArray[np.float64]
Rows = NDArray[np.int64]
ALM_PATH = (0.15, 0.45, 0.75, 0.95)
"""Tolerances that are tested of the direct solver under partial statistical parity, whose strict fits take longest."""


@dataclass(frozen=True, eq=False)
class PromisedTraining:
    """Training with a promise.

    Attributes:
        training: rows and settings.
        confidence: of the promise.
        fraction: share of the rows that test a model which is no map and no threshold per group; 0 for cross-fitting.
    """

    training: "Training"
    confidence: float
    fraction: float

    @property
    def strata(self) -> Rows:
        """Return the group and label (n,), by which rows are divided."""
        rows = self.training.rows
        return 2 * rows.group.astype(np.int64) + (rows.y > 0)

    @property
    def random(self) -> np.random.RandomState:
        """Return the stream that divides the rows; the same in every call."""
        return np.random.RandomState(self.training.salt)

    def train(self, task: Task, solver: str) -> "Trained":
        """Train for a task of these rows, by a solver that serves it.

        Raises:
            InputError: the solver, or the constraint, has no promise.
        """
        rows = self.training.rows
        constraint = Constraint.of(
            task.constraint, task.interval, task.kappa, task.kappa_scale, self.confidence, rows.group_names
        )
        self.training.check_solver(solver)
        if solver == "ranks":
            return self._ranks(task, constraint)
        if solver == "thresholds":
            return self._thresholds(task, constraint)
        if solver == "idca":
            raise InputError("solver 'idca' makes no promise about new rows; use another solver, or confidence=None")
        path = ALM_PATH if task.constraint == PSP else PATH
        return self._cross_fitted(task, solver, constraint, path) if self.fraction == 0 else (
            self._held_out(task, solver, constraint, path)
        )  # fmt: skip

    def free_scores(self, by_ranks: bool) -> tuple[Vector, Rows]:
        """Scores without constraint that an interval is chosen on, and their rows: none that test a model later."""
        if by_ranks or self.fraction == 0:
            return self.training.unseen_scores, np.arange(self.training.rows.n_rows)
        fitted, _ = self._divided
        return self._restricted(fitted).free_scores, fitted

    @property
    def _divided(self) -> tuple[Rows, Rows]:
        """Return the rows that models are fitted on, and rows that test them."""
        return stratified_rows(self.strata, self.fraction, self.random)

    def _restricted(self, rows: Rows) -> "Training":
        """Return the training on some of the rows, with a hold-out of its own."""
        training = self.training
        strata, random = self.strata[rows], self.random

        def hold_out() -> tuple[Rows, Rows]:
            share = training.hold_out()[1].size / training.rows.n_rows
            return stratified_rows(strata, share, random)

        return replace(training.part(rows), hold_out=hold_out)

    def _ranks(self, task: Task, constraint: Constraint) -> "Trained":
        """Return the free fit of all rows, then the widest maps that the ranks of out-of-fold scores promise."""
        from partialfair.estimators.training import Trained, why_missed

        training, rows = self.training, self.training.rows
        if task.constraint != PSP or not task.uses_group:
            return training.train(task, "ranks")  # which says why not
        promised = promised_map(training.unseen_scores, rows.group, constraint, OUT_OF_FOLD)
        model = RankMapped.of(score_at(task, training.free, np.zeros(0)), promised.model.mapping)
        remedy = why_missed(promised.model, np.bincount(rows.group), rows.group_names)
        return Trained(Fit(model), "ranks", remedy, promised.promise)

    @on_one_thread
    def _thresholds(self, task: Task, constraint: Constraint) -> "Trained":
        """Return the score of all rows, cut where the decisions of out-of-fold scores promise."""
        from partialfair.estimators.training import Trained

        training, rows = self.training, self.training.rows
        training.check_thresholds(task)

        def scores_of(fitted: Rows, tested_rows: Rows) -> Vector:
            fold, unseen = self._restricted(fitted), rows.take(tested_rows)
            fold_task = replace(task, train=fold.rows)
            return np.asarray(linear_score(fold_task, fold.cuts.score(fold_task)).scores(unseen.X, unseen.group))

        scores = out_of_fold(self.strata, self.random, scores_of)
        sizes = constraint.decisions(scores, rows.y, rows.group)[1]
        # A tolerance below a row of the smallest group accepts everybody or nobody.
        least = 1 / int(sizes.min()) / (measure(constraint.unions[0]) if task.kappa_scale == "relative" else 1.0)

        def cuts(kappa: float) -> Vector:
            strict_task = replace(task, kappa=max(kappa, min(least, task.kappa), STRICTEST))
            return cuts_of(strict_task, rows, scores, training.weights)

        def violations(thresholds: Vector) -> Vector:
            table = constraint.decisions(scores - thresholds[rows.group], rows.y, rows.group)
            return np.asarray(decision_violations(*table, constraint.unions, constraint.kappa_scale))

        def gap_of(thresholds: Vector) -> float:
            return constraint.measured(scores - thresholds[rows.group], rows.y, rows.group)

        promised = widest(cuts, violations, constraint, OUT_OF_FOLD, sizes.min(axis=0), gap_of)
        moved = training.cuts.score(task)
        moved[:, 0] -= promised.model
        return Trained(
            Fit(linear_score(task, moved), chosen=training.cuts.chosen), "thresholds", promise=promised.promise
        )

    def _held_out(self, task: Task, solver: str, constraint: Constraint, path: tuple[float, ...]) -> "Trained":
        """Return a model of some of the rows, tested on the others."""
        fitted, testing = self._divided
        fitted_training, unseen = self._restricted(fitted), self.training.rows.take(testing)

        def fit(kappa: float) -> "Trained":
            return fitted_training.train(replace(task, train=fitted_training.rows, kappa=kappa), solver)

        def scores_of(trained: "Trained") -> Vector:
            return np.asarray(trained.fit.model.scores(unseen.X, unseen.group))

        promised = tested(fit, scores_of, (unseen.y, unseen.group), constraint, HELD_OUT, path)
        trained = promised.model
        return replace(trained, fit=replace(trained.fit, evaluated_point=None), promise=promised.promise)

    def _cross_fitted(self, task: Task, solver: str, constraint: Constraint, path: tuple[float, ...]) -> "Trained":
        """A model of all rows for a tolerance at which five models of four fifths of them pass on the other fifths."""
        training, rows = self.training, self.training.rows
        divided = [(self._restricted(fitted), tested_rows) for fitted, tested_rows in folds(self.strata, self.random)]

        def fit(kappa: float) -> Vector:
            scores = np.empty(rows.n_rows)
            for fold, tested_rows in divided:
                unseen = rows.take(tested_rows)
                trained = fold.train(replace(task, train=fold.rows, kappa=kappa), solver)
                scores[tested_rows] = trained.fit.model.scores(unseen.X, unseen.group)
            return scores

        promised = tested(fit, lambda scores: scores, (rows.y, rows.group), constraint, CROSS_FITTED, path)
        trained = training.train(replace(task, kappa=promised.promise.kappa_used), solver)
        return replace(trained, fit=replace(trained.fit, evaluated_point=None), promise=promised.promise)
