"""AUC maximisation under an AUC-gap constraint with the quadratic pair loss, for a linear score: exact solutions.

With the loss ``l(t) = c1 (t - c2)^2`` of the score difference t of a pair (AUC fairness paper, section 3) the mean over
all pairs of a set P and a set N follows from means mu and variances V of the scores of the sets,

    L(P, N) = c1 ((c2 - (mu_P - mu_N))^2 + V_P + V_N),

so f0 = L(D+, D-), f1 = L(G1', G1) + L(G2, G2') and f2 = L(G2', G2) + L(G1, G1') are quadratics of the weights. They
satisfy ``f1 = 2 c1 c2^2 + l'w + w'Q w`` and ``f2 = 2 c1 c2^2 - l'w + w'Q w``, so that the surrogate problem

    (S)  min f0   s.t.  f1 <= 1 + kappa,  f2 <= 1 + kappa

is ``min f0 s.t. w'Q w + |l'w| <= s`` with the slack ``s = 1 + kappa - 2 c1 c2^2``. Its dual has two variables: the sum
lambda and the difference nu of the multipliers. For a given lambda the best nu is in closed form, and one
simultaneous diagonalisation of the two quadratic forms makes every evaluation O(p), so that (S) is a root search
in lambda: milliseconds for a whole path of slacks, against a tenth of a second per cone program.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.optimize import brentq, minimize_scalar

from partialfair.data.auc_sets import FourSets, cell_counts
from partialfair.data.dataset import Matrix
from partialfair.errors import InfeasibleError

Vector = NDArray[np.float64]
RIDGE = 1e-8
LARGEST_MULTIPLIER = 1e12


def slack_of(kappa: float, c1: float = 0.5, c2: float = 1.0) -> float:
    """Slack ``s = 1 + kappa - 2 c1 c2^2`` of the surrogate problem at a training tolerance.

    Raises:
        InfeasibleError: it is not positive: even a constant score violates both constraints.
    """
    slack = 1.0 + kappa - 2.0 * c1 * c2**2
    if not slack > 0:
        raise InfeasibleError(
            f"kappa_train = {kappa:g} with c1 = {c1:g}, c2 = {c2:g} leaves the slack {slack:g}: the surrogate "
            f"problem is infeasible: it needs kappa_train > 2 c1 c2^2 - 1 = {2 * c1 * c2**2 - 1:g}"
        )
    return slack


@dataclass(frozen=True, eq=False)
class SetMoments:
    """Means (6, p) and population covariances (6, p, p) of the rows of D+, D-, G1, G1', G2, G2'."""

    mean: Vector
    covariance: Vector

    @classmethod
    def from_rows(cls, X: Matrix, cells: NDArray[np.integer], sets: FourSets) -> "SetMoments":
        """Compute them from rows X (n, p) and their cell codes (n,), one pass per cell.

        Raises:
            NotEstimableError: a set has no rows.
        """
        # moments of the four cells by one pass each; a set's are sums over its cells
        counts = cell_counts(cells)
        sets.require(counts)
        p = X.shape[1]
        mean_x, mean_xx = np.zeros((4, p)), np.zeros((4, p, p))
        for cell in range(4):
            rows = X[np.flatnonzero(cells == cell)]
            if isinstance(rows, np.ndarray):
                rows = rows.astype(np.float64)
                mean_xx[cell] = rows.T @ rows
            else:
                rows = sparse.csr_array(rows, dtype=np.float64)
                mean_xx[cell] = (rows.T @ rows).toarray()
            mean_x[cell] = rows.sum(axis=0)
        size = sets.table @ counts
        # E_S[x] (6, p), and Cov_S = E_S[x x'] - E_S[x] E_S[x]'
        mean = (sets.table @ mean_x) / size[:, None]
        raw = np.einsum("sc,cij->sij", sets.table.astype(np.float64), mean_xx) / size[:, None, None]
        return cls(mean, raw - mean[:, :, None] * mean[:, None, :])


@dataclass(frozen=True, eq=False)
class QuadraticAUC:
    """The surrogate problem of a linear score ``h(x) = w'x``.

    Attributes:
        moments: of the six sets.
        c1, c2: of the pair loss.
        ridge: added to the diagonals, because one-hot columns are collinear.
    """

    moments: SetMoments
    c1: float = 0.5
    c2: float = 1.0
    ridge: float = RIDGE

    @cached_property
    def delta0(self) -> Vector:
        """Difference of the class means, (p,)."""
        return self.moments.mean[0] - self.moments.mean[1]

    @cached_property
    def delta(self) -> Vector:
        """``(m_G1 - m_G1') - (m_G2 - m_G2')``: the difference of mean gaps is its product with w."""
        mean = self.moments.mean
        return (mean[2] - mean[3]) - (mean[4] - mean[5])

    @cached_property
    def linear(self) -> Vector:
        """``l = 2 c1 c2 delta``."""
        return 2 * self.c1 * self.c2 * self.delta

    @cached_property
    def objective_form(self) -> Vector:
        """``c1 (Cov_D+ + Cov_D- + delta0 delta0')``, the quadratic part of f0, with the ridge."""
        covariance = self.moments.covariance
        # f0 = c1 ((c2 - delta0'w)^2 + w'(Cov_D+ + Cov_D-) w)
        form = covariance[0] + covariance[1] + np.outer(self.delta0, self.delta0)
        return self.c1 * form + self.ridge * np.eye(self.delta0.size)

    @cached_property
    def scale_form(self) -> Vector:
        """``Q``, the quadratic part of f1 and f2, with the ridge."""
        mean, covariance = self.moments.mean, self.moments.covariance
        # q = c1 (sum of the two squared mean gaps + sum of the four variances) = w'Q w
        gaps = (mean[2] - mean[3], mean[4] - mean[5])
        form = covariance[2:].sum(axis=0) + np.outer(gaps[0], gaps[0]) + np.outer(gaps[1], gaps[1])
        return self.c1 * form + self.ridge * np.eye(self.delta0.size)

    def values(self, w: Vector) -> Vector:
        """f0, f1, f2 at w (p,), without the ridge."""
        covariance, c1, c2 = self.moments.covariance, self.c1, self.c2
        mean = self.moments.mean @ w
        variance = np.einsum("i,sij,j->s", w, covariance, w, optimize=True)

        def loss(p: int, n: int) -> float:
            return float(c1 * ((c2 - (mean[p] - mean[n])) ** 2 + variance[p] + variance[n]))

        # sets 0..5 = D+, D-, G1, G1', G2, G2'
        return np.array([loss(0, 1), loss(3, 2) + loss(4, 5), loss(5, 4) + loss(2, 3)])

    @cached_property
    def _basis(self) -> tuple[Vector, Vector, Vector]:
        """``B`` and ``d, e`` with ``B'(objective form)B = diag(d)`` and ``B'QB = diag(e)``."""
        # With A + Q = L L', the eigenvectors of L^-1 A L^-T diagonalise both forms; precomputed once for all slacks.
        total = self.objective_form + self.scale_form
        lower = cholesky(total, lower=True)
        half = solve_triangular(lower, self.objective_form, lower=True)
        inner = solve_triangular(lower, half.T, lower=True)
        d, vectors = eigh((inner + inner.T) / 2)
        d = np.clip(d, 1e-15, 1.0)
        return solve_triangular(lower.T, vectors, lower=False), d, 1.0 - d

    def unconstrained(self) -> Vector:
        """Minimiser of f0, (p,)."""
        basis, d, _ = self._basis
        # A w = c1 c2 delta0, in the basis d z = B'(c1 c2 delta0)
        target = self.c1 * self.c2 * (basis.T @ self.delta0)
        return np.asarray(basis @ (target / d))

    def solve(self, slack: float) -> Vector:
        """Minimiser (p,) of (S) at a slack, to rounding.

        Raises:
            InfeasibleError: the slack is not positive.
        """
        if not slack > 0:
            raise InfeasibleError(f"the slack {slack:g} is not positive: the surrogate problem is infeasible")
        basis, _, e = self._basis
        # w'Q w + |l'w| - s falls in the multiplier lambda of the constraint: its root is the optimum, found by
        # bracketing
        length = basis.T @ self.linear

        def excess(multiplier: float) -> float:
            z = self._minimiser(1.0, multiplier)
            return float(z @ (e * z) + abs(length @ z)) - slack

        if excess(0.0) <= 0:
            return np.asarray(basis @ self._minimiser(1.0, 0.0))
        high = 1.0
        while excess(high) > 0:
            high *= 4.0
            if high > LARGEST_MULTIPLIER:
                raise InfeasibleError(f"the slack {slack:g} is below what double precision resolves; use a larger one")
        root = brentq(excess, 0.0, high, xtol=1e-15 * high, rtol=8.9e-16, maxiter=300)
        return np.asarray(basis @ self._minimiser(1.0, float(root)))

    def _minimiser(self, share: float, multiplier: float) -> Vector:
        """Minimiser of ``share f0 + multiplier w'Qw + nu l'w``, in the coordinates of :attr:`_basis`.

        Of the nu in [-multiplier, multiplier] that with the largest dual value is taken.
        """
        basis, d, e = self._basis
        # The dual in nu is concave and quadratic, its stationary point l'z(nu) = 0 where that lies within +-lambda: 2
        # form z = target - nu l.
        form = share * d + multiplier * e
        target, length = 2 * share * self.c1 * self.c2 * (basis.T @ self.delta0), basis.T @ self.linear
        along = length @ (length / form)
        nu = 0.0 if along <= 0 else float(np.clip((length @ (target / form)) / along, -multiplier, multiplier))
        return np.asarray((target - nu * length) / (2 * form))

    def level(self, r: float, slack: float) -> float:
        """``H(r) = min_w max(f0 - r, f1 - 1 - kappa, f2 - 1 - kappa)``, the level-set function.

        The dual is a concave function of the weight of f0 in [0, 1], maximised to about 1e-10.
        """
        basis, d, e = self._basis
        # H(r) of equation (18) by its dual: the weight y of f0 and 1 - y of the two constraints together
        target, length = 2 * self.c1 * self.c2 * (basis.T @ self.delta0), basis.T @ self.linear
        constant = self.c1 * self.c2**2

        def dual(share: float) -> float:
            z = self._minimiser(share, 1.0 - share)
            scale = float(z @ (e * z) + abs(length @ z)) if share < 1 else 0.0
            f0 = constant - float(target @ z) + float(z @ (d * z))
            return share * (f0 - r) + (1.0 - share) * (scale - slack)

        minimum = minimize_scalar(lambda v: -dual(v), bounds=(1e-9, 1.0), method="bounded", options={"xatol": 1e-12})
        return float(max(dual(float(minimum.x)), dual(1.0)))

    def mean_gap_line(self, shares: Vector) -> Vector:
        """Minimisers of f0 with a given difference of mean gaps, (p, len(shares)).

        Entry f keeps ``1 - f`` of the unconstrained difference ``delta'w_u``: 0 is the unconstrained model, 1 the
        model with equal mean gaps, values above 1 overshoot. The line has no penalty on the scale of the scores, which
        the surrogate constraint has.
        """
        basis, d, _ = self._basis
        w, basis_delta = self.unconstrained(), basis.T @ self.delta
        # minimise f0 with delta'w fixed: w_u minus a multiple of A^-1 delta
        direction = basis @ (basis_delta / d)
        step = (self.delta @ w) / (self.delta @ direction)
        return w[:, None] - step * direction[:, None] * np.asarray(shares)[None, :]
