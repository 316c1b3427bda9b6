"""The workflow is killed at random moments and resumed: the results are those of an undisturbed run.

`make test-long` kills twice, and as often as PARTIALFAIR_KILLS says.
"""

import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from partialfair.data.dataset import Dataset, Split
from partialfair.data.files import is_sealed, read_json
from partialfair.models.stored import load_model
from tests.faults.lab import KILLS, Lab, kill, make_lab

pytestmark = pytest.mark.slow

SEED = 20


def readable(folder: Path) -> None:
    """Every file that bears its final name is whole."""
    for path in folder.rglob("*.*"):
        if path.name == "table.npz":
            Dataset.load(path)
        elif path.name.startswith("seed=") and path.suffix == ".npz":
            Split.load(path)
        elif path.name == "model.npz":
            load_model(path)
        elif path.name in ("fit.json", "metrics.json") and "runs" in path.parts:
            assert is_sealed(read_json(path)), path
        elif path.suffix == ".parquet" and ".partial" not in path.name:
            pq.read_table(path)


def living(folder: Path) -> list[str]:
    """Processes that work in a folder; those that are being killed can do nothing any more."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if Path(os.readlink(process / "cwd")) == folder and not dying(process):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return [command for command in found if command]


def dying(process: Path) -> bool:
    """Whether SIGKILL is on its way to a process, or has ended it: on a busy machine it may linger for a while."""
    status = (process / "status").read_text()
    pending = [int(mask, 16) for mask in re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)", status, re.MULTILINE)]
    return "State:\tZ" in status or any(mask >> (signal.SIGKILL - 1) & 1 for mask in pending)


def run_until_killed_or_done(lab: Lab, seconds: float) -> bool:
    """Start the workflow; kill it and all its jobs after some time. Return whether it was killed."""
    process = lab.start(*lab.workflow())
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() >= deadline:
            kill(process)
            return True
        time.sleep(0.02)
    output = process.stdout.read() if process.stdout else ""
    assert process.returncode == 0, output[-4000:]
    return False


def unlock(lab: Lab, as_told: bool) -> bool:
    """Remove the lock that was left behind: once as the message of the next run says, else as that command does.

    Returns whether there was one.
    """
    locks = lab.path(".snakemake/locks")
    if not (locks.is_dir() and any(locks.iterdir())):
        return False
    if as_told:
        told = lab.snakemake()
        assert told.returncode != 0 and "locked" in told.stdout and "--unlock" in told.stdout
        done = lab.snakemake("--unlock")
        assert done.returncode == 0, done.stdout
    for lock in list(locks.glob("*")):
        lock.unlink()
    return True


@pytest.mark.long(suite="kills")
def test_killed_and_resumed_runs_end_as_undisturbed_ones(finished: Lab, tmp_path: Path) -> None:
    expected = finished.results()
    duration = float((finished.folder / "seconds").read_text())
    rng = np.random.default_rng(SEED)
    killed, rounds, told = 0, 0, False
    while killed < KILLS:
        lab = make_lab(tmp_path / f"round{rounds}")
        rounds += 1
        # Short waits hit the start and the first jobs, long ones the last.
        while killed < KILLS and run_until_killed_or_done(lab, duration * rng.uniform(0.02, 0.7)):
            killed += 1
            print(f"kill {killed} in round {rounds}", flush=True)
            assert not living(lab.folder), "a job outlived the workflow"
            readable(lab.folder)
            told = unlock(lab, as_told=not told) or told
        done = lab.snakemake()
        assert done.returncode == 0, done.stdout[-4000:]
        found = lab.results()
        assert sorted(found) == sorted(expected)
        assert [name for name in expected if found[name] != expected[name]] == []
        assert lab.leftovers() == []
        print(f"round {rounds}: {len(found)} files as in the undisturbed run", flush=True)
    print(f"{killed} kills in {rounds} rounds; an undisturbed run takes {duration:.1f} s")
