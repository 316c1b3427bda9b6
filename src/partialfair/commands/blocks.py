"""Which jobs the workflow's scheduler starts together: told to ``snakemake_scheduler_plugin_blocks`` by the profile.

A module of its own because every start of Snakemake imports it, and needs no job's modules for it.
"""

from collections.abc import Mapping
from functools import cache

from partialfair import plugins


def block(rule: str, wildcards: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return what training jobs that are computed at less cost together have in common; ``None`` for all others.

    Args:
        rule: name of the job's rule.
        wildcards: of the job.
    """
    if rule != "train":
        return None
    free = _together(wildcards["algorithm"])
    return tuple(value for name, value in wildcards.items() if name not in free) if free else None


@cache
def _together(algorithm: str) -> frozenset[str]:
    """In what the tasks of a block may differ, by the algorithm's own word."""
    found: frozenset[str] = plugins.load("algorithms", algorithm).ALGORITHM.together
    return found
