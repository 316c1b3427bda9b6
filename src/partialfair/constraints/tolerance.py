"""Tolerances of constraints: the scales of kappa, and the slack that kappa gives every group."""

import numpy as np
from numpy.typing import NDArray

from partialfair.data.intervals import GroupPairs, measure
from partialfair.errors import ConfigError

KAPPA_SCALES = ("relative", "absolute")


def check_tolerance(kappa: float, kappa_scale: str) -> None:
    """Refuse a tolerance or a scale that cannot be used.

    Raises:
        ConfigError: kappa is not positive, or there is no such scale.
    """
    if kappa_scale not in KAPPA_SCALES:
        raise ConfigError(f"kappa_scale is {kappa_scale!r}; use one of {', '.join(KAPPA_SCALES)}")
    if not kappa > 0:
        raise ConfigError(f"kappa is {kappa}; use a positive number (infinity means no constraint)")


def slack_per_group(intervals: GroupPairs, kappa: float, kappa_scale: str) -> NDArray[np.float64]:
    """Slack of each group's constraints, (G,): kappa, or kappa times the length of the group's interval.

    Raises:
        ConfigError: kappa is not positive, or there is no such scale.
    """
    check_tolerance(kappa, kappa_scale)
    lengths = np.array([measure(pairs) for pairs in intervals])
    return np.full(len(intervals), kappa) if kappa_scale == "absolute" else kappa * lengths
