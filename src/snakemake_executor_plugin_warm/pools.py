"""Warm processes that a launch command has started elsewhere, and which of them makes which job.

Snakemake limits what runs at once to the sum of all pools. Here each job is given to a pool that has room for it; a job
for which there is none waits for the first one.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from snakemake_executor_plugin_warm.process import WarmProcess

_FAILURES = 3
"""How many pools in a row may end before they are ready while no other one works."""


class Owner(Protocol):
    """Who is told of what goes wrong."""

    def refused(self, info: Any, reason: str) -> None:
        """No pool can make a job."""

    def noted(self, text: str) -> None:
        """Something is to be said to the user."""

    def no_pools(self, reason: str) -> None:
        """No pool can be started."""


class Pools:
    """Warm processes on other machines; safe to use from several threads.

    Args:
        start: starts one.
        count: how many there are to be.
        capacity: what the jobs that run at once in one of them may claim; ``cores`` and further resources.
        owner: is told of what goes wrong.
    """

    def __init__(self, start: Callable[[], WarmProcess], count: int, capacity: Mapping[str, int], owner: Owner) -> None:
        self._start, self._count, self._capacity, self._owner = start, count, dict(capacity), owner
        self._lock = threading.RLock()
        self._free: dict[WarmProcess, dict[str, int]] = {}
        self._waiting: dict[int, tuple[Any, Mapping[str, Any], dict[str, int]]] = {}  # by the identity of the info
        self._claimed: dict[int, dict[str, int]] = {}
        self._failures, self._closed = 0, False

    def submit(self, info: Any, content: Mapping[str, Any]) -> None:
        """Have a job made as soon as a pool has room for it."""
        job = info.job
        needs = {name: job.threads if name == "cores" else job.resources.get(name, 0) for name in self._capacity}
        for name, need in needs.items():
            if need > self._capacity[name]:
                # A retry may ask for several times what a pool has: then it has the pool for itself.
                if job.attempt == 1:
                    told = f"The job needs {name}={need}, and a pool has {self._capacity[name]}"
                    self._owner.refused(info, f"{told}; raise --warm-pool-resources.")
                    return
                needs[name] = self._capacity[name]
        with self._lock:
            self._waiting[id(info)] = (info, content, needs)
            self._top_up()
            self._assign_jobs()

    def ready(self, process: WarmProcess) -> None:
        """Use a pool from now on."""
        with self._lock:
            self._failures = 0
            self._assign_jobs()

    def made(self, process: WarmProcess, info: Any) -> None:
        """Have the room of a job for others."""
        with self._lock:
            for name, need in self._claimed.pop(id(info)).items():
                if process in self._free:
                    self._free[process][name] += need
            self._assign_jobs()

    def died(self, process: WarmProcess, unfinished: Sequence[Any], status: int) -> None:
        """Forget a pool that has ended with these jobs, and start another one."""
        with self._lock:
            self._free.pop(process, None)
            for info in unfinished:
                self._claimed.pop(id(info), None)
            reason = f"status {status}" + (f": {process.last_words}" * bool(process.last_words))
            if process.prepared:
                self._owner.noted(f"a pool has ended ({reason}); its jobs count as failed")
            else:
                self._failures += 1
                if self._failures >= _FAILURES and not any(pool.prepared for pool in self._free):
                    self._closed = True
                    self._owner.no_pools(reason)
                    return
                self._owner.noted(f"a pool has ended before it was ready ({reason})")
            self._top_up()

    def close(self) -> list[WarmProcess]:
        """Start no more, and return those that there are."""
        with self._lock:
            self._closed = True
            pools, self._free = list(self._free), {}
            return pools

    def _top_up(self) -> None:
        """Start the pools that are missing, unless none can be started."""
        while not self._closed and len(self._free) < self._count and self._failures < _FAILURES:
            try:
                self._free[self._start()] = dict(self._capacity)
            except OSError as error:
                self._closed = True
                self._owner.no_pools(str(error))

    def _assign_jobs(self) -> None:
        """Hand out the jobs for which there is room: the emptiest pool first."""
        for key, (info, content, needs) in list(self._waiting.items()):
            pools = sorted(self._free.items(), key=lambda item: -item[1]["cores"])
            for process, free in pools:
                fits = process.prepared and all(need <= free[name] for name, need in needs.items())
                if fits and process.submit(info, content):
                    for name, need in needs.items():
                        free[name] -= need
                    self._claimed[id(info)] = needs
                    del self._waiting[key]
                    break
