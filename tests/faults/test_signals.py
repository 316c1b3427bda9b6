"""`partialfair run` is stopped by a signal: it says so in a sentence, and the same command or `resume` goes on."""

import os
import re
import signal
import sys
import time

import pytest

from tests.faults.lab import LIMIT, ROOT, Lab, kill, params

pytestmark = pytest.mark.slow

SEEDS = [0, 1, 2]
RUN = (sys.executable, "-m", "partialfair", "run", "demo", "--cores", "1")


@pytest.fixture
def checkout(lab: Lab) -> Lab:
    """The lab as a checkout, in which `partialfair run` finds the workflow."""
    for name in ("Snakefile", "workflow", "profiles", "papers"):
        lab.path(name).symlink_to(ROOT / name)
    # Many more steps than are done before the signals; those of seed 0 are those of the finished workflow.
    lab.write_params(params() | {"seeds": SEEDS})
    return lab


def stopped(lab: Lab, number: int) -> tuple[int, str, int, int]:
    """Start a run, send it a signal after its first step; return its status, what it said, steps done and planned."""
    process, log = lab.start(*RUN), lab.path("logs/run.log")
    try:
        deadline = time.monotonic() + LIMIT
        while not (log.is_file() and re.search(r"^[1-9]\d* of \d+ steps", log.read_text(), re.MULTILINE)):
            assert process.poll() is None and time.monotonic() < deadline, process.communicate()[0]
            time.sleep(0.02)
        # As from a terminal, to all: sent to the command alone, an interrupt is held back for some seconds.
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        said, _ = process.communicate(timeout=LIMIT)
    finally:
        if process.poll() is None:
            kill(process)
    done, planned = re.findall(r"^(\d+) of (\d+) steps", log.read_text(), re.MULTILINE)[-1]
    return process.returncode, said, int(done), int(planned)


@pytest.mark.long(suite="kills")
def test_a_stopped_run_says_so_and_goes_on(checkout: Lab, finished: Lab) -> None:
    left = 1000
    for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        checkout.path("logs/run.log").unlink(missing_ok=True)
        found, said, done, planned = stopped(checkout, number)
        assert found == status, said
        steps = rf"{done} of {planned} steps are done"
        sentence = rf"stopped by {number.name}: {steps}; `partialfair run demo --cores 1` continues; .*logs/run\.log\n"
        assert re.search(sentence + r"\Z", said), said
        assert "Traceback" not in said and "failed" not in said and "Error" not in said
        assert not any(checkout.path(".snakemake/locks").glob("*"))
        assert planned <= left  # what was done before is not planned again
        left = planned - done
    resumed = checkout.cli("resume")
    assert resumed.returncode == 0, resumed.stdout[-3000:]
    found, wanted = checkout.results(), finished.results()
    # The table and every run of the seed that both have; the exhibits are of other seeds.
    common = [name for name in wanted if not name.startswith("reports/") and name.endswith((".npz", "scores.parquet"))]
    assert len(common) > 3
    assert {name: found[name] for name in common} == {name: wanted[name] for name in common}
