"""Processes that do nothing, for code that looks for processes."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def running(*words: str) -> Iterator[int]:
    """The number of a Python process with these words in its command line, until the block ends.

    It has said something: the system starts a process some time before it tells its command line.
    """
    code = "import time; print(flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline()
            yield process.pid
        finally:
            process.kill()
