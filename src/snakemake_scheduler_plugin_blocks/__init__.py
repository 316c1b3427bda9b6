"""Snakemake scheduler ``blocks``: selects jobs that one process had better make together as one.

See README.md beside this file.
"""

from snakemake_scheduler_plugin_blocks.scheduler import Scheduler, SchedulerSettings

__all__ = ["Scheduler", "SchedulerSettings"]
