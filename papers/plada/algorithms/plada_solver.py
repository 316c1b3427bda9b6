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
from pydantic import Field, PositiveFloat

from papers.plada.algorithms.gap_problem import Array, GapProblem, excess
from partialfair.algorithms import stochastic_steps as steps
from partialfair.algorithms.contract import Settings

ThetaStep = Literal["linearised", "prox_linear", "exact"]
ROUNDS = 30  # re-linearisations of an exact step
SETTLED = 1e-13  # largest move of a re-linearisation after which the subproblem counts as solved


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


def joined(batch: Sequence[Parameters]) -> Any:
    """Stack the parameters of B points into arrays (B,)."""
    names = (*Parameters.model_fields, "rho")
    return SimpleNamespace(**{name: np.array([getattr(parameters, name) for parameters in batch]) for name in names})


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
        """Whether the present point may be reported; always true for PLADA."""
        return True

    @property
    def z(self) -> Array:
        """The perturbation variable ``(lambda - mu) / alpha``, (m, B); it never feeds back."""
        return (self.lam - self.mu) / self.parameters.alpha

    def stationarity(self) -> Array:
        """Squared norms (2, B) of a subgradient by theta and of the projected gradient by u at the present point.

        The first is ``grad F + sum_j lambda_j sign(h_j) grad h_j``, with sign(0) = 0, the second
        ``u - clip(u - lambda, 0, u_max)``. Theorem 1 averages such norms; the part by z is 0 (Lemma 5). The paper's
        subgradient by theta, equation (28), is another element of the subdifferential. The normal cone of Theta is left
        out.
        """
        # an element by theta, and G_u of Lemma 5; equation (14) averages their squared norms
        sign = np.sign(self.state.gaps)
        theta = self.problem.combined(self.state, np.ones(len(self.state.loss)), self.lam * sign)
        slack = self.u - np.clip(self.u - self.lam, 0.0, self.parameters.u_max)
        return np.array([np.sum(theta**2, axis=0), np.sum(slack**2, axis=0)])

    def step(self) -> None:
        """Do one iteration (Algorithm 1, lines 3 to 6); ``z`` of line 7 is a property."""
        p = self.parameters
        # line 3 and equation (9), from F, G and lambda at iteration k
        theta = self._theta()
        # lines 4 and 5, equations (10) and (11), with the old lambda:
        # u' = clip(u - tau lambda, 0, u_max);  mu' = mu + gamma (lambda - mu) / rho
        self.u, self.mu = moved(self.u, self.mu, self.lam, self.iteration, p, axis=0)
        # line 6, equation (12), with the new theta, u and mu:
        # lambda' = mu' + rho (G(theta') + u')
        self.state = self.problem.state(theta)
        self.work += 1
        self.lam = steps.perturbed_dual(self.mu, excess(self.problem, self.state), self.u, p.rho)
        self.iteration += 1

    def _theta(self) -> Array:
        """Return the new theta, from the values at the present theta."""
        eta, theta = self.parameters.eta, self.state.theta
        # (9) with <lambda, G(theta)> linearised: theta - eta (grad F + sum_j lambda_j sign(h_j) grad h_j)
        if self.theta_step == "linearised":
            weights = self.lam * steps.sign(self.state.gaps)
            direction = self.problem.combined(self.state, np.ones(theta.shape[1]), weights)
            self.work += 1
            return self.problem.project(theta - eta * direction)
        loss, jacobian = self.problem.gradients(self.state)
        self.work += 1 + len(jacobian)
        # (9) with h linearised inside the absolute value: argmin of <lambda, |h + J (y - theta)|> + |y - centre|^2 / (2
        # eta)
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


def _prox_linear_step(gaps: Array, jacobian: Array, point: Array, centre: Array, lam: Array, eta: Any) -> Array:
    """``argmin_y sum_j lam_j |h_j + <grad h_j, y - point>| + ||y - centre||^2 / (2 eta)``, (d, B).

    It is ``y = centre - eta J'(lam s)``, s of :func:`~partialfair.algorithms.stochastic_steps.prox_linear_signs`.

    Args:
        gaps: (m, B) gaps at the point of linearisation.
        jacobian: (m, d, B) their gradients there.
        point: (d, B) that point.
        centre: (d, B) the gradient step of the loss alone.
        lam: (m, B) multipliers.
        eta: step.
    """
    # J J' (m, m, B) and the linearised gaps at the centre (m, B): all that the m signs depend on
    products = np.einsum("idb,jdb->ijb", jacobian, jacobian)
    value = gaps + np.einsum("jdb,db->jb", jacobian, centre - point)
    signs = steps.prox_linear_signs(products, value, lam, eta)
    return centre - eta * np.einsum("jdb,jb->db", jacobian, lam * signs)


def moved(
    slack: Array, centre: Array, dual: Array, iteration: int, parameters: Any, axis: int = -1
) -> tuple[Array, Array]:
    """Return slack u and centre mu after lines 4 and 5 of Algorithm 1, with the constants of ``parameters``."""
    p = parameters
    numbers = {"slack_step": p.tau, "slack_bound": p.u_max, "dual_step": p.gamma_0, "decay": p.kappa}
    return steps.perturbed_move(slack, centre, dual, iteration, penalty=p.rho, **numbers, axis=axis)


def safe_steps(loss_curvature: float, jacobian_norm: float, rho: float) -> tuple[float, float]:
    """Return (eta, tau): nine tenths of the bounds ``1 / (L_F + 3 rho M_G^2)`` and ``1 / (3 rho)`` of the paper."""
    return 0.9 / (loss_curvature + 3 * rho * jacobian_norm**2), 0.9 / (3 * rho)


class Recorded(Plada):
    """The iteration with the residual of Theorem 1, which is computed outside the measured time."""

    @property
    def residual(self) -> Array:
        """See :meth:`Plada.stationarity`."""
        return self.stationarity()
