"""The command line leaves out the settings of the workflow where NumPy may crash under them."""

import pytest

from partialfair.commands import cli


@pytest.mark.parametrize(
    ("version", "may_crash"),
    [("2.2.0", False), ("2.5.1", False), ("2.5.2", True), ("2.5.5", True), ("2.6.0rc1", True), ("3.0.0", True)],
)
def test_settings_are_for_releases_that_bear_them(version: str, may_crash: bool, monkeypatch: pytest.MonkeyPatch):
    settled: list[bool] = []
    monkeypatch.setattr(cli.metadata, "version", lambda name: version)
    monkeypatch.setattr(cli.processor, "settle", lambda: settled.append(True))
    monkeypatch.setattr(cli, "app", lambda: None)
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
    cli.main()
    assert bool(settled) is not may_crash
