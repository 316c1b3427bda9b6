"""What every solver returns."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Certificate:
    """How good a point is, measured on the training rows.

    Attributes:
        objective: f0.
        max_violation: largest f_i (0 without constraints); the constraints hold where it is not positive.
        kkt_residual: norm of ``f0' + sum_i multiplier_i f_i'`` relative to the norm of ``f0'`` at the point where
            all weights are zero, with the best non-negative multipliers of the active constraints.
        multipliers: (m,) those multipliers.
    """

    objective: float
    max_violation: float
    kkt_residual: float
    multipliers: NDArray[np.float64]


@dataclass(frozen=True)
class Record:
    """One line of a solver's history.

    Attributes:
        iteration: outer iterations done.
        inner_steps: inner steps or function evaluations done.
        objective: f0 there; max_violation: largest f_i there (surrogate; negative where all hold strictly).
        cpu_seconds: processor time of the process so far.
        params, aux: the iterate, from which other quantities can be computed afterwards.
    """

    iteration: int
    inner_steps: int
    objective: float
    max_violation: float
    cpu_seconds: float
    params: NDArray[np.float64] = field(compare=False, repr=False)
    aux: NDArray[np.float64] = field(compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Solution:
    """A point, how it was reached, and how good it is.

    Attributes:
        params: (R, d+1) parameters of the score model.
        aux: (P,) auxiliary variables of the constraints.
        history: one record per outer iteration.
        certificate: see :class:`Certificate`.
        status: "ok", or why the point should not be used.
    """

    params: NDArray[np.float64]
    aux: NDArray[np.float64]
    certificate: Certificate
    history: list[Record] = field(default_factory=list)
    status: str = "ok"
