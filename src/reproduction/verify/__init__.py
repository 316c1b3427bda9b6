"""Whether every number in ``reports/`` follows from the raw data, the settings, the source and the locked packages."""

from reproduction.verify.chain import Break, Chain, Fault, Link
from reproduction.verify.verify import verify

__all__ = ["Break", "Chain", "Fault", "Link", "verify"]
