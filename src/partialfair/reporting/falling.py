"""Scorecard lines of a violation that falls with every tightening of kappa, as several figures are meant to show."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from partialfair.reporting import style
from partialfair.reporting.exhibit import Context
from partialfair.verdicts import statements
from partialfair.verdicts.results import Setting


def tightening(context: Context[Any], algorithm: str, kappas: Mapping[str, list[float]]) -> dict[str, list[Setting]]:
    """Settings by dataset: the unconstrained model, then those of ``kappas`` from the loosest on."""
    experiment = context.experiments[0]
    return {
        dataset: [
            Setting(experiment, dataset, "unconstrained", math.inf),
            *(Setting(experiment, dataset, algorithm, float(kappa)) for kappa in sorted(own, reverse=True)),
        ]
        for dataset, own in kappas.items()
    }


def falling(
    context: Context[Any], shown: dict[str, list[Setting]], scale: str, metric: str, statement: str
) -> list[dict[str, Any]]:
    """Scorecard lines of a violation that falls from each setting to the next, by paired differences over seeds.

    Args:
        context: of the exhibit.
        shown: settings by dataset, tightening.
        scale: ``absolute`` or ``relative``: which reading of the violation falls.
        metric: name of the fall, for the scorecard.
        statement: with ``{before}`` for the looser setting.
    """
    lines = []
    for panel in shown.values():
        for before, after in zip(panel, panel[1:], strict=False):
            name = getattr(context.convention(after.experiment), scale)
            old, new = (statements.by_seed(context.results, one, name) for one in (before, after))
            fall = statements.differences(old, new)
            note = "; ".join(filter(None, [_means(name, old, new), _missing(context, before, after)]))
            words = statement.format(before=style.kappa_words(before.kappa))
            lines.append(statements.line(context, after, metric, words, fall, note))
    return lines


def _means(name: str, old: dict[int, float], new: dict[int, float]) -> str:
    if not old or not new:
        return ""
    return f"{name} on test {np.mean(list(old.values())):.4f} -> {np.mean(list(new.values())):.4f}"


def _missing(context: Context[Any], *settings: Setting) -> str:
    reasons = {context.results.reason(one) for one in settings} - {""}
    return "; ".join(sorted(reasons))
