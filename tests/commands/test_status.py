"""Exit statuses: 2 for what a person can act on, 3 for a fault of the program; neither looks like a failed gate."""

import pytest

from partialfair.commands import cli
from partialfair.errors import DataError


def ends(monkeypatch: pytest.MonkeyPatch, error: Exception) -> object:
    """The exit status of a command in which an error occurs."""

    def failing() -> None:
        raise error

    monkeypatch.setattr(cli, "app", failing)
    with pytest.raises(SystemExit) as found:
        cli.main()
    return found.value.code


def test_what_a_person_can_act_on_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert ends(monkeypatch, DataError("no such column")) == 2
    assert capsys.readouterr().err == "partialfair: no such column\n"
    assert ends(monkeypatch, PermissionError(13, "Permission denied", "/proc/x")) == 2
    said = capsys.readouterr().err
    assert said.startswith("partialfair: /proc/x: Permission denied") and "Traceback" not in said


def test_a_fault_of_the_program_is_no_failed_gate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert ends(monkeypatch, ZeroDivisionError("division by zero")) == cli.FAULT == 3
    said = capsys.readouterr().err
    assert "ZeroDivisionError" in said and said.endswith("partialfair: the program failed; nothing was judged\n")
