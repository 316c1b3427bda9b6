"""Settings of the regressor of equal distributions, checked before anything is fitted."""

import math
from collections.abc import Sized
from typing import Any

import numpy as np

from partialfair.data.missing_words import MISSING
from partialfair.estimators.inputs import InputError
from partialfair.estimators.promise import check_confidence
from partialfair.estimators.settings import boolean, integer, number, one_of

PREDICTIONS = ("sample", "mean", "mode")
TOLERANCES = ("ks", "atom")
MOST_GROUPS = 50
"""Without the group at prediction: 40 groups of 15 rows each take a second, 100 half a minute, 200 many minutes."""


def check_settings(regressor: Any, X_unlabeled: Any) -> None:
    """Refuse settings of :class:`partialfair.estimators.DemographicParityRegressor` that cannot be used.

    Raises:
        InputError: naming the setting, its value and what is accepted.
    """
    for name in ("prefit", "uses_group"):
        boolean(name, getattr(regressor, name))
    one_of("prediction", regressor.prediction, PREDICTIONS)
    one_of("tolerance", regressor.tolerance, TOLERANCES)
    _check_epsilon(regressor.epsilon, regressor.tolerance)
    if regressor.beta is not None:
        number("beta", regressor.beta, lambda beta: 0 < beta < math.inf, "a positive number, or None")
    if regressor.n_half_atoms is not None:
        integer("n_half_atoms", regressor.n_half_atoms)
    if regressor.bounds is not None and not _are_bounds(regressor.bounds):
        raise InputError(f"bounds are {regressor.bounds!r}; use the smallest and the largest prediction, or None")
    if regressor.prefit and regressor.regressor is None:
        raise InputError("prefit is true and there is no regressor; pass the fitted one, or set prefit to False")
    check_confidence(regressor.confidence, regressor.promise_fraction)
    one_of("missing", regressor.missing, MISSING)
    if regressor.confidence is not None and regressor.tolerance == "atom":
        raise InputError("tolerance='atom' has no bound for new rows; use tolerance='ks', or confidence=None")
    if regressor.confidence is not None and not regressor.uses_group and regressor.promise_fraction == 0:
        raise InputError("promise_fraction is 0, and confidence needs rows that test the predictions; use 0.5, say")
    if regressor.uses_group and regressor.tolerance == "atom":
        raise InputError("tolerance='atom' is a bound without the group; use tolerance='ks' with uses_group")
    if regressor.uses_group and X_unlabeled is not None:
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
    for bound in epsilon if several else [epsilon]:
        number("epsilon", bound, lambda distance: distance >= 0, "0 or a positive number")


def _are_bounds(bounds: Any) -> bool:
    try:
        low, high = (number("bounds", end, math.isfinite, "numbers") for end in bounds)
    except (TypeError, ValueError):
        return False
    return low < high
