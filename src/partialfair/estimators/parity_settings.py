"""Settings of the regressor of equal distributions, checked before anything is fitted."""

import math
from collections.abc import Sized
from numbers import Real
from typing import Any

import numpy as np

from partialfair.estimators.inputs import InputError
from partialfair.estimators.promise import check_confidence
from partialfair.estimators.settings import boolean, number, one_of, whole

PREDICTIONS = ("sample", "mean", "mode")
TOLERANCES = ("ks", "atom")
MOST_GROUPS = 50
"""Without the group at prediction: 40 groups of 15 rows each take a second, 100 half a minute, 200 many minutes."""


def check_settings(own: Any, X_unlabeled: Any) -> None:
    """Refuse settings of :class:`partialfair.estimators.DemographicParityRegressor` that cannot be used.

    Raises:
        InputError: naming the setting, its value and what is accepted.
    """
    for name in ("prefit", "uses_group"):
        boolean(name, getattr(own, name))
    one_of("prediction", own.prediction, PREDICTIONS)
    one_of("tolerance", own.tolerance, TOLERANCES)
    _check_epsilon(own.epsilon, own.tolerance)
    if own.beta is not None:
        number("beta", own.beta, lambda beta: 0 < beta < math.inf, "a positive number, or None")
    if own.n_half_atoms is not None:
        whole("n_half_atoms", own.n_half_atoms)
    if own.bounds is not None and not _are_bounds(own.bounds):
        raise InputError(f"bounds are {own.bounds!r}; use the smallest and the largest prediction, or None")
    if own.prefit and own.regressor is None:
        raise InputError("prefit is true and there is no regressor; pass the fitted one, or set prefit to False")
    check_confidence(own.confidence, own.promise_fraction)
    if own.confidence is not None and own.tolerance == "atom":
        raise InputError("tolerance='atom' has no bound for new rows; use tolerance='ks', or confidence=None")
    if own.confidence is not None and not own.uses_group and own.promise_fraction == 0:
        raise InputError("promise_fraction is 0, and confidence needs rows that test the predictions; use 0.5, say")
    if own.uses_group and own.tolerance == "atom":
        raise InputError("tolerance='atom' is a bound without the group; use tolerance='ks' with uses_group")
    if own.uses_group and X_unlabeled is not None:
        raise InputError("X_unlabeled comes without groups, which uses_group needs; pass more rows to partial_fit")


def check_number_of_groups(groups: Sized | None, uses_group: bool) -> None:
    """Refuse more groups than the fairness step without the group can make alike in a reasonable time.

    Raises:
        InputError: with the number of groups and what to do.
    """
    if groups is not None and not uses_group and len(groups) > MOST_GROUPS:
        raise InputError(
            f"sensitive_features has {len(groups)} groups; without the group at prediction at most {MOST_GROUPS} are "
            "made alike, as the time grows steeply with their number; merge groups, leave out a column that tells rows "
            "apart, or set uses_group to True"
        )


def _check_epsilon(epsilon: Any, tolerance: str) -> None:
    several = np.ndim(epsilon) == 1
    if several and tolerance == "ks":
        raise InputError("epsilon has one number per group, which only tolerance='atom' takes; give one number")
    for one in epsilon if several else [epsilon]:
        if isinstance(one, bool) or not isinstance(one, Real) or not float(one) >= 0:
            raise InputError(f"epsilon is {epsilon!r}; give 0 or a positive number")


def _are_bounds(bounds: Any) -> bool:
    try:
        low, high = (number("bounds", end, math.isfinite, "numbers") for end in bounds)
    except (TypeError, ValueError):
        return False
    return low < high
