"""What the verification rests on: its processes, its list of breaks, and DVC's records."""

import os
import signal
import sys
from pathlib import Path

import pytest

from partialfair.errors import DataError, ResourceError
from reproduction.verify import Chain, Fault
from reproduction.verify.recorded_files import RecordedFiles


def test_a_killed_process_ends_the_check_with_a_sentence() -> None:
    """As the system does for want of memory: the check waited for ever."""

    def look(chain: Chain, number: int) -> int:
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    if sys.platform != "linux" or len(os.sched_getaffinity(0)) == 1:
        pytest.skip("one process looks at all")
    with pytest.raises(ResourceError, match="a process that looked at numbers was killed"):
        Chain().check_all(look, range(6), "numbers")


def test_a_break_is_named_once_and_by_what_was_found_first() -> None:
    chain, other = Chain(), Chain()
    for one, problem in ((chain, "first"), (chain, "second"), (other, "third")):
        one.broken("a.csv", Fault.DAMAGED, problem, "")
    other.broken("b.csv", Fault.MISSING, "fourth", "")
    chain.take(other)
    assert [(found.path, found.problem) for found in chain.breaks] == [("a.csv", "first"), ("b.csv", "fourth")]
    assert chain.is_broken(["c.csv", "b.csv"]) and not chain.is_broken(["c.csv"])


@pytest.mark.parametrize("text", ["stages:\n  data:\n    outs:\n    - pa", "stages: [1", "stages:\n  data: 3"])
def test_what_dvc_has_half_written_is_one_sentence(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert RecordedFiles.read() == RecordedFiles()
    Path("dvc.lock").write_text(text)
    with pytest.raises(DataError, match=r"dvc\.lock: not what DVC writes.*git checkout dvc\.lock"):
        RecordedFiles.read()
    Path("dvc.lock").write_text("stages:\n  data:\n    outs:\n    - {path: reports, md5: 0123.dir}\n")
    assert RecordedFiles.read() == RecordedFiles()
    listed = Path(".dvc/cache/files/md5/01/23.dir")
    listed.parent.mkdir(parents=True)
    listed.write_text('[{"relpath": "a.csv", "md')
    with pytest.raises(DataError, match=r"01/23\.dir: not what DVC writes.*delete it, and run `dvc pull`"):
        RecordedFiles.read()
