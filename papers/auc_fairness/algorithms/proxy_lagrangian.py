"""Proxy-Lagrangian baseline: weights descend on the quadratic surrogate, multipliers rise by the true gap."""

from collections.abc import Sequence
from typing import Literal

from papers.auc_fairness.algorithms.auc_common import AUCAlgorithm, AUCRows, ModelSettings, Pool
from papers.auc_fairness.algorithms.auc_pools import descent_pool
from partialfair.algorithms.contract import PlotStyle


class ProxyLagrangianSettings(ModelSettings):
    """Settings.

    Attributes:
        player: how the multipliers move. "additive": by projected gradient steps, as Narasimhan et al. (2020) have it;
            "swap_regret": the player without swap regret of Cotter et al. (2019, Algorithm 2), whose weights of the
            objective and both constraints add up to 1.
    """

    player: Literal["additive", "swap_regret"] = "additive"


class ProxyLagrangian(AUCAlgorithm[ProxyLagrangianSettings]):
    """One run per target tolerance and step constant; the candidates of all targets are pooled.

    Source: AUC fairness paper, section 6, after Cotter et al. (2019) and Narasimhan et al. (2020).
    """

    settings = ProxyLagrangianSettings
    label = "Proxy-Lagrangian"
    paper = "AUC fairness paper, section 6"
    look = PlotStyle("#D55E00", "s", (0, (5, 1.5)))

    def pool(self, rows: AUCRows, settings: ProxyLagrangianSettings, targets: Sequence[float]) -> Pool:
        """Snapshots of descent for every target tolerance, ascending."""
        kind = "proxy" if settings.player == "additive" else "swap"
        return descent_pool(rows, settings, kind, sorted(targets), "kappa")


ALGORITHM = ProxyLagrangian()
