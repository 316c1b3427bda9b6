"""The executor's side of a warm process: start it, hand it tasks, hear what becomes of them."""

import io
import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

_SERVER = Path(__file__).with_name("server.py")
_CLOSING_SECONDS = 4.0
_LAST_LINES = 3


class Listener(Protocol):
    """Who hears of jobs, in another thread than its own."""

    def ready(self, process: "WarmProcess") -> None:
        """The warm process has prepared and makes jobs from now on."""

    def made(self, process: "WarmProcess", task: Any, outcome: Mapping[str, Any]) -> None:
        """A job has been made, or has failed."""

    def died(self, process: "WarmProcess", unfinished: Sequence[Any], status: int) -> None:
        """The warm process has ended without an outcome of these tasks."""

    def noted(self, text: str) -> None:
        """The warm process has something to say to the user."""

    def broke(self, error: Exception) -> None:
        """The listener itself has raised an error, after which nothing is heard any more."""


class WarmProcess:
    """One warm process; safe to use from several threads.

    Attributes:
        prepared: whether it has said that it makes jobs.

    Args:
        python: its interpreter.
        environment: its variables.
        setup: what it is told first.
        listener: who hears of its jobs.
        launch: command that starts it somewhere else and passes its standard streams on, such as ``srun``.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(
        self,
        python: str,
        environment: Mapping[str, str],
        setup: Mapping[str, Any],
        listener: Listener,
        launch: Sequence[str] = (),
    ) -> None:
        self._listener, self._lock = listener, threading.Lock()
        self._tasks: dict[int, Any] = {}
        self._count, self._closing, self._dead, self.prepared = 0, False, False, False
        self._last_words: deque[str] = deque(maxlen=_LAST_LINES)
        # Not a fork of Snakemake: that has threads, and a heap that each job would inherit. In a session of its own, it
        # does not hear a Ctrl-C, which `srun` would take for a request of its own.
        self._process = subprocess.Popen(
            [*launch, python, str(_SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            start_new_session=bool(launch),
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        self._writing = threading.Lock()
        self._write(setup)
        self._relay = threading.Thread(target=self._pass_on, daemon=True)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._relay.start()
        self._thread.start()

    @property
    def last_words(self) -> str:
        """The last lines that the process, or the command that launched it, wrote to standard error."""
        return "; ".join(self._last_words)

    def submit(self, task: Any, content: Mapping[str, Any]) -> bool:
        """Hand over a task; return whether the process is there to take it.

        Args:
            task: what the listener knows the task by.
            content: the task as in :mod:`snakemake_executor_plugin_warm.server`, without its number.
        """
        with self._lock:
            if self._dead:
                return False
            self._count += 1
            number = self._count
            self._tasks[number] = task
        self._write({"id": number, **content})
        return True

    def close(self) -> None:
        """Have the process end its jobs and itself; what becomes of them is not told any more."""
        self._closing = True
        with suppress(OSError):
            self._stdin.close()
        if not self.prepared:  # it may wait in the queue of a cluster
            self._process.terminate()

    def wait(self) -> None:
        """Wait for the end of the process after :meth:`close`, and not for long."""
        try:
            self._process.wait(_CLOSING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()  # its jobs go with it
            self._process.wait()
        self._thread.join()

    def _write(self, content: Mapping[str, Any]) -> None:
        # If nobody reads, the listening thread tells that the process has died.
        text = json.dumps(content).encode() + b"\n"
        with self._writing, suppress(OSError, ValueError):
            while text:
                text = text[os.write(self._stdin.fileno(), text) :]

    def _pass_on(self) -> None:
        """Pass on what the process writes to standard error, and remember the last of it."""
        for line in io.TextIOWrapper(self._stderr, encoding="utf-8", errors="replace"):
            if line.strip():
                self._last_words.append(line.strip())
            sys.stderr.write(line)
            sys.stderr.flush()

    def _listen(self) -> None:
        """Pass on what the process says, then what its end means."""
        try:
            for line in self._stdout:
                if line.endswith(b"\n") and not self._closing:
                    self._hear(json.loads(line))
            with self._lock:
                self._dead = True
            status = self._process.wait()
            if not self._closing:
                self._relay.join(_CLOSING_SECONDS)
                self._listener.died(self, list(self._tasks.values()), status)
        except Exception as error:
            self._listener.broke(error)

    def _hear(self, content: Mapping[str, Any]) -> None:
        if "ready" in content:
            self.prepared = True
            self._listener.ready(self)
        elif "note" in content:
            self._listener.noted(content["note"])
        else:
            self._listener.made(self, self._tasks.pop(content["id"]), content)


def thread_variables(threads: int) -> dict[str, str]:
    """Return the variables that tell libraries how many threads a job has.

    They are those of Snakemake's shell; and numba's, unless it is set for all jobs already: whether or not commands
    set that one, they can then share a process.
    """
    libraries = ("OMP_NUM", "GOTO_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM", "NUMEXPR_NUM")
    variables = {f"{library}_THREADS": str(threads) for library in libraries}
    return {"NUMBA_NUM_THREADS": os.environ.get("NUMBA_NUM_THREADS", str(threads)), **variables}
