"""ALM of the benchmark of stochastic methods: SSL-ALM without its proximal term (mu = 0)."""

from typing import ClassVar

from pydantic import Field

from partialfair.algorithms.contract import Settings
from partialfair.algorithms.stochastic.ssl_alm import SSLALM, SSLALMSettings


class StochasticALMSettings(SSLALMSettings):
    """Settings of SSL-ALM; smoothing plays no part."""

    proximal: float = Field(0.0, ge=0, le=0)


class StochasticALM(SSLALM):
    """Benchmark of stochastic approximation algorithms, section 4.2, "ALM"."""

    name: ClassVar[str] = "stochastic_alm"
    settings: ClassVar[type[Settings]] = StochasticALMSettings


ALGORITHM = StochasticALM()
"""ALM (stochastic)."""
