"""What some tests need of the machine: where it is missing they are skipped, or fail if it is demanded."""

import os
from typing import NoReturn

import pytest

DEMANDED = "PARTIALFAIR_REQUIRE"
"""Environment variable: words for what must be there, of data, browser, emulator and cluster; `.ci/run` sets it."""


def is_demanded(what: str) -> bool:
    """Whether tests that lack something are to fail."""
    return what in os.environ.get(DEMANDED, "").split()


def lack(what: str, reason: str) -> NoReturn:
    """End a test that lacks something."""
    if is_demanded(what):
        pytest.fail(f"{reason}; {DEMANDED} demands it", pytrace=False)
    pytest.skip(reason)
