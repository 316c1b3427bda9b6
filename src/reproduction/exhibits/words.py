"""Words for what the CSV of an exhibit holds: names of methods, datasets, lines and measures in place of keys."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from partialfair import plugins
from partialfair.errors import PartialFairError
from partialfair.metrics import get
from partialfair.metrics import names as metric_names
from reproduction.exhibits import style
from reproduction.exhibits.described import Say
from reproduction.grid.config import Config
from reproduction.verdicts.results import convention

OWN = {
    "ks_group_0": "KS distance of group 0", "ks_group_1": "KS distance of group 1", "absolute": "plain difference",
    "relative": "divided by the length of I", "difference": "difference of the groups' losses",
    "percentile99": "99th percentile", "percentile90": "90th percentile", "ndcg": "NDCG",
    "train": "training", "reproduced": "ours", "communities": "Communities and Crime", "a9a_whole": "a9a",
}  # fmt: skip
"""Values that no plug-in names."""


def of(config: Config, option: Callable[[str], Any]) -> Say:
    """Return what says a value of a column of an exhibit.

    Args:
        config: the grid.
        option: an option of the exhibit by its name; ``None`` if it is not given.
    """
    labels = {**(option("labels") or {}), **_series(option("series"))}
    datasets = option("dataset_titles") or {}

    def method(value: str) -> str:
        return labels.get(value) or _method(value)

    say: dict[str, Callable[[str], str]] = {
        "experiment": lambda value: _constraint(config, value),
        "dataset": lambda value: str(datasets.get(value) or OWN.get(value) or style.dataset_title(value)),
        "interval": lambda value: f"[{value.replace('-', ', ')}]" if value[:1].isdigit() else value,
        "metric": _measure, "measure": _measure,
    }  # fmt: skip
    say |= dict.fromkeys(("algorithm", "other", "series", "candidate"), method)
    return lambda column, value: say.get(column, _plain)(value)


def _series(entries: Any) -> dict[str, str]:
    """Labels of an option ``series`` that names its lines."""
    if not isinstance(entries, Mapping):
        return {}
    read = {name: entry if isinstance(entry, Mapping) else entry.model_dump() for name, entry in entries.items()}
    return {name: str(entry["label"]) for name, entry in read.items() if entry.get("label")}


def _plain(value: str) -> str:
    return OWN.get(value) or value.replace("_", " ")


def _method(value: str) -> str:
    return style.look(value).label if value in plugins.names("algorithms") else _plain(value)


def _measure(value: str) -> str:
    title = get(value).title if value in metric_names() else ""
    return re.sub(r"\^I\b", " on I", title) or _plain(value)


def _constraint(config: Config, value: str) -> str:
    """What an experiment constrains; empty where nothing says it in a word."""
    try:
        return convention(config.experiment(value).constraint).title
    except PartialFairError:
        return ""
