"""What the executor asks: the rehearsal."""

import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from partialfair.errors import ResourceError
from reproduction.commands import warm


def test_a_rehearsal_leaves_no_trace_but_the_mark_of_a_filled_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    here = []
    monkeypatch.setattr(warm, "_rehearse", lambda real=warm._rehearse: (here.append(1), real()))
    monkeypatch.setattr(warm, "_mark", lambda: tmp_path / "cache" / "mark")
    warm.rehearse()
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(warm.multiprocessing, "get_context", None)  # no other process is needed from now on
    warm.rehearse()
    assert len(here) == 2


@pytest.mark.parametrize("death", [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: os._exit(3)])
def test_a_rehearsal_that_died_leaves_no_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, death: Callable[[], None]
):
    here = os.getpid()
    monkeypatch.setattr(warm, "_rehearse", lambda: None if os.getpid() == here else death())
    monkeypatch.setattr(warm, "_mark", lambda: tmp_path / "cache" / "mark")
    with pytest.raises(ResourceError, match=r"ended with exit code (-9|3); each job compiles what it needs"):
        warm.rehearse()
    assert not any(tmp_path.iterdir())
