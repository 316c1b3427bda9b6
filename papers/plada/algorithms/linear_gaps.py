"""Logistic loss of a linear score under gaps between smoothed positive rates of groups.

Source: PLADA paper, equations (15) to (17): ``h = mean_p sigma(theta'x) - mean_u sigma(theta'x)`` over the
protected and the other group (demographic parity), or the same within either class (equalised odds). On an interval
of ranks a rate c is replaced by the part of it inside, ``min(c, beta) - min(c, alpha)`` (partial parity), which changes
nothing for the full range.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from papers.plada.algorithms.gap_problem import Array, GapState, ball
from partialfair.data.intervals import Pairs

STEEPEST_BEND = 1 / (6 * np.sqrt(3))  # largest |sigma''| of the logistic function
DENSE = 0.3  # matrices with a larger share of non-zeros are multiplied as dense ones


@dataclass(frozen=True, eq=False)
class Rate:
    """The smoothed positive rate of one set of rows, inside an interval of ranks.

    Attributes:
        start, stop: its rows in the problem's order.
        pairs: the interval; ((0, 1),) for the rate itself.
        scale: factor (lengths of intervals that differ between groups are levelled by it).
    """

    start: int
    stop: int
    pairs: Pairs = ((0.0, 1.0),)
    scale: float = 1.0

    def value_and_slope(self, share: Array) -> tuple[Array, Array]:
        """The rate (B,) of the rows' mean (B,), and its derivative."""
        value, slope = np.zeros_like(share), np.zeros_like(share)
        for low, high in self.pairs:
            value += np.clip(share, low, high) - low
            slope += (share > low) & (share < high)
        return self.scale * value, self.scale * slope


@dataclass(frozen=True, eq=False)
class Smoothing:
    """The stand-in for ``1[x > 0]``: logistic ``1/(1+exp(-4 s x))`` or clipped linear, slope s at 0."""

    name: str = "logistic"
    sharpness: float = 0.25

    def value_and_slope(self, scores: Array) -> tuple[Array, Array]:
        """Values and derivatives, elementwise."""
        if self.name == "clipped_linear":
            value = np.clip(self.sharpness * scores + 0.5, 0.0, 1.0)
            return value, np.where((value > 0) & (value < 1), self.sharpness, 0.0)
        # exp(-|x|) <= 1 never overflows: sigma(x) = 1 / (1 + exp(-x)) = exp(-|x|) / (1 + exp(-|x|)) for x < 0
        small = np.exp(-np.abs(4 * self.sharpness * scores))
        value = np.where(scores >= 0, 1.0, small) / (1.0 + small)
        return value, 4 * self.sharpness * value * (1 - value)


@dataclass(frozen=True, eq=False)
class LinearGaps:
    """The problem on fixed rows, sorted so that the rows of a rate stand together.

    Attributes:
        X: (n, d) rows, dense or CSR.
        y: (n,) labels -1/+1.
        rates: the rates that gaps are made of.
        pairs: (m, 2) numbers of the rates whose difference is a gap.
        eps: (m,) tolerances.
        radius: of the ball Theta.
        smoothing: stand-in for the indicator.
    """

    X: NDArray[np.float64] | sparse.csr_array
    y: Array
    rates: tuple[Rate, ...]
    pairs: NDArray[np.int64]
    eps: Array
    radius: float = 10.0
    smoothing: Smoothing = Smoothing()

    @property
    def size(self) -> int:
        """Number of features, d."""
        return int(self.X.shape[1])

    @cached_property
    def _data(self) -> tuple[NDArray[np.float64] | sparse.csr_array, NDArray[np.float64] | sparse.csr_array]:
        """The rows and their transpose, both fast to multiply from the left."""
        if isinstance(self.X, np.ndarray):
            return self.X, np.ascontiguousarray(self.X.T)
        if self.X.nnz > DENSE * self.X.shape[0] * self.X.shape[1]:
            dense = self.X.toarray()
            return dense, np.ascontiguousarray(dense.T)
        return self.X, sparse.csr_array(self.X.T)

    @cached_property
    def _difference(self) -> Array:
        """(m, number of rates) with +1 and -1."""
        matrix = np.zeros((len(self.pairs), len(self.rates)))
        matrix[np.arange(len(self.pairs)), self.pairs[:, 0]] = 1.0
        matrix[np.arange(len(self.pairs)), self.pairs[:, 1]] = -1.0
        return matrix

    def scores(self, theta: Array) -> Array:
        """``X theta``, (n, B)."""
        return self._data[0] @ theta

    def project(self, theta: Array) -> Array:
        """The nearest points (d, B) of the ball of ``radius`` about 0."""
        return ball(theta, self.radius)

    def state(self, theta: Array) -> GapState:
        """Values; one product with the data."""
        # h_j = c_p - c_u of equation (15), c = mean of sigma(theta'x) over the rows of a rate; F is equation (16)
        scores = self.scores(theta)
        small = np.exp(-np.abs(scores))  # one exponential serves the loss and the logistic smoothing
        margin = self.y[:, None] * scores
        loss = np.mean(np.maximum(-margin, 0.0) + np.log1p(small), axis=0)
        share = np.where(scores >= 0, 1.0, small) / (1.0 + small)
        usual = self.smoothing.name == "logistic" and self.smoothing.sharpness == 0.25
        smooth, slope = (share, share * (1 - share)) if usual else self.smoothing.value_and_slope(scores)
        values, slopes = self._rates(smooth)
        # d loss / d score = sigma(score) - 1[y = +1], for labels -1/+1.
        residual = (share - (self.y > 0)[:, None]) / len(self.y)
        return GapState(theta, loss, self._difference @ values, (residual, slope, slopes))

    def _rates(self, smooth: Array) -> tuple[Array, Array]:
        """Rates (number of rates, B) of smoothed indicators (n, B), and derivatives by the rows' means."""
        values_and_slopes = [rate.value_and_slope(smooth[rate.start : rate.stop].mean(axis=0)) for rate in self.rates]
        return np.array([value for value, _ in values_and_slopes]), np.array([slope for _, slope in values_and_slopes])

    def true_gaps(self, theta: Array) -> Array:
        """Gaps with the indicator ``score > 0`` in place of the smooth stand-in, (m, B)."""
        return self._difference @ self._rates((self.scores(theta) > 0).astype(np.float64))[0]

    def gradients(self, state: GapState) -> tuple[Array, Array]:
        """All gradients by one product with m + 1 columns per point."""
        m, batch = state.gaps.shape
        # residuals (n, (m + 1) B): X' times them gives grad F and all grad h_j at once
        columns = [state.memo[0]] + [self._gap_residual(state, unit) for unit in _units(m, batch)]
        products = self._data[1] @ np.hstack(columns)
        by_column = products.reshape(self.size, m + 1, batch)
        return by_column[:, 0], np.moveaxis(by_column[:, 1:], 1, 0)

    def combined(self, state: GapState, loss: Array, gaps: Array) -> Array:
        """One product with one column per point."""
        return self._data[1] @ (state.memo[0] * loss + self._gap_residual(state, gaps))

    def _gap_residual(self, state: GapState, gaps: Array) -> Array:
        """Derivative of ``sum_j gaps_j h_j`` by the scores, (n, B)."""
        _, slope, slopes = state.memo
        # coefficients of the gaps to those of the rates, times the derivative of min(c, beta) - min(c, alpha)
        by_rate = (self._difference.T @ gaps) * slopes
        out = np.zeros_like(slope)
        for rate, factor in zip(self.rates, by_rate, strict=True):
            rows = slice(rate.start, rate.stop)
            out[rows] += slope[rows] * (factor / (rate.stop - rate.start))
        return out

    def curvature_of_loss(self) -> float:
        """``L_F = lambda_max(X'X / N) / 4``, a bound on the curvature of the mean logistic loss."""
        return float(np.linalg.eigvalsh(_gram(self._data[0], np.full(len(self.y), 1 / len(self.y))))[-1]) / 4

    def jacobian_norm(self) -> float:
        """Spectral norm of the Jacobian of the gaps at theta = 0, the paper's M_G."""
        _, jacobian = self.gradients(self.state(np.zeros((self.size, 1))))
        return float(np.linalg.norm(jacobian[:, :, 0], 2))

    def weak_convexity(self) -> float:
        """A modulus of weak convexity of every |h_j|: ``max |sigma''| lambda_max(sum_i |w_i| x_i x_i')``.

        For the clipped-linear stand-in, which has none, it is that of the logistic one with the same slope.
        """
        bend = STEEPEST_BEND * (4 * self.smoothing.sharpness) ** 2
        largest = 0.0
        for pair in self.pairs:
            weight = np.zeros(len(self.y))
            for number in pair:
                rate = self.rates[number]
                weight[rate.start : rate.stop] += rate.scale / (rate.stop - rate.start)
            largest = max(largest, float(np.linalg.eigvalsh(_gram(self._data[0], weight))[-1]))
        return bend * largest


def _units(m: int, batch: int) -> list[Array]:
    """Coefficients that pick one gap each."""
    return [np.repeat(row[:, None], batch, axis=1) for row in np.eye(m)]


def _gram(X: NDArray[np.float64] | sparse.csr_array, weight: Array) -> Array:
    """``sum_i weight_i x_i x_i'``, (d, d)."""
    if isinstance(X, np.ndarray):
        return X.T @ (X * weight[:, None])
    square = X.T @ sparse.csr_array(X.multiply(weight[:, None]))
    return np.asarray(square.toarray())
