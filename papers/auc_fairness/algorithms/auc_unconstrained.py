"""AUC maximisation with the quadratic pair loss and no constraint: where every AUC frontier begins."""

from collections.abc import Sequence

from papers.auc_fairness.algorithms.auc_common import AUCAlgorithm, AUCRows, Pool, UnconstrainedSettings
from papers.auc_fairness.algorithms.auc_pools import descent_pool, linear_pool
from partialfair.algorithms.contract import PlotStyle


class AUCUnconstrained(AUCAlgorithm[UnconstrainedSettings]):
    """A linear score in closed form, or any model by stochastic gradients with the best AUC on validation rows."""

    settings = UnconstrainedSettings
    label = "Unconstrained"
    paper = "AUC fairness paper, appendix E.2"
    look = PlotStyle("#262626", "*")
    constrained = False

    def pool(self, rows: AUCRows, settings: UnconstrainedSettings, targets: Sequence[float]) -> Pool:
        """The minimiser of f0, or snapshots of a descent on it."""
        if settings.is_closed_form:
            return linear_pool(rows, rows.problem.unconstrained()[None], ["closed form"], [float("nan")])
        return descent_pool(rows, settings, "plain", [0.0], "")


ALGORITHM = AUCUnconstrained()
