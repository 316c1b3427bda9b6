"""Two looks at data with one error between them: O'Brien and Fleming's boundaries by Lan and DeMets' spending."""

import math
from functools import cache

from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri


def spent(fraction: float, alpha: float) -> float:
    """Error that may be spent up to a look at a fraction of the data: ``2 - 2 Phi(z_(alpha / 2) / sqrt(fraction))``.

    Lan and DeMets (1983), the spending function of O'Brien and Fleming's kind, for a one-sided test of size ``alpha``.
    """
    return float(2.0 * ndtr(ndtri(alpha / 2.0) / fraction**0.5))


@cache
def two_looks(fraction: float, alpha: float) -> tuple[float, float]:
    """Nominal one-sided levels of a first look at a fraction of the data and of the last look at all of it.

    With the statistics Z1, Z2 of the looks, whose correlation is the root of the fraction, the last is 1 - Phi(c)
    with ``P(Z1 < c1, Z2 > c) = alpha - P(Z1 > c1)`` where there is no effect. P-values of Student's t take them, too.

    Args:
        fraction: of the data at the first look, between 0 and 1.
        alpha: error of both looks together.
    """
    first_level = spent(fraction, alpha)
    boundary, root = -ndtri(first_level), (1.0 - fraction) ** 0.5

    def crossed(c: float) -> float:
        def density(z: float) -> float:
            return float(math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * ndtr((fraction**0.5 * z - c) / root))

        return float(quad(density, -10.0, min(boundary, 10.0), epsabs=1e-12)[0])

    last = brentq(lambda c: crossed(c) - (alpha - first_level), 0.0, 8.0, xtol=1e-10)
    return first_level, float(ndtr(-last))
