"""Problems of the form ``min F(theta)  s.t.  |h_j(theta)| <= eps``, with smooth signed gaps h_j, many points at once.

Source: PLADA paper, equations (3), (15), (16), (17). A solver sees the signed gaps, not only their absolute values: the
sign decides the subgradient, and the kink at ``h = 0`` can be kept exact
(:mod:`papers.plada.algorithms.plada_solver`).

Points are columns: ``theta`` has shape (d, B), so that B settings of a solver share every product with the data.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GapState:
    """Values of a problem at B points.

    Attributes:
        theta: (d, B) the points.
        loss: (B,) F.
        gaps: (m, B) signed gaps h.
        memo: whatever the problem needs again for derivatives at these points.
    """

    theta: Array
    loss: Array
    gaps: Array
    memo: Any = None


class GapProblem(Protocol):
    """What a solver needs to know of a problem.

    A problem of its own beside the linear one, which gives constraint values and whose constraints are tables of hinge
    means: the solvers here need the signed gaps, smooth in theta, of which the constraints are absolute values.
    """

    @property
    def eps(self) -> Array:
        """Tolerances (m,) of the gaps' absolute values."""
        ...

    @property
    def size(self) -> int:
        """Length of a point, d."""
        ...

    def state(self, theta: Array) -> GapState:
        """Values at the columns of theta (d, B)."""
        ...

    def gradients(self, state: GapState) -> tuple[Array, Array]:
        """``grad F`` (d, B) and the gradients of all gaps (m, d, B)."""
        ...

    def combined(self, state: GapState, loss: Array, gaps: Array) -> Array:
        """``loss * grad F + sum_j gaps_j * grad h_j``, (d, B), of coefficients (B,) and (m, B), at one product."""
        ...

    def project(self, theta: Array) -> Array:
        """The nearest points of the closed convex set Theta, (d, B)."""
        ...


def excess(problem: GapProblem, state: GapState) -> Array:
    """``G = |h| - eps``, (m, B)."""
    return np.abs(state.gaps) - problem.eps[:, None]


def worst(problem: GapProblem, state: GapState) -> Array:
    """``max_j G_j``, (B,): the single constraint that the switching and proximal methods see."""
    return excess(problem, state).max(axis=0)


def ball(theta: Array, radius: float) -> Array:
    """Columns of theta, scaled onto the ball of that radius where they lie outside."""
    norm = np.sqrt(np.sum(theta**2, axis=0))
    return theta * np.minimum(1.0, radius / np.maximum(norm, np.finfo(float).tiny))


def kkt_residuals(problem: GapProblem, state: GapState) -> tuple[Array, Array]:
    """Return residuals (B,) and the multipliers (m, B) that attain them.

    ``R = min_{l >= 0} || (grad F + sum_j l_j sign(h_j) grad h_j, l_j |G_j|) ||``: a least-squares problem in the
    multipliers, which knows nothing of the solver. It does not see a violation, which has to be shown beside it.
    """
    loss, gaps = problem.gradients(state)
    # rows J' sign(h) of stationarity above the diagonal |G_j| of complementarity, equation (4)
    signed = gaps * np.sign(state.gaps)[:, None, :]
    slack = np.abs(excess(problem, state))
    residuals, multipliers = np.empty(state.loss.size), np.empty(state.gaps.shape)
    for b in range(state.loss.size):
        matrix = np.vstack([signed[:, :, b].T, np.diag(slack[:, b])])
        target = np.concatenate([-loss[:, b], np.zeros(len(slack))])
        multipliers[:, b], residuals[b] = nnls(matrix, target)
    return residuals, multipliers
