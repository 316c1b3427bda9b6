"""SSL-ALM: the stochastic smoothed and linearised augmented Lagrangian method."""

from typing import Any, ClassVar

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from partialfair.algorithms.contract import Settings
from partialfair.algorithms.stochastic import ssl_alm_solver as ssl_alm
from partialfair.algorithms.stochastic.stochastic_tasks import Stochastic, StochasticSettings
from partialfair.tables.dataset import Dataset


class SSLALMSettings(StochasticSettings):
    """Settings of :class:`partialfair.algorithms.stochastic.ssl_alm_solver.SSLALM`; the paper's letters are in
    brackets.

    Attributes:
        proximal: (mu); penalty: (rho); step_size: (tau); dual_step: (eta); smoothing: (beta); dual_bound: (M_y).
        batch: rows of the objective; group_batch: rows of each group in each of two draws.
        cyclic: the same batches of groups in every pass, as the published code draws them.
    """

    proximal: NonNegativeFloat = 2.0
    penalty: PositiveFloat = 1.0
    step_size: PositiveFloat = 0.01
    dual_step: PositiveFloat = 0.05
    smoothing: PositiveFloat = 0.5
    dual_bound: PositiveFloat = 10.0
    batch: PositiveInt = 8
    group_batch: PositiveInt = 8
    cyclic: bool = False


class SSLALM(Stochastic):
    """Benchmark of stochastic approximation algorithms, section 3, "SSL-ALM"."""

    name: ClassVar[str] = "ssl_alm"
    settings: ClassVar[type[Settings]] = SSLALMSettings

    def method(self, settings: Any, rows: Dataset, n_seeds: int) -> ssl_alm.SSLALM:
        """The solver."""
        names = ("proximal", "penalty", "step_size", "dual_step", "smoothing", "dual_bound", "group_batch", "cyclic")
        options = {name: getattr(settings, name) for name in names}
        return ssl_alm.SSLALM(**options, batch=None if settings.full_batch else settings.batch)


ALGORITHM = SSLALM()
"""SSL-ALM."""
