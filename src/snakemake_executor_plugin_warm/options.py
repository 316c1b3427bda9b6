"""Options of the executor: ``--warm-...`` on the command line, ``warm-...`` in a profile."""

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
    together: Optional[str] = _option(
        "Function (jobs, report) that makes a block of jobs in one process; see the plugin's README.",
        "PACKAGE.MODULE:FUNCTION",
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
        for option, value in (("rehearse", self.rehearse), ("together", self.together)):
            if value is not None and value.count(":") != 1:
                raise WorkflowError(f"--warm-{option} {value}: give a function as PACKAGE.MODULE:FUNCTION")
        return {"preload": names(self.preload), "rehearse": self.rehearse, "together": self.together}


def names(text: str | None) -> list[str]:
    """Split names at commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]
