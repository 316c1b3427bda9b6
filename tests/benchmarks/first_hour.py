"""What a newcomer's first hour takes: `make demo`, then one seed of an exhibit of each paper, from a bare clone.

    python tests/benchmarks/first_hour.py [EXHIBIT ...] [--keep FOLDER]

Each command has to end well, to take no more processor time than its forecast and half as much again, and to leave
`git status` clean. Processor time is compared, since other programs share the machine.
Exit status 1 if a bar is missed.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXHIBITS = ("figure1", "auc_figure1", "plada_figure1", "stochastic_figure1", "dp_figure3")
"""An exhibit of each paper."""
SLACK = 1.5
_COST = re.compile(r"\((?P<recorded>[\d.,]+) processor minutes as recorded; this machine is (?P<speed>[\d.]+) times")


@dataclass(frozen=True)
class Timed:
    """A command that has ended.

    Attributes:
        status: its exit status.
        wall: minutes by the clock.
        processor: minutes of processor time, of all its processes.
        forecast: minutes of processor time that it said it would take here; ``None`` if it said nothing.
        outcome: the last line that it printed but for the address of its page.
        changed: what `git status` says afterwards.
    """

    status: int
    wall: float
    processor: float
    forecast: float | None
    outcome: str
    changed: str

    @property
    def is_good(self) -> bool:
        """Whether all bars are met."""
        in_time = self.forecast is not None and self.processor <= SLACK * self.forecast
        return self.status == 0 and in_time and not self.changed


def forecast(text: str) -> float | None:
    """Return the processor minutes that the output of a run forecasts for this machine."""
    found = _COST.search(text)
    return None if found is None else float(found["recorded"].replace(",", "")) / float(found["speed"])


def timed(command: list[str], clone: Path, environment: dict[str, str]) -> Timed:
    """Run a command in a clone."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=clone, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True
    ).stdout
    lines = [line for line in done.stdout.splitlines() if line.strip() and not line.startswith("page: ")]
    outcome = lines[-1] if lines else ""
    return Timed(
        done.returncode, (time.monotonic() - began) / 60, spent / 60, forecast(done.stdout), outcome, status.strip()
    )


def main() -> int:
    """Clone, install, time; print a line per command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exhibits", nargs="*", default=EXHIBITS)
    parser.add_argument("--keep", type=Path, help="clone into this folder, and keep it")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        clone = chosen.keep or Path(scratch, "partialfair")
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", str(clone)], check=True)
        environment = {name: text for name, text in os.environ.items() if name not in {"PYTHONPATH", "NUMBA_CACHE_DIR"}}
        offline = {name: text for name, text in environment.items() if name != "PARTIALFAIR_DATA_MIRROR"}
        installed = timed(["make", ".venv/.torch"], clone, environment)
        print(f"installation: {installed.wall:.1f} minutes, {installed.processor:.1f} of processor time", flush=True)
        if installed.status:
            print(installed.outcome, file=sys.stderr)
            return 1
        commands = {"make demo": (["make", "demo"], offline)}
        commands |= {f"make {name}": (["make", name], environment) for name in chosen.exhibits}
        good = True
        for name, (command, variables) in commands.items():
            one = timed(command, clone, variables)
            good &= one.is_good
            ratio = "no forecast" if one.forecast is None else f"{one.processor / one.forecast:.2f} of the forecast"
            print(f"{name}: {one.wall:.1f} minutes, {one.processor:.1f} of processor time, {ratio}; {one.outcome}")
            print(f"  MISSED: status {one.status}, changed: {one.changed or 'nothing'}\n" * (not one.is_good), end="")
            sys.stdout.flush()
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
