"""Words for what the CSV of an exhibit holds: names of methods, datasets, lines and measures in place of keys."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from partialfair import plugins
from partialfair.errors import PartialFairError
from partialfair.metrics import get
from partialfair.metrics import names as metric_names
from reproduction.exhibits import style
from reproduction.exhibits.descriptions import Wording
from reproduction.grid.config import Config
from reproduction.verdicts.results import convention

VALUE_TITLES = {
    "ks_group_0": "KS distance of group 0", "ks_group_1": "KS distance of group 1", "absolute": "plain difference",
    "relative": "divided by the length of I", "difference": "difference of the groups' losses",
    "percentile99": "99th percentile", "percentile90": "90th percentile", "ndcg": "NDCG",
    "train": "training", "reproduced": "ours", "communities": "Communities and Crime", "a9a_whole": "a9a",
}  # fmt: skip
"""Values that no plug-in names."""


def title_function(config: Config, option: Callable[[str], Any]) -> Wording:
    """Return the function that gives a value of a column of an exhibit its title.

    Args:
        config: the grid.
        option: an option of the exhibit by its name; ``None`` if it is not given.
    """
    labels = {**(option("labels") or {}), **_series_labels(option("series"))}
    datasets = option("dataset_titles") or {}

    def method(value: str) -> str:
        return labels.get(value) or _method_title(value)

    title_functions: dict[str, Callable[[str], str]] = {
        "experiment": lambda value: _constraint_title(config, value),
        "dataset": lambda value: str(datasets.get(value) or VALUE_TITLES.get(value) or style.dataset_title(value)),
        "interval": lambda value: f"[{value.replace('-', ', ')}]" if value[:1].isdigit() else value,
        "metric": measure_title, "measure": measure_title,
    }  # fmt: skip
    title_functions |= dict.fromkeys(("algorithm", "other", "series", "candidate"), method)
    return lambda column, value: title_functions.get(column, _plain_title)(value)


def _series_labels(entries: Any) -> dict[str, str]:
    """Return the labels of an option ``series`` that names its lines."""
    if not isinstance(entries, Mapping):
        return {}
    options = {name: entry if isinstance(entry, Mapping) else entry.model_dump() for name, entry in entries.items()}
    return {name: str(entry["label"]) for name, entry in options.items() if entry.get("label")}


def _plain_title(value: str) -> str:
    return VALUE_TITLES.get(value) or value.replace("_", " ")


def _method_title(value: str) -> str:
    return style.plot_style(value).label if value in plugins.names("algorithms") else _plain_title(value)


def measure_title(value: str) -> str:
    """Return the title of a metric, or of another measure, in plain text."""
    title = get(value).title if value in metric_names() else ""
    return re.sub(r"\^I\b", " on I", title) or _plain_title(value)


def _constraint_title(config: Config, value: str) -> str:
    """Return the title of what an experiment constrains; empty where its constraint has none."""
    try:
        return convention(config.experiment(value).constraint).title
    except PartialFairError:
        return ""
