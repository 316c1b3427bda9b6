"""What some tests need of the machine: where it is missing they are skipped, or fail if it is demanded."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from partialfair import plugins
from partialfair.errors import DataError
from reproduction.jobs.prepare import fetch

DEMANDED = "PARTIALFAIR_REQUIRE"
"""Environment variable: words for what must be there; `.ci/run` sets it.

The words are data, browser, emulator, cluster, and downloads: of the data, the needed files that have an address.
"""


def is_demanded(what: str) -> bool:
    """Whether tests that lack something are to fail; of several words, one is enough."""
    return not set(what.split()).isdisjoint(os.environ.get(DEMANDED, "").split())


def lack(what: str, reason: str) -> NoReturn:
    """End a test that lacks something."""
    if is_demanded(what):
        pytest.fail(f"{reason}; {DEMANDED} demands it", pytrace=False)
    pytest.skip(reason)


def raw_files(dataset: str, raw_dir: Path, extras: bool = False) -> None:
    """Bring the raw files of a dataset from the mirror, or end the test if the mirror lacks them."""
    try:
        fetch(dataset, raw_dir, extras=extras, offline=True)
    except DataError as error:
        if "nor in a mirror" not in str(error):
            raise
        files = plugins.load("datasets", dataset).SPEC.files
        has_address = all(file.url for file in files if file.needed) and not extras  # `make data` does without extras
        lack("data downloads" if has_address else "data", str(error))
