"""ALM of the benchmark of stochastic methods: SSL-ALM without its proximal term (mu = 0)."""

from pydantic import Field

from papers.stochastic_benchmark.algorithms.ssl_alm import SmoothedSteps, SSLALMSettings
from papers.stochastic_benchmark.algorithms.stochastic_tasks import Stochastic
from partialfair.algorithms.contract import PlotStyle
from partialfair.data.dataset import Dataset


class StochasticALMSettings(SSLALMSettings):
    """Settings of SSL-ALM; smoothing plays no part."""

    proximal: float = Field(0.0, ge=0, le=0)


class StochasticALM(Stochastic[StochasticALMSettings]):
    """The stochastic linearised augmented Lagrangian method."""

    settings = StochasticALMSettings
    label = "ALM (stochastic)"
    paper = "Benchmark of stochastic approximation algorithms, section 4.2"
    look = PlotStyle("#D55E00", "s", (0, (5, 1.5)))

    def method(self, settings: StochasticALMSettings, rows: Dataset, n_seeds: int) -> SmoothedSteps:
        """SSL-ALM's steps with these settings, whose proximal weight is 0."""
        return SmoothedSteps(settings)


ALGORITHM = StochasticALM()
