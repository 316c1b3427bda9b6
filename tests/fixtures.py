"""Fixtures shared by all tests; those that read real data need the folder named by PARTIALFAIR_DATA_MIRROR."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from partialfair import plugins
from partialfair.data.dataset import Dataset
from reproduction.datasets.sources import MIRROR_VARIABLE
from tests import needs, network

NO_DATA = f"no real data: {MIRROR_VARIABLE} names no folder"


settings.register_profile("no time limit", deadline=None)  # an example that is slow on a busy machine is no failure
settings.load_profile("no time limit")


def pytest_configure(config: pytest.Config) -> None:
    # Started in the background of a script, pytest and all its children would ignore interrupts, which tests send.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", f"real_data: reads published datasets from the folder named by {MIRROR_VARIABLE}"
    )


def lacks_data(item: pytest.Item) -> bool:
    """Whether a test reads real data that are not here."""
    return item.get_closest_marker("real_data") is not None and not os.environ.get(MIRROR_VARIABLE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The modules that take minutes begin, or one of them would still run when all other processes have ended.
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, item.path.parent.name != "workflow"))
    for item in filter(lacks_data, items):
        if not needs.is_demanded("data downloads"):  # a mark, so that the summary names the test
            item.add_marker(pytest.mark.skip(reason=NO_DATA))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if lacks_data(item):
        needs.lack("data downloads", NO_DATA)


@pytest.fixture(autouse=True)
def broken_pipes_are_errors() -> Iterator[None]:
    """Undo what the command line sets for itself: a later test that writes to a process which has ended would die."""
    yield
    if hasattr(signal, "SIGPIPE") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


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
        needs.raw_files(name, raw_dir)
        table: Dataset = plugins.load("datasets", name).load(raw_dir, **options)
        return table

    return get
