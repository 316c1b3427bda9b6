"""The stochastic feasible level-set method (SFLS) for linear scores."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field, PositiveFloat

from papers.auc_fairness.algorithms.auc_common import CONSTANTS, SLACKS, AUCAlgorithm, AUCRows, AUCSettings, Pool
from papers.auc_fairness.algorithms.auc_pools import linear_pool
from partialfair.algorithms.auc import level_set
from partialfair.algorithms.auc.level_set import Call, LevelSetBudget, Vector
from partialfair.algorithms.auc.quadratic_auc import slack_of
from partialfair.algorithms.contract import PlotStyle


class LevelSetSettings(AUCSettings, LevelSetBudget):
    """Settings of the level-set methods, besides those of the solver.

    Attributes:
        kappa_train: training tolerances; one that leaves no slack is an error.
        mode: "pooled": the candidates of all training tolerances serve every target; "same": only those trained with
            the target, in place of ``kappa_train`` (the paper's literal reading).
        constants: candidates for c of the steps; all are tried.
    """

    kappa_train: tuple[PositiveFloat, ...] = Field(SLACKS, min_length=1)
    mode: Literal["pooled", "same"] = "pooled"
    constants: tuple[PositiveFloat, ...] = Field(CONSTANTS, min_length=1)

    def grid(self, targets: Sequence[float]) -> list[tuple[float, float]]:
        """Return the pairs of a training tolerance and a step constant.

        Raises:
            InfeasibleError: a tolerance leaves no slack.
        """
        targets_used = [kappa for kappa in targets if np.isfinite(kappa)] if self.mode == "same" else self.kappa_train
        for kappa in targets_used:
            slack_of(kappa, self.c1, self.c2)
        return [(kappa, c) for kappa in targets_used for c in self.constants]


class SFLS(AUCAlgorithm[LevelSetSettings]):
    """Runs for every training tolerance and step constant at once (AUC fairness paper, Algorithms 1 and 2)."""

    settings = LevelSetSettings
    label = "Level-set (SFLS)"
    paper = "AUC fairness paper, Algorithms 1 and 2"
    look = PlotStyle("#0072B2", "o")

    def pool(self, rows: AUCRows, settings: LevelSetSettings, targets: Sequence[float]) -> Pool:
        """Return the snapshots of SFLS for every training tolerance and step constant, tagged by both."""
        kappas, constants = np.array(settings.grid(targets)).T
        runs = level_set.solve(rows.rows, 1.0 + kappas, constants, rows.random("sfls"), settings, rows.task.report)
        tags = [f"kappa_train={kappa:g} c={c:g}" for kappa, c in zip(kappas, constants, strict=True)]
        facts = {"largest_auxiliary": float(max(np.nanmax(call.extreme) for call in runs.calls))}
        facts |= theorem_facts(rows, kappas, runs.calls, settings)
        return linear_pool(rows, runs.snapshots, [tags[r] for r in runs.run], kappas[runs.run], runs.work, **facts)


def theorem_facts(rows: AUCRows, kappas: Vector, calls: Sequence[Call], settings: LevelSetSettings) -> dict[str, float]:
    """Measure the quantities bounded in Theorem 1 and Proposition 1, with the exact level-set function H.

    Args:
        rows: rows of the task; kappas: (R,) training tolerances of the runs; calls: oracle calls; settings: settings.

    Returns:
        ``oracle_error``: U(r) - H(r) of the first call, the smallest over runs. ``largest_excess``: the largest value
        of ``max(f1, f2) - 1 - kappa`` at an averaged point whose U is negative, which is feasible by Proposition 1.
    """
    first_call = calls[0]
    slacks = {kappa: slack_of(kappa, settings.c1, settings.c2) for kappa in np.unique(kappas)}
    exact = {kappa: rows.problem.level(float(first_call.level[0]), slack) for kappa, slack in slacks.items()}
    errors = [upper - exact[kappa] for kappa, upper in zip(kappas, first_call.upper, strict=True) if np.isfinite(upper)]
    excess = [
        max(rows.problem.values(call.mean[:, r])[1:]) - 1.0 - kappas[r]
        for call in calls
        for r in np.flatnonzero(call.upper < 0)
    ]
    facts = {"oracle_error": float(min(errors))} if errors else {}
    return facts | ({"largest_excess": float(max(excess))} if excess else {})


ALGORITHM = SFLS()
