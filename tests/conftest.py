"""Fixtures shared by all tests; those that read real data need the folder named by PARTIALFAIR_DATA_MIRROR."""

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from partialfair import plugins
from partialfair.datasets.sources import MIRROR_VARIABLE
from partialfair.jobs.prepare import fetch
from partialfair.tables.dataset import Dataset
from tests import network


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"real_data: reads published datasets from the folder named by {MIRROR_VARIABLE}"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get(MIRROR_VARIABLE):
        return
    unavailable = [item for item in items if item.get_closest_marker("real_data")]
    if unavailable:
        config.hook.pytest_deselected(items=unavailable)
        items[:] = [item for item in items if not item.get_closest_marker("real_data")]


@pytest.fixture(scope="session", autouse=True)
def offline() -> Iterator[None]:
    """Every test runs without the network; see ``tests/network.py``."""
    with network.refused():
        yield


@pytest.fixture(scope="session")
def raw_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A raw root of this test run; the ``dataset`` fixture fills it from the mirror."""
    return tmp_path_factory.mktemp("raw")


@pytest.fixture(scope="session")
def dataset(raw_dir: Path) -> Callable[..., Dataset]:
    """``dataset("a9a", **options)``: a real dataset, read once per test run."""

    @cache
    def get(name: str, **options: Any) -> Dataset:
        fetch(name, raw_dir, offline=True)
        table: Dataset = plugins.load("datasets", name).load(raw_dir, **options)
        return table

    return get
