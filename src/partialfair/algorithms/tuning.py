"""The choice among candidates: written here once, with every rule by which the algorithms choose.

A rule is data. Whoever tunes computes the qualities of the candidates, mostly on validation rows, and names the rule;
to change a protocol is to change an entry below.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partialfair.data.dataset import Dataset
from partialfair.errors import NotEstimableError


@dataclass(frozen=True)
class Rule:
    """An order of candidates by their qualities.

    Attributes:
        prefer: qualities in order of importance; a minus before the name asks for large values, else small ones.
        within: a quality that is to be at most the limit; candidates that meet it come before all others.
        otherwise: order of those that do not; by default the smallest ``within``.
    """

    prefer: tuple[str, ...]
    within: str | None = None
    otherwise: tuple[str, ...] = ()


MOST_ACCURATE = Rule(("-validation_accuracy",))
"""Most accurate on validation rows."""

VALIDATION_ACCURACY = Rule(("-validation_accuracy", "violation"))
"""Most accurate on validation rows; ties take the smaller violation of the training constraints (or penalised loss)."""

LOWEST_LOSS_WITHIN = Rule(("loss",), within="violation")
"""Lowest training loss among the candidates within the limit, else the smallest violation."""

ACCURATE_WITHIN = Rule(("-validation_accuracy", "violation"), "violation", ("violation", "-validation_accuracy"))
"""Most accurate on validation rows among the candidates within the limit, else the smallest violation."""

AUC_WITHIN = Rule(("-auc",), within="gap")
"""Largest AUC on validation rows among the candidates whose gap there is within the limit, else the smallest gap."""


@dataclass(frozen=True)
class Choice:
    """The place of the chosen candidate, and whether it is within the limit of the rule."""

    index: int
    within: bool


def select(
    qualities: Mapping[str, ArrayLike],
    rule: Rule,
    *,
    limit: float = np.inf,
    allowed: Sequence[bool] | NDArray[np.bool_] | None = None,
) -> Choice:
    """Choose a candidate; of those that are equal the first.

    Args:
        qualities: by name, one number (n,) per candidate. A candidate with a number that is not finite is not chosen.
        rule: names those that count.
        limit: of the quality ``rule.within``.
        allowed: (n,) candidates to choose from; by default all.

    Raises:
        NotEstimableError: there is no such candidate.
    """
    columns = {name: np.asarray(values, np.float64) for name, values in qualities.items()}
    names = [name.removeprefix("-") for name in (*rule.prefer, *rule.otherwise)] + (
        [rule.within] if rule.within else []
    )
    usable = np.all([np.isfinite(columns[name]) for name in names], axis=0)
    if allowed is not None:
        usable &= np.asarray(allowed, bool)
    if not usable.any():
        raise NotEstimableError("no candidate has finite qualities; use smaller steps")
    within = usable if rule.within is None else usable & (columns[rule.within] <= limit)
    met = bool(within.any())
    places = np.flatnonzero(within if met else usable)
    order = rule.prefer if met else rule.otherwise or (rule.within or "",)
    keys = [-columns[name[1:]] if name.startswith("-") else columns[name] for name in order]
    return Choice(int(places[np.lexsort([key[places] for key in reversed(keys)])[0]]), met)


def accuracy(model: Any, rows: Dataset) -> float:
    """Share of rows that a model puts on the right side of threshold 0."""
    scores = model.scores(rows.X, rows.group)
    return float(np.mean(np.where(scores > 0, 1.0, -1.0) == rows.y))
