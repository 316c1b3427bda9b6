"""Group AUC baseline: scores of two groups are to win against each other equally often."""

from collections.abc import Sequence

from papers.partial_fairness.algorithms.pairwise_baseline import PairwiseBaseline
from papers.partial_fairness.algorithms.pairwise_moments import Pair
from partialfair.algorithms.contract import PlotStyle


class GroupAUC(PairwiseBaseline):
    """``E sigma(s_k - s_k') - 1/2 <= kappa`` for all pairs of rows (Partial fairness paper, appendix G.3)."""

    label = "Group AUC"
    look = PlotStyle("#009E73", "^", (0, (4, 1, 1, 1)))
    by_class = False

    def pairs(self, k: int, k_other: int) -> Sequence[Pair]:
        """Rows of group k against rows of the other group; subset k is group k."""
        return [(k, k_other)]


ALGORITHM = GroupAUC()
