"""Table -> split: by the rule of the dataset's module, which may draw its rows itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from partialfair import plugins
from partialfair.data.dataset import Dataset, Split
from partialfair.errors import PluginError
from partialfair.plugins import run_plugin
from reproduction.datasets.named import named_dataset
from reproduction.jobs import prepare


def split(table: str | Path, seed: int, out: str | Path, options: Mapping[str, Any] | None = None) -> Split:
    """Divide a prepared table and write the row numbers to ``out``.

    A dataset module that binds ``split(data, seed, **options)`` draws the rows; proportions given by the entry in
    ``params.yaml`` go before it. All others are divided by :func:`reproduction.jobs.prepare.split`.

    Args:
        table: prepared table.
        seed: seed of the experiment.
        out: path of the ``.npz`` file to write.
        options: the dataset's entry in ``params.yaml``.

    Raises:
        DataError: the table is unreadable, or a part would lack a group or label.
        PluginError: the module returns something else than a split.
    """
    entry = dict(options or {})
    data = Dataset.load(table)
    if not entry and data.name not in plugins.names("datasets"):
        return prepare.split(table, seed, out, options)
    named = named_dataset(data.name, entry)
    draw = getattr(named.module, "split", None)
    if draw is None or "split" in entry:
        return prepare.split(table, seed, out, options)
    made = run_plugin(f"dataset {named.name!r}: split", named.module.__file__, draw, data, seed, **named.options)
    if not isinstance(made, Split):
        raise PluginError(f"{named.module.__file__}: split returned {type(made).__name__}, not a Split; correct it")
    made.save(out)
    return Split.load(out, data.n_rows)
