"""One line of progress for a run of Snakemake, whose own output goes to a file."""

import math
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from partialfair.commands.forecast import OTHER, Forecast

DONE = re.compile(r"(\d+) of (\d+) steps \(\d+(?:\.\d+)?%\) done")
RULE = re.compile(r"^(?:local)?rule (\w+):")
JOB = re.compile(r"^ {4}jobid: (\d+)")
WILDCARDS = re.compile(r"^ {4}wildcards: (.*)")
FINISHED = re.compile(r"^Finished jobid: (\d+)")
COUNT = re.compile(r"^(\w+) +(\d+)$")
JOB_FAULT = "Error in rule"
MESSAGE = re.compile(r"^ +message: (.*)")
"""What an executor says of a job that it could not run or that failed, below the line that names the rule."""
LOCKED = "LockException:"
RESUME = "`partialfair resume` (`make resume`)"
FAULT = re.compile(
    rf"^(?:{JOB_FAULT}|partialfair: |WorkflowError|\w+Error in file |MissingRuleException|MissingInputException"
    r"|LockException|\w*Exception\b.*:)"
)
UNSAID = re.compile(
    r"^(?:WorkflowError:|\w+Error in file .*:|InputFunctionException .*:)(?: Error:)?$"
)  # the next line says why
NOTHING = "Nothing to be done"
INTERRUPTED = re.compile(r"^(?:Terminating processes on user request|KeyboardInterrupt)")
_EVERY = 0.3  # seconds between two looks at the log
_PLAIN = 30.0  # seconds between two lines where the output is no terminal
_FORESIGHT = 50.0  # how many times the work done may lie ahead for an estimate to be worth saying
_PATIENCE = 3.0  # seconds that an interrupt has to reach the command by itself


class Progress:
    """What a log has said so far, as one line.

    Attributes:
        done, total: steps; 0 before Snakemake has counted them.
        doing: rule and wildcards of the job that was started last, or that there is nothing to do.
        faults: the first line of each error, with the next one where it only names the kind; a job's own sentence.
        failed: how many of them are a job's.
        interrupted: whether Snakemake ends its jobs because it was told to.

    Args:
        start: when the run began, in seconds of any clock.
        forecast: asked when the first job begins how much work each step is; without an answer each is taken to be as
            much as any other.
    """

    def __init__(self, start: float, forecast: Callable[[], Forecast | None] = lambda: None) -> None:
        self.start, self.done, self.total, self.doing = start, 0, 0, "preparing"
        self.faults: list[str] = []
        self.failed, self.interrupted = 0, False
        self._ask = forecast
        self._counts: dict[str, int] = {}
        self._job, self._work, self._finished = "", dict[str, float](), 0.0

    def take(self, line: str) -> None:
        """Read one line of the log."""
        if self.faults and UNSAID.match(self.faults[-1]) and line.strip():
            self.faults[-1] += f" {line.strip()}"
        elif found := DONE.search(line):
            self.done, self.total = int(found[1]), int(found[2])
        elif found := RULE.match(line):
            self.doing = found[1]
        elif found := JOB.match(line):
            self._job = found[1]
            self._work[self._job] = OTHER
        elif found := WILDCARDS.match(line):
            rule = self.doing.split(" ")[0]
            wildcards = dict(re.findall(r"(\w+)=([^,]+)", found[1]))
            self.doing = f"{rule} {', '.join(wildcards.values())}"
            if self._forecast is not None:
                self._work[self._job] = self._forecast.step(rule, wildcards)
        elif found := FINISHED.match(line):
            self._finished += self._work.get(found[1], OTHER)
        elif not self.total and (found := COUNT.match(line)) and found[1] != "total":
            self._counts[found[1]] = int(found[2])
        elif FAULT.match(line):
            self.faults.append(line.strip())
            self.failed += line.startswith(JOB_FAULT)
        elif self.faults and (found := MESSAGE.match(line)):
            self.faults[-1] += f" {found[1]}"
        elif line.startswith(NOTHING):
            self.doing = "nothing to do"
        elif INTERRUPTED.match(line):
            self.interrupted = True

    @cached_property
    def _forecast(self) -> Forecast | None:
        return self._ask()

    def text(self, now: float) -> str:
        """Return the line: steps, share, time spent, an estimate of the time left, and what is being done."""
        spent = now - self.start
        if not self.total:
            return f"{_clock(spent)}  {self.doing}"
        ahead = self._ahead() if 0 < self.done < self.total else math.inf
        left = f", about {_clock(spent * ahead)} left" if ahead <= _FORESIGHT else ""
        failed = f"  {self.failed} failed" if self.failed else ""
        share = f"{100 * self.done // self.total}%"
        return f"{self.done} of {self.total} steps ({share})  {_clock(spent)}{left}{failed}  {self.doing}"

    def _ahead(self) -> float:
        """What is to be done, as a multiple of what has been."""
        if self._forecast is None or not self._finished:
            return (self.total - self.done) / self.done
        least = OTHER * (self.total - self.done)  # steps that are left take time, however wrong the forecast was
        return max(least, self._forecast.total(self._counts) - self._finished) / self._finished


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Stop:
    """Signals that ask for an end: noted while the command runs, passed on to it, and said afterwards.

    Snakemake takes SIGTERM as "start no further job", and an interrupt as "end the jobs". A second SIGTERM is passed on
    as an interrupt. An interrupt from a terminal reaches the command by itself, so that it is passed on only if the
    command has not noticed it after a while.

    Attributes:
        number: the first signal that came, 0 if none did.
        failed: how many jobs had failed when it was noticed.
    """

    def __init__(self) -> None:
        self.number = self.failed = 0
        self._received: list[int] = []
        self._interrupt_at = math.inf
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Stop":
        """Take the signals from now on, but for those that are ignored here, as in the background of a script."""
        for number in (signal.SIGTERM, signal.SIGINT):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, lambda received, _: self._received.append(received))
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the signals to whom they belonged before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def attend(self, process: "subprocess.Popen[bytes]", seen: Progress, now: float) -> None:
        """Pass on what came since the last time."""
        while self._received:
            number, first = self._received.pop(0), not self.number
            if first:
                self.number, self.failed = number, seen.failed
            seen.doing = "stopping"
            if number == signal.SIGTERM and first:
                process.send_signal(number)
            elif self._interrupt_at == math.inf:
                self._interrupt_at = now + (_PATIENCE if number == signal.SIGINT else 0)
        if now >= self._interrupt_at:
            self._interrupt_at = math.inf
            if not seen.interrupted:
                process.send_signal(signal.SIGINT)

    def sentence(self, seen: Progress, again: str) -> str:
        """Say what came, how much is done, and the command that continues."""
        done = f"{seen.done} of {seen.total} steps are done" if seen.total else "no step is done"
        failed = f", {self.failed} had failed before" if self.failed else ""
        return f"stopped by {signal.Signals(self.number).name}: {done}{failed}; `{again}` continues"


def follow(
    command: Sequence[str],
    log: Path,
    stream: IO[str] = sys.stderr,
    again: Callable[[], str] = lambda: "the same command",
    forecast: Callable[[], Forecast | None] = lambda: None,
    verbose: bool = False,
) -> int:
    """Run a command with its output in a file, and show its progress.

    The output goes to the file itself, not through this process, so that the command survives it.

    Args:
        command: that writes what Snakemake writes.
        log: the file.
        stream: where the line goes; it is rewritten in place on a terminal.
        again: asked, after the command was stopped or killed, for the command that continues.
        forecast: asked how much work each step is, for the estimate of the time left.
        verbose: show the command's output as it comes, in place of the line.

    Returns:
        The command's exit status; 128 and the number of the signal if it was stopped or killed by one.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as kept, log.open(encoding="utf-8", errors="replace") as read, Stop() as stop:
        process = subprocess.Popen(command, stdout=kept, stderr=subprocess.STDOUT)
        seen = _watch(process, read, stream, stop, Progress(time.monotonic(), forecast), verbose)
    status = process.returncode
    if status and not stop.number:
        for fault in () if verbose else dict.fromkeys(seen.faults):
            print(fault, file=stream)
        if LOCKED in seen.faults:
            print(f"another run is under way in this folder, or one was killed: {RESUME} continues it", file=stream)
        if status > 0:
            print(f"failed with status {status}; the whole output is in {log.absolute()}", file=stream)
            return status
        stop.number, stop.failed = -status, seen.failed
    if status:
        print(f"{stop.sentence(seen, again())}; the whole output is in {log.absolute()}", file=stream)
        return 128 + stop.number
    return 0


def at_times(
    say: Callable[[str], object], every: float = _PLAIN, clock: Callable[[], float] = time.monotonic
) -> Callable[[str], None]:
    """Return a function that says its text, but not before some seconds have gone by since it last did."""
    said = clock()

    def told(text: str) -> None:
        nonlocal said
        if clock() - said >= every:
            say(text)
            said = clock()

    return told


def _watch(
    process: "subprocess.Popen[bytes]", read: IO[str], stream: IO[str], stop: Stop, seen: Progress, verbose: bool
) -> Progress:
    """Show the progress of a process, or all that it says, until it ends."""
    shown, terminal, begun = 0.0, stream.isatty(), ""
    while True:
        ended = process.poll() is not None
        said = read.read()
        *lines, begun = (begun + said).split("\n")
        for line in [*lines, begun] if ended else lines:
            seen.take(line)
        now = time.monotonic()
        if not ended:
            stop.attend(process, seen, now)
        if verbose:
            stream.write(said)
        elif terminal:
            width = shutil.get_terminal_size().columns - 1
            stream.write(f"\r\x1b[2K{seen.text(now)[:width]}")
        elif ended or now - shown > _PLAIN:
            stream.write(seen.text(now) + "\n")
            shown = now
        stream.flush()
        if ended:
            stream.write("\n" if terminal and not verbose else "")
            return seen
        with suppress(subprocess.TimeoutExpired):
            process.wait(_EVERY)
