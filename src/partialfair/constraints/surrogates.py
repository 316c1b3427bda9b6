"""Smooth or piecewise-linear stand-ins for the indicator ``1[x > 0]``, each a difference of convex functions.

``sigma = upper - lower`` with both parts convex and non-decreasing (Partial fairness paper, appendix D). Since both
splits are exact, no quadratic has to be added: the modulus of weak convexity that a solver must allow for is 0.

- ``clipped_linear``: ``clip(x s + 1/2, 0, 1) = max(x s + 1/2, 0) - max(x s - 1/2, 0)``.
- ``logistic``: ``1 / (1 + exp(-4 x s))``, which has the same slope s at 0. It is convex for x <= 0 and concave for
  x >= 0, so the split is at its inflection point: upper is sigma for x <= 0, continued by its tangent
  ``1/2 + x s``; lower is what that tangent exceeds sigma by for x > 0. (Adding ``(mu/2) x^2`` to both parts would
  do as well, with mu = 8 s^2 / (3 sqrt 3) the largest curvature; the majorants are then looser.)

The sharpness s (default 1) is the slope at 0; as it grows, sigma tends to the indicator.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from partialfair import plugins
from partialfair.errors import ConfigError

Vector = NDArray[np.float64]


class Surrogate(Protocol):
    """A surrogate and its split.

    Attributes:
        sharpness: slope at 0.
        hinges: for piecewise-linear parts, the shifts u and v of ``upper(x) = max(s x + u, 0)`` and
            ``lower(x) = max(s x + v, 0)``; ``None`` for others.
    """

    @property
    def sharpness(self) -> float: ...  # noqa: D102

    @property
    def hinges(self) -> tuple[float, float] | None: ...  # noqa: D102

    def upper(self, x: Vector) -> tuple[Vector, Vector]:
        """The convex part and its derivative, elementwise."""
        ...

    def lower(self, x: Vector) -> tuple[Vector, Vector]:
        """The convex part that is subtracted, and its derivative, elementwise."""
        ...


@dataclass(frozen=True)
class ClippedLinear:
    """``clip(s x + 1/2, 0, 1)``."""

    sharpness: float = 1.0
    hinges: tuple[float, float] = (0.5, -0.5)

    def upper(self, x: Vector) -> tuple[Vector, Vector]:
        """``max(s x + 1/2, 0)``; at the kink the derivative is 0."""
        return self._hinge(x, 0.5)

    def lower(self, x: Vector) -> tuple[Vector, Vector]:
        """``max(s x - 1/2, 0)``; at the kink the derivative is 0."""
        return self._hinge(x, -0.5)

    def _hinge(self, x: Vector, shift: float) -> tuple[Vector, Vector]:
        value = self.sharpness * x + shift
        return np.maximum(value, 0.0), np.where(value > 0, self.sharpness, 0.0)


@dataclass(frozen=True)
class LogisticSigmoid:
    """``1 / (1 + exp(-4 s x))``, split at its inflection point."""

    sharpness: float = 1.0
    hinges: None = None

    def upper(self, x: Vector) -> tuple[Vector, Vector]:
        """Sigma for x <= 0, its tangent ``1/2 + s x`` for x > 0."""
        share, slope = self._sigma(np.minimum(x, 0.0))
        return share + self.sharpness * np.maximum(x, 0.0), slope

    def lower(self, x: Vector) -> tuple[Vector, Vector]:
        """``1/2 + s x - sigma(x)`` for x > 0, else 0."""
        share, slope = self._sigma(np.maximum(x, 0.0))
        return 0.5 + self.sharpness * np.maximum(x, 0.0) - share, self.sharpness - slope

    def _sigma(self, x: Vector) -> tuple[Vector, Vector]:
        share = expit(4 * self.sharpness * x)
        return share, 4 * self.sharpness * share * (1 - share)


SURROGATES: Mapping[str, Callable[..., Surrogate]] = {"clipped_linear": ClippedLinear, "logistic": LogisticSigmoid}


def make(choice: Any) -> Surrogate:
    """Return a surrogate by name, or by a mapping with ``name`` and ``sharpness``.

    Raises:
        ConfigError: an unknown name or option, or a sharpness that is not positive.
    """
    name, options = plugins.chosen(choice)
    if name not in SURROGATES:
        raise ConfigError(f"unknown surrogate {name!r}; {plugins.did_you_mean(name, SURROGATES)}")
    for option in options:
        if option != "sharpness":
            raise ConfigError(f"unknown option {option!r} of surrogate {name!r}; did you mean 'sharpness'?")
    sharpness = options.get("sharpness", 1.0)
    if isinstance(sharpness, bool) or not isinstance(sharpness, int | float) or not 0 < sharpness < np.inf:
        raise ConfigError(f"sharpness of surrogate {name!r} is {sharpness!r}; use a positive number")
    return SURROGATES[name](float(sharpness))


def value(surrogate: Surrogate, x: Vector) -> Vector:
    """The surrogate itself, elementwise."""
    return surrogate.upper(x)[0] - surrogate.lower(x)[0]
