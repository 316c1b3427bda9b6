"""One line of progress for a run of Snakemake, whose own output goes to a file.

Snakemake says what it does through its logger plug-in ``events``, as lines of JSON; its output is not parsed.
"""

import json
import math
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from reproduction.commands.forecast import Forecast

PLUGIN = "snakemake_logger_plugin_events"
LOCKED = "LockException"
RESUME = "`partialfair resume` (`make resume`)"
_EVERY = 0.3  # seconds between two looks at the events
_PLAIN = 30.0  # seconds between two lines where the output is no terminal
_FORESIGHT = 50.0  # how many times the work done may lie ahead for an estimate to be worth saying
_PATIENCE = 3.0  # seconds that an interrupt has to reach the command by itself


@dataclass(frozen=True)
class Step:
    """A step that runs: its rule, when it began, the seconds that it was forecast to take.

    Attributes:
        starting: whether no step had been done when it began, so that the start of processes is in its time.
    """

    rule: str
    began: float
    expected: float
    starting: bool


class Progress:
    """What Snakemake has said so far, as one line.

    Attributes:
        done, total: steps; 0 before Snakemake has counted them.
        counts: steps by rule.
        doing: rule and wildcards of the job that was started last, or that there is nothing to do.
        faults: a line for each error, with what the executor says of it; a job's own sentence.
        notes: warnings of an executor, which are said however the run ends.
        failed: how many of the faults are a job's.
        interrupted: whether Snakemake ends its jobs because it was told to.
        locked: whether another run holds the folder.
        stopping: whether the run was told to end, after which no time left is said.

    Args:
        start: when the run began, in seconds since 1970.
        forecast: asked when the first job begins how many seconds each step takes; without an answer each is taken to
            last as long as any other.
    """

    def __init__(self, start: float, forecast: Callable[[], Forecast | None] = lambda: None) -> None:
        self.start, self.done, self.total, self.doing = start, 0, 0, "preparing"
        self.faults: list[str] = []
        self.notes: list[str] = []
        self.failed, self.interrupted, self.locked, self.stopping = 0, False, False, False
        self._ask = forecast
        self.counts: dict[str, int] = {}
        self._running: dict[int, Step] = {}
        # Seconds of steps by rule: forecast of all that have begun; forecast and spent of those that set the pace.
        self._begun_seconds = defaultdict[str, float](float)
        self._expected, self._spent = defaultdict[str, float](float), defaultdict[str, float](float)
        self._done = Counter[str]()
        self._at_once = 1

    def take(self, event: Mapping[str, Any]) -> None:
        """Note an event of the plug-in."""
        name = event["event"]
        if name == "run_info":
            self.counts = {rule: count for rule, count in event["stats"].items() if rule != "total"}
            self.total = event["stats"]["total"]
        elif name == "progress":
            self.done, self.total = event["done"], event["total"]
        elif name == "job_info":
            self._begin(event)
        elif name == "job_finished":
            self._finish(event["job_id"], event["time"])
        elif name == "job_error":
            self._running.pop(event["jobid"], None)
            self.failed += 1
            # Indented lines are details, such as the whole call of sbatch.
            message = "; ".join(line for line in (event["rule_msg"] or "").splitlines() if line == line.strip() != "")
            self.faults.append(f"Error in rule {event['rule_name']}: {message}".removesuffix(": "))
            self.faults += _sentences(event["log"] or ())
        elif name == "group_error":
            self.faults.append(f"Error in group {event['groupid']}")
        elif name == "error":
            self.locked = self.locked or event["exception"] == LOCKED
            self.faults += _error_line(event["text"])
        elif name is None:
            self._heard(event["text"], event["warning"])

    def _begin(self, event: Mapping[str, Any]) -> None:
        rule, wildcards = event["rule_name"], event["wildcards"] or {}
        if not self.stopping:
            self.doing = f"{rule} {', '.join(map(str, wildcards.values()))}".rstrip()
        expected = 1.0 if self._forecast is None else self._forecast.step(rule, wildcards)
        self._begun_seconds[rule] += expected
        self._running[event["jobid"]] = Step(rule, event["time"], expected, not self._done)
        self._at_once = max(self._at_once, len(self._running))

    def _finish(self, number: int, now: float) -> None:
        step = self._running.pop(number, None)
        if step is None:
            return
        self._done[step.rule] += 1
        if not step.starting:
            self._expected[step.rule] += step.expected
            self._spent[step.rule] += now - step.began

    def _heard(self, text: str, warning: bool) -> None:
        if text.startswith("Nothing to be done"):
            self.doing = "nothing to do"
        elif text.startswith(("Terminating processes on user request", "Cancelling snakemake on user request")):
            self.interrupted = True
        elif warning and text.startswith("Executor "):
            self.notes.append(text)

    @cached_property
    def _forecast(self) -> Forecast | None:
        return self._ask()

    def text(self, now: float) -> str:
        """Return the line: steps, share, time spent, an estimate of the time left, and what is being done."""
        spent = now - self.start
        if not self.total:
            return f"{_clock(spent)}  {self.doing}"
        remaining = None if self.stopping else self.seconds_left(now)
        told = "" if remaining is None else f", about {_clock(remaining)} left"
        failed = f"  {self.failed} failed" if self.failed else ""
        share = f"{100 * self.done // self.total}%"
        return f"{self.done} of {self.total} steps ({share})  {_clock(spent)}{told}{failed}  {self.doing}"

    def seconds_left(self, now: float) -> float | None:
        """Return the seconds that the steps left take, ``None`` if too little is known.

        Each rule goes on at the pace that its steps have had, or that all have had; as many steps run at once as ever
        did; what a running step has spent is taken off its time.
        """
        expected, spent = sum(self._expected.values()), sum(self._spent.values())
        if not (expected and 0 < self.done < self.total):
            return None
        general = spent / expected

        def pace(rule: str) -> float:
            return self._spent[rule] / self._expected[rule] if self._expected[rule] else general

        running = [max(0.0, pace(step.rule) * step.expected - (now - step.began)) for step in self._running.values()]
        at_work = Counter(step.rule for step in self._running.values())
        waiting = 0.0
        for rule, count in self.counts.items():
            if (steps := count - self._done[rule] - at_work[rule]) > 0:
                waiting += steps * pace(rule) * self._mean(rule)
        ahead = waiting + sum(running)
        if ahead > _FORESIGHT * (spent + sum(now - step.began for step in self._running.values())):
            return None
        return max(ahead / self._at_once, *running, 0.0)

    def _mean(self, rule: str) -> float:
        """Return the forecast seconds of a step of a rule that waits."""
        if self._forecast is None:
            return 1.0
        waiting = self.counts[rule] - self._done[rule] - sum(step.rule == rule for step in self._running.values())
        return max(0.0, self._forecast.total({rule: self.counts[rule]}) - self._begun_seconds[rule]) / waiting


def _error_line(text: str) -> list[str]:
    """Return an error as one line: what it is, and why."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    taken = 1
    while taken < len(lines) and lines[taken - 1].endswith(":"):
        taken += 1
    return [" ".join(lines[:taken])] if lines else []


def _sentences(logs: Iterable[str]) -> list[str]:
    """Return what a job that failed says of itself in its log."""
    sentences: list[str] = []
    for path in logs:
        with suppress(OSError):
            lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
            sentences += [line for line in lines if line.startswith("partialfair: ")]
    return sentences


def _clock(seconds: float) -> str:
    minutes, seconds_of_minute = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds_of_minute:02d}" if hours else f"{minutes}:{seconds_of_minute:02d}"


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
            number, is_first = self._received.pop(0), not self.number
            if is_first:
                self.number, self.failed = number, seen.failed
            seen.doing, seen.stopping = "stopping", True
            if number == signal.SIGTERM and is_first:
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
        log: the file; the events go to one beside it.
        stream: where the line goes; it is rewritten in place on a terminal.
        again: asked, after the command was stopped or killed, for the command that continues.
        forecast: asked how much work each step is, for the estimate of the time left.
        verbose: show the command's output as it comes, in place of the line.

    Returns:
        The command's exit status; 128 and the number of the signal if it was stopped or killed by one.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    events = log.with_suffix(".jsonl")
    events.unlink(missing_ok=True)
    with (
        log.open("w", encoding="utf-8") as output,
        log.open(encoding="utf-8", errors="replace") as read,
        Stop() as stop,
    ):
        process = subprocess.Popen(_with_events(command, events), stdout=output, stderr=subprocess.STDOUT)
        echo = _Lines(read) if verbose else None
        seen = _watch(process, _Lines.of(events), echo, stream, stop, Progress(time.time(), forecast))
    status = process.returncode
    for note in () if verbose else dict.fromkeys(seen.notes):
        print(note, file=stream)
    if status and not stop.number:
        for fault in () if verbose else dict.fromkeys(seen.faults or _last_line(log)):
            print(fault, file=stream)
        if seen.locked:
            print(f"another run is under way in this folder, or one was killed: {RESUME} continues it", file=stream)
        if status > 0:
            print(f"failed with status {status}; the whole output is in {log.absolute()}", file=stream)
            return status
        stop.number, stop.failed = -status, seen.failed
    if status:
        print(f"{stop.sentence(seen, again())}; the whole output is in {log.absolute()}", file=stream)
        return 128 + stop.number
    return 0


def planned(command: Sequence[str], log: Path) -> tuple[dict[str, int], int, list[str]]:
    """Run a dry run of Snakemake with its output in a file.

    Args:
        command: Snakemake's, with ``--dry-run``.
        log: the file; the events go to one beside it.

    Returns:
        The number of steps by rule, the exit status, and a line for each error.
    """
    events = log.with_suffix(".jsonl")
    events.unlink(missing_ok=True)
    with log.open("w", encoding="utf-8") as output:
        done = subprocess.run(_with_events(command, events), stdout=output, stderr=subprocess.STDOUT, check=False)
    seen = Progress(time.time())
    for line in _Lines.of(events).lines():
        seen.take(json.loads(line))
    return dict(seen.counts), done.returncode, seen.faults or _last_line(log) * bool(done.returncode)


def _with_events(command: Sequence[str], events: Path) -> list[str]:
    """Return a command of Snakemake with the plug-in that writes its events."""
    if list(command[1:3]) != ["-m", "snakemake"] or find_spec(PLUGIN) is None:
        return list(command)
    arguments = list(command[3:])
    if "--logger-events-file" in arguments:  # repeated by `partialfair resume`
        position = arguments.index("--logger-events-file")
        del arguments[position - 2 : position + 2]
    return [*command[:3], "--logger", "events", "--logger-events-file", str(events), *arguments]


def _last_line(log: Path) -> list[str]:
    """Return the last line of a log: what Snakemake said that ended before it could write an event."""
    return [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()][-1:]


class _Lines:
    """A file that grows, read line by line."""

    def __init__(self, stream: IO[str] | None = None, path: Path | None = None) -> None:
        self._stream, self._path, self._begun = stream, path, ""

    @classmethod
    def of(cls, path: Path) -> "_Lines":
        """Read a file that need not be there yet."""
        return cls(path=path)

    def new(self) -> str:
        """Return what has been written since the last time."""
        if self._stream is None and self._path is not None and self._path.exists():
            self._stream = self._path.open(encoding="utf-8")
        return "" if self._stream is None else self._stream.read()

    def lines(self) -> list[str]:
        """Return the lines that have been ended since the last time."""
        *lines, self._begun = (self._begun + self.new()).split("\n")
        return lines


def at_times(
    report: Callable[[str], object], pause: float = _PLAIN, clock: Callable[[], float] = time.monotonic
) -> Callable[[str], None]:
    """Return a function that says its text, but not before some seconds have gone by since it last did."""
    last_time = clock()

    def told(text: str) -> None:
        nonlocal last_time
        if clock() - last_time >= pause:
            report(text)
            last_time = clock()

    return told


def _watch(
    process: "subprocess.Popen[bytes]",
    events: _Lines,
    output: _Lines | None,
    stream: IO[str],
    stop: Stop,
    seen: Progress,
) -> Progress:
    """Show the progress of a process, or all that it says, until it ends."""
    last_shown, terminal = 0.0, stream.isatty()
    while True:
        ended = process.poll() is not None
        for line in events.lines():
            seen.take(json.loads(line))
        now = time.time()
        if not ended:
            stop.attend(process, seen, now)
        if output is not None:
            stream.write(output.new())
        elif terminal:
            width = shutil.get_terminal_size().columns - 1
            stream.write(f"\r\x1b[2K{seen.text(now)[:width]}")
        elif ended or now - last_shown > _PLAIN:
            stream.write(seen.text(now) + "\n")
            last_shown = now
        stream.flush()
        if ended:
            stream.write("\n" if terminal and output is None else "")
            return seen
        with suppress(subprocess.TimeoutExpired):
            process.wait(_EVERY)
