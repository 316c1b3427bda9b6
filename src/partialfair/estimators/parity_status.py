"""What a status says of equal distributions of predictions: distances, and deviations of the shares of atoms.

With the paper's tolerance (DP post-processing paper, section 3), epsilon bounds how far a group's share of any one atom
may lie from the share of all rows. A prediction between atoms counts at the nearest one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from partialfair.algorithms.measure import MISSED, OK
from partialfair.algorithms.regression.grid_parity import ROUNDING, GridParity

Vector = NDArray[np.float64]
BLOCK = 1 << 13
GRAIN = 0.1
"""The coarsest steps that a distance between groups may have."""
KEEPS = "use prediction='sample'; means and modes do not keep to epsilon"


def atom_sums(values: Vector, weights: Vector, atoms: Vector) -> Vector:
    """Return the weights (n, K) of the groups summed by the atom nearest to predictions (n,): (K, G)."""
    nearest = np.searchsorted((atoms[1:] + atoms[:-1]) / 2, values)
    return np.array([np.bincount(nearest, column, atoms.size) for column in weights.T])


def expected_sums(grid: GridParity, eta: Vector, tau: Vector) -> Vector:
    """Return the same of predictions that are drawn: sums (K, G) of their probabilities for rows (n,), (n, K)."""
    sums = np.zeros((tau.shape[1], grid.theta.size))
    for low in range(0, len(eta), BLOCK):
        rows = slice(low, low + BLOCK)
        sums += tau[rows].T @ np.asarray(grid.predictions(eta[rows], tau[rows]).probabilities)
    return sums


def deviations(sums: Vector) -> Vector:
    """Return the largest deviation (K,) of a group's share of an atom from the share of all rows, from sums (K, G)."""
    overall = sums.sum(axis=0) / sums.sum()
    return np.asarray(np.abs(sums / sums.sum(axis=1, keepdims=True) - overall).max(axis=1))


def deviation_band(sums: Vector, level: float = 0.95) -> float:
    """Deviation that groups of these counts (K, G) exceed by chance, at 95%, if their distributions are the same.

    By the normal approximation, for all atoms and groups at once.
    """
    share, sizes = sums.sum(axis=0) / sums.sum(), sums.sum(axis=1)
    spread = np.sqrt((share * (1 - share)).max() * (1 / sizes - 1 / sizes.sum()).max())
    return float(norm.ppf(1 - (1 - level) / (2 * sums.size)) * spread)


@dataclass(frozen=True)
class Asked:
    """What predictions are to keep to, and how they are made.

    Attributes:
        prediction: "sample", "mean" or "mode".
        uses_group: whether the group is known.
    """

    prediction: str
    uses_group: bool

    @property
    def remedy(self) -> str:
        """Return what helps where labeled rows differ more by the groups that were passed."""
        if not self.uses_group and self.prediction != "sample":
            return KEEPS
        repeated = "rows may repeat: pass lots to predict"
        return repeated + (
            "" if self.uses_group else ", or the group classifier is far off: use a better one, or uses_group"
        )

    def of_distances(
        self, fairness: float, returned: float, labeled: float | None, epsilon: float, band: float, grain: float
    ) -> str:
        """Return the status of distances between the groups' predictions.

        Args:
            fairness: on the rows of the fairness step; returned: there, of what ``predict`` returns.
            labeled: on the labeled rows, by the groups that were passed; ``None`` if they were not.
            epsilon: tolerance; band: distance that the samples of labeled rows explain.
            grain: how finely maps of so many rows can meet a distance; 0 without maps.
        """
        if np.isnan(fairness):
            return "not measured: a group has no row in this call, so no distance is known; pass rows of all groups"
        small_group = "a group has few rows: merge it with another, or " if grain > GRAIN else ""
        grain = min(grain, GRAIN)
        if fairness > epsilon + ROUNDING + grain:
            return (
                f"{MISSED}: the groups' predictions lie {fairness:.3g} apart on the rows of the fairness step, epsilon "
                f"asks for {epsilon:.3g}; {small_group}allow that much"
            )
        if labeled is not None and labeled > epsilon + band:
            return (
                f"{MISSED}: predictions of the labeled rows lie {labeled:.3g} apart by the groups that were passed, "
                f"epsilon asks for {epsilon:.3g}, and samples of these sizes explain {band:.2g} more; {self.remedy}"
            )
        if returned > epsilon + ROUNDING + grain:
            return (
                f"{MISSED}: the {self.prediction}s of the groups' predictions lie {returned:.3g} apart on the rows of "
                f"the fairness step, epsilon asks for {epsilon:.3g}; {KEEPS}"
            )
        return OK

    def of_atoms(self, fairness: Vector, labeled: Vector | None, epsilon: Vector, names: list[str]) -> str:
        """Return the status of deviations of groups' shares of atoms.

        Args:
            fairness: (K,) on the rows of the fairness step, of what ``predict`` returns.
            labeled: (K, G) counts of labeled rows by the groups that were passed, ``None`` if they were not or are
                others.
            epsilon: (K,) tolerances.
            names: of the groups.
        """
        worst = int(np.argmax(fairness - epsilon))
        if fairness[worst] > epsilon[worst] + ROUNDING:
            return (
                f"{MISSED}: the share of an atom in group {names[worst]!r} lies {fairness[worst]:.3g} from that of all "
                f"rows of the fairness step, epsilon asks for {epsilon[worst]:.3g}; "
                + ("allow that much" if self.prediction == "sample" else KEEPS)
            )
        if labeled is None:
            return OK
        deviation, band = deviations(labeled), deviation_band(labeled)
        worst = int(np.argmax(deviation - epsilon))
        if deviation[worst] <= epsilon[worst] + band:
            return OK
        return (
            f"{MISSED}: the share of an atom in group {names[worst]!r} lies {deviation[worst]:.3g} from that of the "
            f"labeled rows, epsilon asks for {epsilon[worst]:.3g}, and samples of these sizes explain {band:.2g} more; "
            f"{self.remedy}"
        )
