"""``python -m toy OUT VALUE [ACTION...]`` writes VALUE to OUT, and what is to be known of the job into trace/."""

import json
import os
import signal
import sys
import time
from pathlib import Path

LOADED_BY = os.getpid()
REHEARSED = False


def rehearse() -> None:
    """Do what need not be done again."""
    global REHEARSED
    REHEARSED = True


def main(arguments: list[str]) -> int:
    """Make one output."""
    out, value, *actions = arguments
    entry = {
        "out": out,
        "pid": os.getpid(),
        "parent": os.getppid(),
        "start": time.monotonic(),
        "warm": os.getpid() != LOADED_BY,
        "rehearsed": REHEARSED,
        "argv": sys.argv,
        "variables": {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "TMPDIR", "OWN")},
    }
    name = f"trace/{out.replace('/', '_')}.{os.getpid()}"
    Path("trace").mkdir(exist_ok=True)
    Path(name + ".began").write_text(json.dumps(entry))
    print("made", out)
    for action in actions:
        status = act(out, action)
        if status is not None:
            return status
    Path(out).write_text(value + "\n")
    Path(name + ".json").write_text(json.dumps({**entry, "end": time.monotonic()}))
    return 0


def act(out: str, action: str) -> int | None:
    """Do something unusual; return an exit status, or None to go on."""
    name, _, number = action.partition("=")
    if name == "sleep":
        time.sleep(float(number))
    elif name == "wait":
        while not Path("go").exists():
            time.sleep(0.02)
    elif name == "exit" or (name == "exit_once" and once(out, name)):
        return int(number)
    elif name == "no_output":
        return 0
    elif name == "kill_once" and once(out, name):
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "kill_server_once" and once(out, name):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    elif name == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return None


def once(out: str, action: str) -> bool:
    """Whether this has not been asked for this output before."""
    path = Path(f"trace/{out.replace('/', '_')}.{action}")
    if path.exists():
        return False
    path.write_text("")
    return True
