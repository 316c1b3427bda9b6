"""IPP-SSG: inexact proximal point with switching subgradient inside."""

from typing import Annotated

from pydantic import Field, PositiveFloat

from papers.plada.algorithms.proximal_point import ProximalRule
from papers.plada.algorithms.proximal_tasks import ProximalAlgorithm, ProximalSettings
from partialfair.algorithms.contract import PlotStyle


class IPPSSGSettings(ProximalSettings):
    """Candidates.

    Attributes:
        first_step: E of the inner steps ``E / (t + 2)``, in multiples of 1 / rho, candidates; 2 in theory.
        tolerance: of the inner switching.
    """

    first_step: Annotated[list[PositiveFloat], Field(min_length=1)] = Field([2.0])
    tolerance: float = 0.0

    def candidates(self, modulus: float) -> dict[str, ProximalRule]:
        """Rules by label, one per K and E; rho is ``weight`` times the modulus of weak convexity."""
        rho = self.weight * modulus
        return {
            f"K {inner}, E {first_step:g}/rho": ProximalRule(rho, inner, "ssg", first_step / rho, self.tolerance)
            for inner in self.inner
            for first_step in self.first_step
        }


class IPPSSG(ProximalAlgorithm[IPPSSGSettings]):
    """Inexact proximal point, inner solver switching subgradient."""

    settings = IPPSSGSettings
    label = "IPP-SSG"
    paper = "Ma, Lin and Yang (2020)"
    look = PlotStyle("#009E73", "^", (0, (4, 1, 1, 1)))


ALGORITHM = IPPSSG()
