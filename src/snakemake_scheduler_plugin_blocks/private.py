"""What the scheduler uses of Snakemake 9.27 that no interface of its promises, all of it.

Each part has a test of its name in tests/warm_executor/test_private.py, so that an upgrade which breaks one says which.
"""

from collections.abc import Hashable, Iterable
from typing import Any

Job = Any


def place(job: Job) -> str:
    """Return what sorts jobs by their place in the workflow."""
    return str(getattr(job, "jobid", "")).zfill(12)


def rule_and_wildcards(job: Job) -> tuple[str, dict[str, str]] | None:
    """Return the name of a job's rule and its wildcards; nothing of a group, and of a job that has failed before."""
    if job.is_group() or job.attempt > 1:
        return None
    return job.rule.name, dict(job.wildcards_dict)


def set_needs(job: Job, needs: Iterable[tuple[str, int]]) -> None:
    """Change what Snakemake reserves for a job when it is selected, and releases when it ends.

    That is one and the same dictionary, which Snakemake makes once per job and reads each time.
    """
    job.scheduler_resources.update(needs)


def own_needs(job: Job, names: Iterable[str]) -> list[tuple[str, int]]:
    """Return what a job needs in the present attempt; Snakemake keeps reserving what the first one asked for."""
    return [(name, job.resources.get(name, 0)) for name in names]


def together_key(dag: Any, job: Job) -> Hashable | None:
    """Ask the executor, if it makes blocks, what jobs must have in common to be in one; ``None``: alone."""
    ask = getattr(dag, "together_key", None)
    return None if ask is None else ask(job)


def spare_sizes(dag: Any) -> None:
    """Keep Snakemake from asking for the sizes of all inputs of all ready jobs in every round of scheduling.

    They are for schedulers that order jobs by them. With 2,000 jobs that have inputs of their own, a third of all time.
    """

    async def nothing(_: Any) -> None:
        return

    scheduler = getattr(getattr(dag, "workflow", None), "scheduler", None)
    if scheduler is not None:
        scheduler.update_input_sizes = nothing
