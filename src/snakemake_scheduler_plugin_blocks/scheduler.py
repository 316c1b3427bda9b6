"""The scheduler: blocks first, as long as they fill the machine."""

import importlib
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import ceil
from typing import Any, Optional

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_scheduler_plugins.base import SchedulerBase
from snakemake_interface_scheduler_plugins.settings import SchedulerSettingsBase

from snakemake_scheduler_plugin_blocks import private
from snakemake_scheduler_plugin_blocks.waiting import Block, Job, Needs, Waiting

BLOCK = "_block"
"""Name under which a selected job's ``scheduler_resources`` hold the number of its block."""
COUNT = "_job_count"
"""Snakemake's name for the number of jobs that may still be started."""
Key = Callable[[str, dict[str, str]], Hashable]


@dataclass
class SchedulerSettings(SchedulerSettingsBase):
    """What the user may say of blocks."""

    # Snakemake reads this type and does not know "str | None".

    key: Optional[str] = field(
        default=None,
        metadata={
            "help": "Function (name of a rule, its wildcards as a dict) that returns what the jobs of a block have in "
            "common, or None for a job that is selected alone. Without it, all are.",
            "metavar": "PACKAGE.MODULE:FUNCTION",
        },
    )


class Scheduler(SchedulerBase):
    """Selects by priority, then the longest block first.

    Only an executor that makes the jobs of a block one after another, or together, may be given one. It says so by
    ``dag.together_key(job)``, which returns what jobs must have in common for that, and ``None`` for a job that must be
    alone. With any other executor each job is a block of its own.
    """

    def __post_init__(self) -> None:
        """Begin with nothing that waits."""
        self._waiting = Waiting()
        self._key = None if self.settings is None or self.settings.key is None else _function(self.settings.key)
        self._names: tuple[str, ...] = ()
        self._total: dict[str, int] = {}
        self._first_round = True
        self._numbers = count(1)

    def select_jobs(
        self,
        selectable_jobs: Collection[Job],
        remaining_jobs: Sequence[Job],
        available_resources: Mapping[str, int],
        input_sizes: Any,
    ) -> Sequence[Job]:
        """Return what to start now of the jobs that are ready."""
        self._names = tuple(name for name in available_resources if name != COUNT)
        if self._first_round:
            private.spare_sizes(self.dag)
            self._first_round = False
        for name in self._names:  # in the first round, nothing has been taken yet
            self._total[name] = max(self._total.get(name, 0), available_resources[name])
        self._update(selectable_jobs)
        blocks = self._select([available_resources[name] for name in self._names], available_resources.get(COUNT))
        for block in blocks:
            for job in block:
                self._waiting.remove(job)
            if len(block) > 1:
                self._mark(block)
        return [job for block in blocks for job in block]

    def _update(self, selectable: Collection[Job]) -> None:
        """Add the jobs that have become ready, remove those that are so no more."""
        jobs = selectable if isinstance(selectable, set) else set(selectable)
        for job in self._waiting.gone(jobs):
            self._waiting.remove(job)
        # A set comes in any order.
        for job in sorted((job for job in jobs if job not in self._waiting), key=private.place):
            self._restore(job)
            needs = tuple(job.scheduler_resources.get(name, 0) for name in self._names)
            self._waiting.add(job, Block(self._block_key(job), job.priority, needs))

    def _restore(self, job: Job) -> None:
        """Let a job need again what it needs by itself, after a block or a failed attempt."""
        if job.scheduler_resources.pop(BLOCK, None) is not None or getattr(job, "attempt", 1) > 1:
            private.set_needs(job, private.own_needs(job, self._names))

    def _block_key(self, job: Job) -> Hashable:
        """Return what the jobs of a block have in common, and no other has; of a job alone, the job."""
        if self._key is None:
            return job
        # A job that has failed comes back alone: whatever it was, others shall not suffer from it.
        known = private.rule_and_wildcards(job)
        key = None if known is None else self._key(*known)
        common = None if key is None else private.together_key(self.dag, job)
        return job if known is None or common is None else (known[0], key, common)

    def _select(self, left: list[int], jobs_left: int | None) -> list[list[Job]]:
        """Return the blocks, whole or in parts, that find a place in what is left of the resources."""
        chosen: list[list[Job]] = []
        for length, needs, blocks in self._waiting.ranks():
            size = self._size(length, needs)
            for block in blocks:
                jobs = self._waiting.jobs(block)
                while jobs and _fits(needs, left) and jobs_left != 0:
                    part = jobs[: size if jobs_left is None else min(size, jobs_left)]
                    jobs = jobs[len(part) :]
                    chosen.append(part)
                    left = [have - need for have, need in zip(left, needs, strict=True)]
                    jobs_left = None if jobs_left is None else jobs_left - len(part)
                if not _fits(needs, left):
                    break
        return chosen

    def _size(self, length: int, needs: Needs) -> int:
        """Return how many jobs of a block to select at once: all, unless a part of the machine would be idle."""
        places = [self._total[name] // need for name, need in zip(self._names, needs, strict=True) if need > 0]
        parts = ceil(min(places, default=1) / len(self._waiting))
        return max(1, length // max(1, parts))

    def _mark(self, block: Sequence[Job]) -> None:
        """Have the jobs of a block known as such, and the last one need for all.

        Snakemake reserves what a job's ``scheduler_resources`` say when it is selected and releases it when it ends.
        The last job ends last, so that the block has its place to the end.
        """
        number = next(self._numbers)
        for job in block:
            private.set_needs(job, [(BLOCK, number)])
        for job in block[:-1]:
            private.set_needs(job, [(name, 0) for name in self._names])


def _fits(needs: Needs, left: Sequence[int]) -> bool:
    return all(need <= have for need, have in zip(needs, left, strict=True))


def _function(name: str) -> Key:
    """Return the function PACKAGE.MODULE:FUNCTION.

    Raises:
        WorkflowError: there is none.
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise WorkflowError(f"--scheduler-blocks-key {name}: {error}; give a PACKAGE.MODULE:FUNCTION") from None
