"""PLADA: a single-loop primal-dual method for ``min F  s.t.  |h_j| - eps_j <= 0``.

Source: PLADA paper, Algorithm 1. The constraint gets a slack, ``G + u = z`` and ``z = 0``; the minimum over z of the
perturbed Lagrangian leaves ``F + <lambda, G + u> - ||lambda - mu||^2 / (2 rho)``, ``rho = alpha / (1 + alpha beta)``.
Every iterate therefore depends on alpha and beta through rho alone.

The theta-step contains G, which is neither smooth nor convex. Three readings are offered: ``linearised`` takes the
subgradient ``sign(h) grad h``; ``prox_linear`` replaces h by its linearisation and keeps the absolute value exact;
``exact`` repeats that until the subproblem itself is solved. Away from the kink ``h = 0`` all three agree.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat

from papers.plada.algorithms.gap_problem import Array, GapProblem, excess
from partialfair.algorithms.contract import Settings

ThetaStep = Literal["linearised", "prox_linear", "exact"]
SWEEPS = 20  # coordinate updates of the box-constrained dual of a step with several constraints
ROUNDS = 30  # re-linearisations of an exact step
SETTLED = 1e-13


class Constants(Settings):
    """Constants of the method besides its steps.

    Attributes:
        alpha: penalty.
        beta: proximal parameter.
        gamma_0: largest dual step.
        kappa: scale of the decay ``delta_k = kappa / (k + 1)`` of the dual step.
        u_max: upper end of the slack.
    """

    alpha: Annotated[float, Field(gt=1)] = 10.0
    beta: Annotated[float, Field(gt=0, lt=1)] = 0.1
    gamma_0: Annotated[float, Field(gt=0, le=1)] = 0.1
    kappa: PositiveFloat = 100.0
    u_max: PositiveFloat = 1.0

    @property
    def rho(self) -> float:
        """Penalty of the equivalent augmented Lagrangian."""
        return self.alpha / (1 + self.alpha * self.beta)


class Parameters(Constants):
    """Constants, and the steps ``eta`` of theta (eta_w in the paper's Table 2) and ``tau`` of the slack (eta_u)."""

    eta: PositiveFloat
    tau: PositiveFloat


def joined(every: Sequence[Parameters]) -> Any:
    """Parameters of a batch: what :class:`Parameters` has, as arrays (B,)."""
    names = (*Parameters.model_fields, "rho")
    return SimpleNamespace(**{name: np.array([getattr(one, name) for one in every]) for name in names})


class Plada:
    """The iteration, at B points at once.

    Args:
        problem: loss and signed gaps.
        parameters: those of every point of the batch, or one for all.
        theta: (d, B) start.
        slack: (m, B) start of u; 0 by default.
        theta_step: reading of the theta-step.

    Attributes:
        state: values at the present points.
        u, lam, mu: (m, B) slack, lambda, mu. Lambda is free: it may be negative.
    """

    def __init__(
        self,
        problem: GapProblem,
        parameters: Parameters | Sequence[Parameters],
        theta: Array,
        slack: Array | None = None,
        theta_step: ThetaStep = "prox_linear",
    ) -> None:
        self.problem, self.theta_step = problem, theta_step
        self.parameters: Any = parameters if isinstance(parameters, Parameters) else joined(parameters)
        self.state = problem.state(theta)
        shape = self.state.gaps.shape
        self.u = np.zeros(shape) if slack is None else slack.copy()
        self.lam, self.mu = np.zeros(shape), np.zeros(shape)
        self.iteration = self.work = 0

    @property
    def settled(self) -> bool:
        """Whether the present point is one to report; here always."""
        return True

    @property
    def z(self) -> Array:
        """The perturbation variable ``(lambda - mu) / alpha``, (m, B); it never feeds back."""
        return (self.lam - self.mu) / self.parameters.alpha

    def stationarity(self) -> Array:
        """Squared norms (2, B) of the Lagrangian's subgradients by theta and by u at the present point.

        ``grad F + J' s lambda`` and ``u - clip(u - lambda, 0, u_max)``: the residual of the paper's Theorem 1, whose
        third part, by z, is 0 (proof of Lemma 5).
        """
        sign = np.sign(self.state.gaps)
        theta = self.problem.combined(self.state, np.ones(len(self.state.loss)), self.lam * sign)
        slack = self.u - np.clip(self.u - self.lam, 0.0, self.parameters.u_max)
        return np.array([np.sum(theta**2, axis=0), np.sum(slack**2, axis=0)])

    def step(self) -> None:
        """Do one iteration (lines 3 to 7 of Algorithm 1)."""
        p, rho = self.parameters, self.parameters.rho
        theta = self._theta()
        u = np.clip(self.u - p.tau * self.lam, 0.0, p.u_max)
        apart = self.lam - self.mu
        delta = p.kappa / (self.iteration + 1)
        gamma = np.minimum(p.gamma_0, rho * delta / (np.sum(apart**2, axis=0) + 1))
        mu = self.mu + gamma * apart / rho
        self.state = self.problem.state(theta)
        self.work += 1
        self.lam = mu + rho * (excess(self.problem, self.state) + u)
        self.u, self.mu = u, mu
        self.iteration += 1

    def _theta(self) -> Array:
        """The new theta, from the values at the present one."""
        eta, theta = self.parameters.eta, self.state.theta
        if self.theta_step == "linearised":
            direction = self.problem.combined(self.state, np.ones(theta.shape[1]), self.lam * np.sign(self.state.gaps))
            self.work += 1
            return self.problem.project(theta - eta * direction)
        loss, jacobian = self.problem.gradients(self.state)
        self.work += 1 + len(jacobian)
        centre = theta - eta * loss
        new = _prox_linear_step(self.state.gaps, jacobian, theta, centre, self.lam, eta)
        if self.theta_step == "exact":
            new = self._exact(new, centre)
        return self.problem.project(new)

    def _exact(self, point: Array, centre: Array) -> Array:
        """Solve the subproblem: repeat the prox-linear step, linearised at its own result."""
        for _ in range(ROUNDS):
            state = self.problem.state(point)
            _, jacobian = self.problem.gradients(state)
            self.work += 2 + len(jacobian)
            new = _prox_linear_step(state.gaps, jacobian, point, centre, self.lam, self.parameters.eta)
            moved = float(np.abs(new - point).max())
            point = new
            if moved < SETTLED:
                break
        return point


def _prox_linear_step(gaps: Array, jacobian: Array, at: Array, centre: Array, lam: Array, eta: Any) -> Array:
    """``argmin_y sum_j lam_j |h_j + <grad h_j, y - at>| + ||y - centre||^2 / (2 eta)``, (d, B).

    By duality over ``s in [-1, 1]^m``: ``y = centre - eta J'(lam s)``, and coordinate j of s is
    ``clip(rest_j / (eta lam_j ||grad h_j||^2), -1, 1)`` with the others fixed; for one constraint this is the solution.
    Where lam_j <= 0 the term is concave, and the better of its two branches is taken.

    Args:
        gaps: (m, B) gaps at the point of linearisation.
        jacobian: (m, d, B) their gradients there.
        at: (d, B) that point.
        centre: (d, B) the gradient step of the loss alone.
        lam: (m, B) multipliers.
        eta: step.
    """
    products = np.einsum("idb,jdb->ijb", jacobian, jacobian)
    value = gaps + np.einsum("jdb,db->jb", jacobian, centre - at)
    signs = np.where(value >= 0, 1.0, -1.0)
    m = len(gaps)
    for _ in range(SWEEPS if m > 1 else 1):
        moved = 0.0
        for j in range(m):
            others = np.einsum("ib,ib->b", products[j], lam * signs) - products[j, j] * lam[j] * signs[j]
            new = _sign(value[j] - eta * others, eta * lam[j] * products[j, j])
            moved = max(moved, float(np.abs(new - signs[j]).max()))
            signs[j] = new
        if moved < SETTLED:
            break
    return centre - eta * np.einsum("jdb,jb->db", jacobian, lam * signs)


def _sign(value: Array, curvature: Array) -> NDArray[np.float64]:
    """The subgradient of the absolute value at the minimum: inside (-1, 1) where the minimum is the kink."""
    convex = curvature > 0
    inside = np.clip(value / np.where(convex, curvature, 1.0), -1.0, 1.0)
    return np.where(convex, inside, np.where(value >= 0, 1.0, -1.0))


def safe_steps(loss_curvature: float, jacobian_norm: float, rho: float) -> tuple[float, float]:
    """Return (eta, tau): nine tenths of the bounds ``1 / (L_F + 3 rho M_G^2)`` and ``1 / (3 rho)`` of the paper."""
    return 0.9 / (loss_curvature + 3 * rho * jacobian_norm**2), 0.9 / (3 * rho)


class Recorded(Plada):
    """The iteration with the residual of Theorem 1 beside it, computed off the clock."""

    @property
    def residual(self) -> Array:
        """See :meth:`Plada.stationarity`."""
        return self.stationarity()
