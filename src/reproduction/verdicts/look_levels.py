"""The level at which a comparison is decided: of one look at all seeds, or of the look that it has reached."""

from typing import Any

from reproduction.statistics.sequential import two_looks
from reproduction.verdicts.claim import Claim, ComparisonSide
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.sample import GridCell


def alpha(evidence: Evidence[Any], claim: Claim, cell: GridCell, side: ComparisonSide | None) -> float:
    """Return the one-sided level at which a comparison is decided.

    A comparison whose claim takes a second look is looked at twice where its experiment has ``more_seeds``. The error
    is spent by O'Brien and Fleming's boundaries: that of the first look while a side has its first seeds alone, then
    the last.
    """
    once, config = (1 - evidence.results.level) / 2, evidence.config
    experiment = config.experiments.get(cell.experiment)
    if not claim.is_sequential or side is None or experiment is None or cell.dataset not in experiment.more_seeds:
        return once
    first_seeds = config.at_first_look().seeds(cell.experiment, cell.dataset)
    fraction = len(first_seeds) / (len(first_seeds) + len(experiment.more_seeds[cell.dataset]))
    cells = [(cell.experiment, claim.method), (side.experiment or cell.experiment, side.method or claim.method)]
    if any(name not in config.experiments for name, _ in cells):  # a part of the grid, in which nothing is compared
        return once
    is_last = all(config.is_open(name, cell.dataset, method) for name, method in cells)
    return two_looks(fraction, once)[is_last]
