"""What the scheduler selects, without Snakemake."""

import logging
from collections.abc import Hashable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_scheduler_plugins.tests import TestSchedulerBase as InterfaceTest

from snakemake_scheduler_plugin_blocks import Scheduler, SchedulerSettings
from snakemake_scheduler_plugin_blocks.scheduler import BLOCK
from snakemake_scheduler_plugin_blocks.waiting import Block, Waiting

EVERYTHING = {"_cores": 100, "mem_mb": 10**6}


class Job:
    """As much of a job as the scheduler asks for."""

    count = 0

    def __init__(self, block: str | None = None, rule: str = "train", priority: int = 0, mem_mb: int = 0) -> None:
        Job.count += 1
        self.jobid, self.rule, self.priority, self.attempt = Job.count, SimpleNamespace(name=rule), priority, 1
        self.wildcards_dict = {} if block is None else {"block": block}
        self.mem_mb = mem_mb
        self.scheduler_resources = {**self.resources, "_job_count": 1}

    @property
    def resources(self) -> dict[str, int]:
        return {"_cores": 1, "mem_mb": self.mem_mb * self.attempt}

    def is_group(self) -> bool:
        return False


def key(rule: str, wildcards: Mapping[str, str]) -> str | None:
    return wildcards.get("block")


class Machine:
    """Runs what the scheduler selects, with Snakemake's account of resources."""

    def __init__(self, together: Any = lambda job: "warm", **limits: int) -> None:
        dag = SimpleNamespace() if together is None else SimpleNamespace(together_key=together)
        settings = SchedulerSettings(key=f"{__name__}:key")
        self.scheduler = Scheduler(dag, settings, logging.getLogger())
        self.left, self.ready = dict(limits), set[Job]()

    def select(self, *new: Job) -> list[Job]:
        self.ready |= set(new)
        selected = list(self.scheduler.select_jobs(set(self.ready), [], self.left, {}))
        assert len(set(selected)) == len(selected) and set(selected) <= self.ready
        self.ready -= set(selected)
        self._account(selected, -1)
        assert min(self.left.values()) >= 0
        return selected

    def finish(self, *jobs: Job) -> None:
        self._account(jobs, 1)

    def fail(self, *jobs: Job) -> None:
        self._account(jobs, 1)
        for job in jobs:
            job.attempt += 1
        self.ready |= set(jobs)

    def _account(self, jobs: Any, sign: int) -> None:
        for name in self.left:
            if name != "_job_count":
                self.left[name] += sign * sum(job.scheduler_resources.get(name, 0) for job in jobs)


def blocks(jobs: list[Job]) -> list[list[int]]:
    """The numbers of the jobs that were selected together."""
    found: dict[Hashable, list[int]] = {}
    for job in jobs:
        found.setdefault(job.scheduler_resources.get(BLOCK, job), []).append(job.jobid)
    return list(found.values())


class TestInterface(InterfaceTest):
    __test__ = True

    def get_scheduler_cls(self) -> type[Scheduler]:
        return Scheduler

    def get_scheduler_settings(self) -> SchedulerSettings:
        return SchedulerSettings()


def test_blocks_take_the_place_of_one_job_and_are_released_with_the_last() -> None:
    machine = Machine(_cores=2, mem_mb=1000)
    jobs = [Job(block, mem_mb=400) for block in "aaabbbccc"]
    first = machine.select(*jobs)
    assert blocks(first) == [[job.jobid for job in jobs[:3]], [job.jobid for job in jobs[3:6]]]
    assert machine.left == {"_cores": 0, "mem_mb": 200}
    machine.finish(*first[:2])
    assert machine.left == {"_cores": 0, "mem_mb": 200} and machine.select() == []
    machine.finish(first[2])
    assert len(machine.select()) == 1  # the one block left is taken in parts, as there are two cores
    machine.finish(*first[3:])
    assert len(machine.select()) == 1


def test_the_longest_block_of_the_highest_priority_comes_first() -> None:
    small, large, single, urgent = [Job("a"), Job("a")], [Job("b") for _ in range(3)], Job(), Job(priority=1)
    selected = []
    machine = Machine(_cores=1, mem_mb=1000)
    machine.ready = {*small, *large, single, urgent}
    while machine.ready:
        chosen = machine.select()
        machine.finish(*chosen)
        selected.append(chosen)
    assert selected == [[urgent], large, small, [single]]


def test_jobs_in_a_block_need_the_same() -> None:
    machine = Machine(_cores=1, mem_mb=1000)
    jobs = [Job("a", mem_mb=100), Job("a", mem_mb=200), Job("a", rule="evaluate", mem_mb=100), Job("a", mem_mb=100)]
    assert machine.select(*jobs) == [jobs[0], jobs[3]]


@pytest.mark.parametrize(("cores", "sizes"), [(1, [12]), (2, [6, 6]), (3, [4, 4, 4]), (4, [3] * 4), (8, [1] * 8)])
def test_a_block_is_divided_if_cores_were_idle_else(cores: int, sizes: list[int]) -> None:
    jobs = [Job("a") for _ in range(12)]
    selected = Machine(_cores=cores, mem_mb=1000).select(*jobs)
    assert [len(block) for block in blocks(selected)] == sizes


def test_memory_counts_as_cores_do() -> None:
    jobs = [Job("a", mem_mb=400) for _ in range(12)]
    selected = Machine(_cores=16, mem_mb=1000).select(*jobs)
    assert [len(block) for block in blocks(selected)] == [6, 6]


def test_a_failed_job_comes_back_alone_and_asks_for_more() -> None:
    machine = Machine(_cores=1, mem_mb=1000)
    jobs = [Job("a", mem_mb=400) for _ in range(3)]
    assert machine.select(*jobs) == jobs
    machine.finish(jobs[1])
    machine.fail(jobs[0], jobs[2])
    assert machine.left == {"_cores": 1, "mem_mb": 1000}
    assert machine.select() == [jobs[0]] and machine.left["mem_mb"] == 200
    machine.finish(jobs[0])
    assert machine.select() == [jobs[2]] and machine.left["mem_mb"] == 200
    machine.finish(jobs[2])
    assert machine.left == {"_cores": 1, "mem_mb": 1000}
    assert not any(BLOCK in job.scheduler_resources for job in (jobs[0], jobs[2]))


def test_a_failed_job_that_was_alone_asks_for_more_as_well() -> None:
    machine = Machine(_cores=1, mem_mb=1000)
    job = Job(mem_mb=400)
    machine.fail(*machine.select(job))
    assert machine.select() == [job] and machine.left["mem_mb"] == 200


def test_no_blocks_for_an_executor_that_does_not_make_them() -> None:
    jobs = [Job("a") for _ in range(4)]
    assert len(Machine(None, _cores=2, mem_mb=1000).select(*jobs)) == 2
    assert len(Machine(lambda job: None, _cores=2, mem_mb=1000).select(*jobs)) == 2
    by_parity = Machine(lambda job: job.jobid % 2, _cores=2, mem_mb=1000).select(*jobs)
    assert [{number % 2 for number in block} for block in blocks(by_parity)] in ([{0}, {1}], [{1}, {0}])


def test_the_limit_of_jobs_is_kept() -> None:
    machine = Machine(_cores=2, mem_mb=1000, _job_count=3)
    jobs = [Job(block) for block in "aaaabbbb"]
    assert [len(block) for block in blocks(machine.select(*jobs))] == [3]
    machine.left["_job_count"] = 0
    assert machine.select() == []


def test_jobs_that_are_gone_are_forgotten() -> None:
    machine = Machine(_cores=1, mem_mb=1000)
    jobs = [Job("a") for _ in range(3)]
    blocker = Job("z", priority=1)
    assert machine.select(blocker, *jobs) == [blocker]
    machine.ready -= {jobs[1]}
    machine.finish(blocker)
    assert machine.select() == [jobs[0], jobs[2]]


@pytest.mark.parametrize("name", ["nothing", "no_such:key", f"{__name__}:no_such_key"])
def test_a_key_that_is_not_there_is_told(name: str) -> None:
    with pytest.raises(WorkflowError, match=f"--scheduler-blocks-key {name}: .*; give a PACKAGE.MODULE:FUNCTION"):
        Scheduler(SimpleNamespace(), SchedulerSettings(key=name), logging.getLogger())


def test_a_round_costs_what_changes() -> None:
    """Looks at no more than the blocks that are selected, however many wait."""

    class Counted(Waiting):
        looked_at = 0

        def jobs(self, block: Block) -> list[Any]:
            Counted.looked_at += 1
            return super().jobs(block)

    machine = Machine(_cores=2, mem_mb=1000)
    machine.scheduler._waiting = Counted()
    running = machine.select(*(Job() for _ in range(2000)))
    for _ in range(100):
        machine.finish(*running)
        running = machine.select()
    assert len(running) == 2 and Counted.looked_at == 2 * 101
