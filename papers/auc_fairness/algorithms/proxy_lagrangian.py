"""Proxy-Lagrangian baseline: weights descend on the quadratic surrogate, multipliers rise by the true gap."""

from collections.abc import Sequence

from papers.auc_fairness.algorithms.auc_common import AUCAlgorithm, AUCRows, ModelSettings, Pool
from papers.auc_fairness.algorithms.auc_pools import descent_pool
from partialfair.algorithms.contract import Look


class ProxyLagrangian(AUCAlgorithm[ModelSettings]):
    """One run per target tolerance and step constant; the candidates of all targets are pooled.

    Source: AUC fairness paper, section 6, after Cotter et al. (2019) and Narasimhan et al. (2020).
    """

    settings = ModelSettings
    label = "Proxy-Lagrangian"
    paper = "AUC fairness paper, section 6"
    look = Look("#D55E00", "s", (0, (5, 1.5)))

    def pool(self, rows: AUCRows, settings: ModelSettings, targets: Sequence[float]) -> Pool:
        """Snapshots of descent for every target tolerance, ascending."""
        return descent_pool(rows, settings, "proxy", sorted(targets), "kappa")


ALGORITHM = ProxyLagrangian()
