"""IPP-ConEx: inexact proximal point with constraint extrapolation inside."""

from typing import Annotated, ClassVar

from pydantic import Field, PositiveFloat

from papers.plada.algorithms.proximal_point import ProximalRule
from papers.plada.algorithms.proximal_tasks import ProximalAlgorithm, ProximalSettings
from partialfair.algorithms.contract import PlotStyle


class IPPConExSettings(ProximalSettings):
    """Candidates.

    Attributes:
        c1: primal parameters, in multiples of rho.
        c2: dual parameters.
    """

    products: ClassVar[int] = 3
    c1: Annotated[list[PositiveFloat], Field(min_length=1)] = Field([0.5])
    c2: Annotated[list[PositiveFloat], Field(min_length=1)] = Field([1.0])

    def candidates(self, modulus: float) -> dict[str, ProximalRule]:
        """Rules by label, one per K, c1 and c2; rho is ``weight`` times the modulus of weak convexity."""
        rho = self.weight * modulus
        return {
            f"K {inner}, c1 {c1:g} rho, c2 {c2:g}": ProximalRule(rho, inner, "conex", c1=c1 * rho, c2=c2)
            for inner in self.inner
            for c1 in self.c1
            for c2 in self.c2
        }


class IPPConEx(ProximalAlgorithm[IPPConExSettings]):
    """Inexact proximal point, inner solver constraint extrapolation."""

    settings = IPPConExSettings
    label = "IPP-ConEx"
    paper = "Boob, Deng and Lan (2022)"
    look = PlotStyle("#CC79A7", "D", (0, (3, 1)))


ALGORITHM = IPPConEx()
