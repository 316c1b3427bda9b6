"""Inter-group baseline: positives of one group against negatives of the other, equally well ranked both ways."""

from collections.abc import Sequence

from papers.partial_fairness.algorithms.pairwise_baseline import PairwiseBaseline
from papers.partial_fairness.algorithms.pairwise_moments import Pair
from partialfair.algorithms.contract import PlotStyle


class InterGroup(PairwiseBaseline):
    """``E sigma(s_k+ - s_k'-) + E sigma(s_k- - s_k'+) - 1 <= kappa`` (Partial fairness paper, appendix G.3).

    The second term is the surrogate of one minus the chance that a positive of k' ranks above a negative of k,
    so the sum compares the two inter-group AUCs.
    """

    label = "Inter-group"
    look = PlotStyle("#CC79A7", "D", (0, (3, 1)))
    by_class = True

    def pairs(self, k: int, k_other: int) -> Sequence[Pair]:
        """Positives and negatives of group k (subsets 2k+1, 2k) against the opposite class of the other group."""
        return [(2 * k + 1, 2 * k_other), (2 * k, 2 * k_other + 1)]


ALGORITHM = InterGroup()
