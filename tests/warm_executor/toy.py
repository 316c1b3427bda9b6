"""A small project with a Snakefile and a module of its own, for the plugins to work on."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).with_name("project")
SOURCE = Path(__file__).parents[2] / "src"
WARM = ["--scheduler", "greedy", "--executor", "warm", "--warm-module", "toy", "--warm-preload", "toy.library"]


class Toy:
    """The project in a folder; starts Snakemake there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(PROJECT, folder, dirs_exist_ok=True)

    def rules(self, text: str) -> None:
        """Write the Snakefile."""
        (self.folder / "Snakefile").write_text('include: "probe.smk"\n' + text)

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        return {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(self.folder)])}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start Snakemake in a session of its own, with its output in a file."""
        command = [sys.executable, "-m", "snakemake", "--cores", "4", *arguments]
        with (self.folder / "output.txt").open("w") as stream:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdout=stream,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )

    def run(self, *arguments: str) -> int:
        """Run Snakemake to its end; return its exit status."""
        return self.start(*arguments).wait(timeout=300)

    @property
    def output(self) -> str:
        """What Snakemake printed last."""
        return (self.folder / "output.txt").read_text()

    def trace(self, kind: str = "json") -> list[dict[str, Any]]:
        """Entries of the jobs that were made (``json``), or that have begun (``began``)."""
        return [
            json.loads(path.read_text()) for path in sorted(self.folder.glob(f"trace/*.{kind}")) if path.stat().st_size
        ]

    def made(self) -> dict[str, dict[str, Any]]:
        """The entry of each output's last maker."""
        return {entry["out"]: entry for entry in sorted(self.trace(), key=lambda entry: entry["end"])}

    def probe(self) -> dict[str, Any]:
        """What the Snakefile has found out about Snakemake at the end."""
        return json.loads((self.folder / "probe.json").read_text())

    def processes(self) -> set[int]:
        """The processes of jobs and servers that were seen and still run."""
        seen = {entry[key] for entry in self.trace("began") for key in ("pid", "parent")}
        return {pid for pid in seen if alive(pid)}


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition: Callable[[], Any], seconds: float = 90) -> None:
    """Wait for a condition."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


def end(process: subprocess.Popen[str]) -> None:
    """End a Snakemake and all that is in its session, whatever a test has left."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def most_at_once(entries: Iterable[dict[str, Any]]) -> int:
    """The largest number of entries that ran at the same time."""
    changes = sorted(change for entry in entries for change in ((entry["start"], 1), (entry["end"], -1)))
    running = most = 0
    for _, change in changes:
        running += change
        most = max(most, running)
    return most
