"""A process that has imported everything once and makes each job in a fork of itself.

The executor starts it as ``python server.py``, here or by a launch command such as ``srun`` on another machine that
shares the folder; standard input and standard output are the connection. It is no child of Snakemake's memory, and
imports the standard library alone before it does what it is told. Both sides write one JSON object per line. The server
reads

- first ``{"preload": [MODULE], "rehearse": FUNCTION or null}``,
- then jobs ``{"id", "module", "arguments", "python", "variables": {NAME: VALUE}, "log", "measure"}``; ``python`` is the
  interpreter of a job that needs a process of its own, else null

and writes ``{"note": TEXT}``, ``{"ready": true}`` once it has prepared, and, per job, ``{"id", "status", "message",
"usage"}``. When the connection ends, so do the jobs and the server.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from snakemake_executor_plugin_warm import forked_job
else:
    import forked_job  # beside this file, whose folder is the first to be searched

GRACE = 2.0
"""Seconds that jobs have to end after SIGTERM, before they are killed."""


WATCH = 0.5
"""Seconds between looks at whether Snakemake is still there, while the server prepares."""


@dataclass
class Process:
    """A fork at work: the number of its job, what it has written so far, when it began."""

    number: int
    pipe: int
    started: float
    text: bytearray = field(default_factory=bytearray)


class Connection:
    """Standard input and output; what this process prints goes to standard error instead."""

    def __init__(self) -> None:
        self.input, self.output = os.dup(0), os.dup(1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)

    def fileno(self) -> int:
        """Return the descriptor that can be read when something has come."""
        return self.input

    def recv(self, size: int) -> bytes:
        """Read what has come, nothing at the end."""
        return os.read(self.input, size)

    def sendall(self, text: bytes) -> None:
        """Write a text."""
        while text:
            text = text[os.write(self.output, text) :]

    def close(self) -> None:
        """Let go of it."""
        os.close(self.input)
        os.close(self.output)


class Server:
    """Takes tasks from a connection and forks."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.text = connection, bytearray()
        self.at_work: dict[int, Process] = {}
        self.ready = False
        self.selector = selectors.DefaultSelector()
        self.wake = _wake_for_children()
        self.selector.register(connection, selectors.EVENT_READ)
        self.selector.register(self.wake, selectors.EVENT_READ)

    def serve(self) -> None:
        """Make what is asked until the connection ends."""
        while True:
            readable = {key.fd for key, _ in self.selector.select()}
            if self.connection.fileno() in readable and not self.receive():
                return
            if self.wake in readable:
                os.read(self.wake, 4096)
            for process in list(self.at_work.values()):
                if process.pipe in readable:
                    self.read(process)
            self.reap()

    def receive(self) -> bool:
        """Read from the connection; return whether it still stands."""
        with suppress(OSError):
            if new := self.connection.recv(1 << 16):
                self.text += new
                for line in _lines(self.text):
                    self.take(json.loads(line))
                return True
        return False

    def take(self, content: dict[str, Any]) -> None:
        """Prepare for work by the first line, begin a job by any other."""
        if self.ready:
            self.begin(content)
        else:
            self.ready = True
            done = _ends_with_parent()
            for name in content["preload"]:
                self.attempt(f"--warm-preload {name}", partial(importlib.import_module, name))
            if content["rehearse"] is not None:
                self.attempt(f"--warm-rehearse {content['rehearse']}", partial(forked_job.call, content["rehearse"]))
            # What is here stays: no fork shall look through it for garbage, which would copy it.
            gc.collect()
            gc.freeze()
            done()  # from here on the connection says whether Snakemake is there; a thread would be lost in the forks
            self.send({"ready": True})

    def attempt(self, option: str, action: Callable[[], object]) -> None:
        """Do what an option asks for; jobs do without it if it fails."""
        try:
            action()
        except Exception as error:
            traceback.print_exc()
            self.send({"note": f"{option} failed ({type(error).__name__}: {error}); jobs run without it"})

    def begin(self, job: dict[str, Any]) -> None:
        """Fork for a job."""
        read, write = os.pipe()
        server = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            pid = os.fork()
        except OSError as error:
            os.close(read)
            os.close(write)
            self.tell(job["id"], 1, f"No process can be had: {error}.", {})
            return
        if pid == 0:
            self.become_child(job, server, read, write)
        os.close(write)
        os.set_blocking(read, False)
        self.selector.register(read, selectors.EVENT_READ)
        self.at_work[pid] = Process(job["id"], read, time.monotonic())

    def become_child(self, job: dict[str, Any], server: int, read: int, write: int) -> NoReturn:
        """Let go of what is the server's, make the job, end."""
        try:
            self.connection.close()
            self.selector.close()
            pipes = (process.pipe for process in self.at_work.values())
            for descriptor in (read, self.wake, signal.set_wakeup_fd(-1), *pipes):
                os.close(descriptor)
            forked_job.run(job, server, write)
        except BaseException:
            traceback.print_exc()  # such as a log that cannot be written
        finally:
            os._exit(1)

    def read(self, process: Process) -> None:
        """Read what a fork has to say, now."""
        with suppress(BlockingIOError):
            while new := os.read(process.pipe, 1 << 16):
                process.text += new

    def reap(self) -> None:
        """See to the forks that have ended."""
        while True:
            try:
                pid, status, counted = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if process := self.at_work.pop(pid, None):
                self.read(process)
                self.selector.unregister(process.pipe)
                os.close(process.pipe)
                self.ended(process, os.waitstatus_to_exitcode(status), counted)

    def ended(self, process: Process, status: int, counted: Any) -> None:
        """Tell what has become of a job whose fork has ended."""
        usage = json.loads(process.text) if process.text.endswith(b"\n") else {}
        usage |= {"seconds": time.monotonic() - process.started, "cpu": counted.ru_utime + counted.ru_stime}
        usage["rss"] = counted.ru_maxrss * 1024
        self.tell(process.number, status, "" if status == 0 else f"The job {_ending(status)}.", usage)

    def tell(self, number: int, status: int, message: str, usage: dict[str, float]) -> None:
        """Tell that a job has been made or has failed."""
        self.send({"id": number, "status": status, "message": message, "usage": usage})

    def send(self, content: dict[str, Any]) -> None:
        """Write a line, unless nobody reads any more."""
        with suppress(OSError):
            self.connection.sendall(json.dumps(content).encode() + b"\n")

    def end_jobs(self) -> None:
        """Ask all jobs to end and wait for them, not for long: those that are left end with the server."""
        for pid in self.at_work:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + GRACE
        while self.at_work and time.monotonic() < until:
            self.at_work.pop(os.waitpid(-1, os.WNOHANG)[0], None)
            time.sleep(0.01)


def _ends_with_parent() -> Callable[[], None]:
    """End this process when its parent has ended, while it prepares and reads nothing; return what stops the watch."""
    parent, stop = os.getppid(), threading.Event()

    def watch() -> None:
        while not stop.wait(WATCH):
            if os.getppid() != parent:
                os._exit(1)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()

    def done() -> None:
        stop.set()
        thread.join()

    return done


def _lines(text: bytearray) -> list[bytes]:
    """Take the complete lines off a buffer."""
    *lines, unfinished_line = bytes(text).split(b"\n")
    text[:] = unfinished_line
    return lines


def _ending(status: int) -> str:
    """Say how a process has ended."""
    if status >= 0:
        return f"ended with exit status {status}"
    with suppress(ValueError):
        return f"was killed by signal {-status} ({signal.Signals(-status).name})"
    return f"was killed by signal {-status}"


def _wake_for_children() -> int:
    """Return a descriptor that can be read when a fork has ended."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return read


def main() -> None:
    """Serve the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the jobs; the executor ends the server
    # As in `python -m`: the working directory comes first, not the folder of this file.
    if sys.path and Path(sys.path[0]).resolve() == Path(__file__).resolve().parent:
        sys.path[0] = os.getcwd()
    server = Server(Connection())
    try:
        server.serve()
    finally:
        server.end_jobs()


if __name__ == "__main__":
    main()
