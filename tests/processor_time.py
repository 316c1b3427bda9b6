"""Processor seconds of every test, its processes included: `pytest -p tests.processor_time` lists the dearest modules.

Wall time says little on a machine that does other things; the budget of `make test` is kept in processor seconds.
Set-up and tear-down count for the test that needed them; what ends after its test counts for a later one.
"""

import os
from collections import Counter
from collections.abc import Iterator

import pytest

PROPERTY = "processor_seconds"
SHOWN = 40


def _seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Note the seconds before the test's first phase; :func:`pytest_runtest_makereport` reports them after the last."""
    item.stash[_START] = _seconds()
    return (yield)


_START = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Add the seconds to the report of the last phase, which pytest-xdist sends to the process that prints."""
    report = yield
    if report.when == "teardown":
        report.user_properties.append((PROPERTY, _seconds() - item.stash[_START]))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the dearest modules and their dearest tests."""
    tests = {
        report.nodeid: seconds
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "teardown"
        for name, seconds in report.user_properties
        if name == PROPERTY
    }
    modules: Counter[str] = Counter()
    for nodeid, seconds in tests.items():
        modules[nodeid.partition("::")[0]] += seconds
    terminalreporter.section(f"processor time: {sum(tests.values()):.0f} s")
    for module, seconds in modules.most_common(SHOWN):
        dearest = max((nodeid for nodeid in tests if nodeid.startswith(f"{module}::")), key=tests.__getitem__)
        terminalreporter.write_line(f"{seconds:7.1f} {module}: {tests[dearest]:.1f} {dearest.partition('::')[2]}")
