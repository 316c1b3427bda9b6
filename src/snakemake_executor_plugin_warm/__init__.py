"""Snakemake executor ``warm``: jobs that are ``python -m MODULE`` run as forks of a process that has imported all.

See README.md beside this file.
"""

from snakemake_executor_plugin_warm.executor import Executor
from snakemake_executor_plugin_warm.options import ExecutorSettings
from snakemake_executor_plugin_warm.private import common_settings

__all__ = ["Executor", "ExecutorSettings", "common_settings"]
