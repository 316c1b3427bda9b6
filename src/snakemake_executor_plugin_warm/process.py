"""The executor's side of a warm process: start it, hand it tasks, hear what becomes of them."""

import json
import os
import socket
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

_SERVER = Path(__file__).with_name("server.py")
_CLOSING_SECONDS = 4.0


class Listener(Protocol):
    """Who hears of jobs, in another thread than its own."""

    def made(self, task: Any, outcome: Mapping[str, Any]) -> None:
        """A job of a task has been made, or has failed."""

    def died(self, task: Any, indices: list[int], status: int) -> None:
        """The warm process has ended with these jobs of a task not yet told of."""

    def noted(self, text: str) -> None:
        """The warm process has something to say to the user."""

    def broke(self, error: Exception) -> None:
        """The listener itself has raised an error, after which nothing is heard any more."""


class WarmProcess:
    """One warm process; safe to use from several threads."""

    def __init__(
        self, python: str, environment: Mapping[str, str], setup: Mapping[str, Any], listener: Listener
    ) -> None:
        self._listener, self._lock = listener, threading.Lock()
        self._tasks: dict[int, tuple[Any, set[int]]] = {}
        self._count, self._closing, self._dead = 0, False, False
        self._socket, theirs = socket.socketpair()
        # Not a fork of Snakemake: that has threads, and a heap that each job would inherit.
        self._process = subprocess.Popen(
            [python, str(_SERVER), str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=dict(environment),
        )
        theirs.close()
        self._write(setup)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

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
            self._tasks[number] = (task, set(range(len(content["jobs"]))))
        self._write({"id": number, **content})
        return True

    def close(self) -> None:
        """Have the process end its jobs and itself; what becomes of them is not told any more."""
        self._closing = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def wait(self) -> None:
        """Wait for the end of the process after :meth:`close`, and not for long."""
        try:
            self._process.wait(_CLOSING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()  # its jobs go with it
            self._process.wait()
        self._thread.join()
        self._socket.close()

    def _write(self, content: Mapping[str, Any]) -> None:
        # If nobody reads, the listening thread tells that the process has died.
        with suppress(OSError):
            self._socket.sendall(json.dumps(content).encode() + b"\n")

    def _listen(self) -> None:
        """Pass on what the process says, then what its end means."""
        try:
            # Reset instead of closed: killed while something was on its way.
            with suppress(ConnectionError), self._socket.makefile("r", encoding="utf-8") as stream:
                for line in stream:
                    if line.endswith("\n") and not self._closing:
                        self._hear(json.loads(line))
            with self._lock:
                self._dead = True
            status = self._process.wait()
            if not self._closing:
                for task, indices in list(self._tasks.values()):
                    self._listener.died(task, sorted(indices), status)
        except Exception as error:
            self._listener.broke(error)

    def _hear(self, content: Mapping[str, Any]) -> None:
        if "note" in content:
            self._listener.noted(content["note"])
            return
        task, left = self._tasks[content["id"]]
        left.discard(content["index"])
        if not left:
            del self._tasks[content["id"]]
        self._listener.made(task, content)


def thread_variables(threads: int) -> dict[str, str]:
    """Return the variables that tell libraries how many threads a job has.

    They are those of Snakemake's shell; and numba's, unless it is set for all jobs already: whether or not commands
    set that one, they can then share a process.
    """
    libraries = ("OMP_NUM", "GOTO_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM", "NUMEXPR_NUM")
    found = {f"{library}_THREADS": str(threads) for library in libraries}
    return {"NUMBA_NUM_THREADS": os.environ.get("NUMBA_NUM_THREADS", str(threads)), **found}
