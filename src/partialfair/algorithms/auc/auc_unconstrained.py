"""AUC maximisation with the quadratic pair loss and no constraint: where every AUC frontier begins."""

from collections.abc import Sequence
from typing import Any, ClassVar

from partialfair.algorithms.auc.auc_common import AUCAlgorithm, AUCRows, ModelSettings, Pool
from partialfair.algorithms.auc.auc_pools import descent_pool, linear_pool
from partialfair.algorithms.contract import Settings


class AUCUnconstrained(AUCAlgorithm):
    """A linear score in closed form, or a network by stochastic gradients with the best AUC on validation rows."""

    constrained: ClassVar[bool] = False
    kappa_is_slack: ClassVar[bool] = False
    settings: ClassVar[type[Settings]] = ModelSettings

    def pool(self, rows: AUCRows, settings: Any, targets: Sequence[float]) -> Pool:
        """The minimiser of f0, or snapshots of a descent on it."""
        if settings.model == "linear":
            return linear_pool(rows, rows.problem.unconstrained()[None], ["closed form"], [float("nan")])
        return descent_pool(rows, settings, "plain", [0.0], "")


ALGORITHM = AUCUnconstrained()
