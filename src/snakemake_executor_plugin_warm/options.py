"""Options of the executor: ``--warm-...`` on the command line, ``warm-...`` in a profile."""

import shlex
from dataclasses import dataclass, field
from typing import Any, Optional

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.settings import ExecutorSettingsBase


def _option(text: str, metavar: str) -> Any:
    return field(default=None, metadata={"help": text, "metavar": metavar})


@dataclass
class ExecutorSettings(ExecutorSettingsBase):
    """What the user may say of warm processes."""

    # Snakemake reads these types and does not know "str | None".

    module: Optional[str] = _option(
        "Modules whose jobs run warm: those of the form `python -m MODULE ... > LOG 2>&1`. All others run as with the "
        "executor local.",
        "MODULE[,MODULE]",
    )
    preload: Optional[str] = _option("Modules that each warm process imports before its first job.", "MODULE[,MODULE]")
    rehearse: Optional[str] = _option(
        "Function without arguments that each warm process of one thread calls before its first job: what it loads "
        "and compiles, no job has to.",
        "PACKAGE.MODULE:FUNCTION",
    )
    launch: Optional[str] = _option(
        "Command that starts a warm process somewhere else, where this folder is at the same path, and passes its "
        "standard streams on, such as `srun --ntasks=1 --cpus-per-task={cores} --mem={mem_mb}M`. Names in braces are "
        "those of --warm-pool-resources. Without it, warm processes run here.",
        "COMMAND",
    )
    pools: int = field(default=1, metadata={"help": "How many warm processes --warm-launch starts.", "metavar": "N"})
    pool_resources: Optional[str] = _option(
        "What the jobs that run at once in a process of --warm-launch may claim: cores, and resources of jobs.",
        "cores=N[,NAME=N]",
    )

    @property
    def modules(self) -> frozenset[str]:
        """The modules whose jobs run warm."""
        return frozenset(names(self.module))

    def setup(self) -> dict[str, Any]:
        """Return what a warm process is told at its start.

        Raises:
            WorkflowError: a function is not given as PACKAGE.MODULE:FUNCTION.
        """
        if self.rehearse is not None and self.rehearse.count(":") != 1:
            raise WorkflowError(f"--warm-rehearse {self.rehearse}: give a function as PACKAGE.MODULE:FUNCTION")
        return {"preload": names(self.preload), "rehearse": self.rehearse}

    def capacity(self) -> dict[str, int]:
        """Return what the jobs of one launched process may claim at once.

        Raises:
            WorkflowError: an entry is no NAME=N.
        """
        capacity = {"cores": 1}
        for entry in names(self.pool_resources):
            name, _, number = entry.partition("=")
            if not (name.isidentifier() and number.isdecimal() and (name != "cores" or int(number))):
                raise WorkflowError(f"--warm-pool-resources {entry}: give NAME=N, such as cores=2,mem_mb=8000")
            capacity[name] = int(number)
        return capacity

    def launch_command(self) -> list[str]:
        """Return the words of the launch command.

        Raises:
            WorkflowError: it cannot be split into words, or names what is no resource of a pool.
        """
        try:
            return [word.format_map(self.capacity()) for word in shlex.split(self.launch or "")]
        except (KeyError, ValueError, IndexError) as error:
            placeholders = ", ".join(f"{{{name}}}" for name in self.capacity())
            raise WorkflowError(f"--warm-launch {self.launch}: {error}; it may name {placeholders}") from None


def names(text: str | None) -> list[str]:
    """Split names at commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]
