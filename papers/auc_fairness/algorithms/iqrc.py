"""The inexact proximal method (IQRC) for networks: level-set calls from the present point, with a proximal term."""

from collections.abc import Sequence

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from papers.auc_fairness.algorithms.auc_common import AUCAlgorithm, AUCRows, Pool
from papers.auc_fairness.algorithms.auc_pools import network_of, network_pool
from papers.auc_fairness.algorithms.pair_networks import solve_iqrc
from papers.auc_fairness.algorithms.sfls import LevelSetSettings
from partialfair.algorithms.contract import PlotStyle


class IQRCSettings(LevelSetSettings):
    """Settings; ``proximal`` is rho_hat, ``hidden`` the width of the network.

    Attributes:
        levels: most oracle calls per outer iteration. 1 takes one step of Algorithm 1 where the paper runs all of it.
    """

    constants: tuple[PositiveFloat, ...] = Field((0.3, 1.0), min_length=1)
    steps: PositiveInt = 4_000
    calls: PositiveInt = 12
    marks: PositiveInt = 8
    proximal: NonNegativeFloat = 1e-5
    levels: PositiveInt = 1
    hidden: PositiveInt = 10


class IQRC(AUCAlgorithm[IQRCSettings]):
    """Runs for every training tolerance and step constant, all from one start (AUC fairness paper, Algorithm 3)."""

    settings = IQRCSettings
    label = "Level-set (IQRC)"
    paper = "AUC fairness paper, Algorithm 3"
    look = PlotStyle("#56B4E9", "P")

    def pool(self, rows: AUCRows, settings: IQRCSettings, targets: Sequence[float]) -> Pool:
        """Snapshots of networks for every training tolerance and step constant, tagged by both."""
        kappas, constants = np.array(settings.grid(targets)).T
        network = network_of(rows, settings.hidden)
        start = network.initial(rows.random("network"))
        runs = solve_iqrc(
            network,
            rows.rows,
            start,
            1.0 + kappas,
            constants,
            rows.random("iqrc"),
            settings,
            settings.proximal,
            settings.levels,
            rows.task.report,
        )
        tags = [f"kappa_train={kappa:g} c={c:g}" for kappa, c in zip(kappas, constants, strict=True)]
        return network_pool(rows, runs, tags, kappas, settings.hidden)


ALGORITHM = IQRC()
