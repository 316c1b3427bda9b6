"""Demographic parity by post-processing, with the tolerance on the Kolmogorov-Smirnov distance itself.

As ``dp_postproc`` with ``exact``, but for the constraint, which is on distribution functions in place of single atoms
(:mod:`partialfair.algorithms.regression.cumulative_dual`).
"""

import time
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.regression import cumulative_dual
from partialfair.algorithms.regression.cumulative_dual import CumulativeDual, atomwise
from partialfair.algorithms.regression.dp_postproc import DPPostproc, DPPostprocSettings, Prepared
from partialfair.algorithms.regression.dp_solutions import solution_of
from partialfair.algorithms.solution import Record, Solution

Vector = NDArray[np.float64]


class CumulativeSettings(DPPostprocSettings):
    """Settings of ``dp_postproc`` that concern the exact solver; kappa and ``levels`` bound the distance."""

    optimiser: Literal["exact"] = "exact"


class DPPostprocCumulative(DPPostproc):
    """Post-process least squares so that distribution functions differ by at most kappa on the unlabeled rows."""

    settings_model: ClassVar[type[Settings]] = CumulativeSettings

    def _solve(
        self, task: Task, settings: DPPostprocSettings, prepared: Prepared, eps: float, before: Vector | None
    ) -> tuple[Solution, list[Record], Vector]:
        """Solve at one tolerance; ``before`` is D at the one before."""
        atoms = prepared.dual.with_eps(eps)
        dual = CumulativeDual(atoms.t, atoms.r, atoms.eps, atoms.beta)
        start = None if before is None else -np.diff(before, axis=1, append=0.0)
        began = time.process_time()
        optimum = cumulative_dual.solve(dual, start, tolerance=settings.tolerance)
        clock = began, time.process_time()
        mapping = float(np.linalg.norm(dual.gradient_mapping(optimum.point, 1.0 / prepared.smoothness)))
        difference = atomwise(optimum.difference)
        return solution_of(task, atoms, difference, mapping, optimum.iterations, clock, optimum.status)


ALGORITHM = DPPostprocCumulative()
