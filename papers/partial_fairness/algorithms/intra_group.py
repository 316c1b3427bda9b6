"""Intra-group baseline: positives against negatives of the same group, equally well ranked in every group."""

from collections.abc import Sequence

from papers.partial_fairness.algorithms.pairwise_baseline import PairwiseBaseline
from papers.partial_fairness.algorithms.pairwise_moments import Pair
from partialfair.algorithms.contract import PlotStyle


class IntraGroup(PairwiseBaseline):
    """``E sigma(s_k+ - s_k-) + E sigma(s_k'- - s_k'+) - 1 <= kappa`` (Partial fairness paper, appendix G.3).

    The second term is the surrogate of one minus the AUC within k', so the sum compares the two AUCs.
    """

    label = "Intra-group"
    look = PlotStyle("#E69F00", "v", (0, (6, 1, 1, 1, 1, 1)))
    by_class = True

    def pairs(self, k: int, k_other: int) -> Sequence[Pair]:
        """Positives against negatives of group k, negatives against positives of the other group."""
        return [(2 * k + 1, 2 * k), (2 * k_other, 2 * k_other + 1)]


ALGORITHM = IntraGroup()
