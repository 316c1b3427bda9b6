"""Datasets by name, from the houses that are installed: ``from partialfair.datasets import csv_table``."""

from typing import Any

from partialfair import plugins
from partialfair.errors import PluginError


def __getattr__(name: str) -> Any:
    """Return the module of a dataset.

    Raises:
        AttributeError: no distribution that is installed has such a dataset.
    """
    try:
        return plugins.load("datasets", name)
    except PluginError as error:
        raise AttributeError(str(error)) from error
