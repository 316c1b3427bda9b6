"""Snakemake logger ``events``: each event as a line of JSON in a file, beside what Snakemake prints.

See README.md beside this file.
"""

import json
from dataclasses import dataclass, field
from logging import WARNING, LogRecord
from typing import Any, Optional

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

__all__ = ["LogHandler", "LogHandlerSettings"]

_FIELDS = {
    "run_info": ("stats",),
    "job_info": ("jobid", "rule_name", "wildcards", "threads"),
    "job_finished": ("job_id",),
    "job_error": ("jobid", "rule_name", "rule_msg", "log"),
    "group_error": ("groupid", "job_error_info"),
    "progress": ("done", "total"),
    "error": ("exception",),
}
"""What is kept of an event; of all others, and of what is none, the text."""
_WITH_TEXT = ("error",)


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """What the user may say of the file."""

    # Snakemake reads this type and does not know "str | None".

    file: Optional[str] = field(
        default=None, metadata={"help": "File that the events are written to, anew in each run.", "metavar": "FILE"}
    )


class LogHandler(LogHandlerBase):
    """Writes events as they come."""

    def __post_init__(self) -> None:
        """Open the file.

        Raises:
            WorkflowError: none is named, or it cannot be written.
        """
        if not isinstance(self.settings, LogHandlerSettings) or self.settings.file is None:
            raise WorkflowError("--logger events: name a file by --logger-events-file")
        self.baseFilename = self.settings.file
        try:
            self._stream = open(self.baseFilename, "w", encoding="utf-8", buffering=1)  # noqa: SIM115
        except OSError as error:
            raise WorkflowError(f"--logger-events-file {self.baseFilename}: {error.strerror}") from None

    def emit(self, record: LogRecord) -> None:
        """Write an event, or a text that is none."""
        name = getattr(record, "event", None)
        entry: dict[str, Any] = {"time": round(record.created, 3), "event": name and str(name)}
        if name is None:
            entry |= {"text": record.getMessage(), "warning": record.levelno >= WARNING}
        else:
            fields = _FIELDS.get(str(name))
            if fields is None:
                return
            entry |= {key: getattr(record, key, None) for key in fields}
            if name in _WITH_TEXT:
                entry["text"] = record.getMessage()
        try:
            self._stream.write(json.dumps(entry, default=_plain) + "\n")
        except (OSError, ValueError):  # a full disk: Snakemake's own log has all of it
            self.handleError(record)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()

    @property
    def writes_to_stream(self) -> bool:
        """Not to Snakemake's own output, which stays as it is."""
        return False

    @property
    def writes_to_file(self) -> bool:
        """To a file."""
        return True

    @property
    def has_filter(self) -> bool:
        """All events are written, however quiet Snakemake is."""
        return True

    @property
    def has_formatter(self) -> bool:
        """The format is its own."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """Not needed."""
        return False


def _plain(value: Any) -> Any:
    """Return a mapping or a sequence of Snakemake's as one that JSON knows."""
    if hasattr(value, "items"):
        return dict(value.items())
    return list(value) if hasattr(value, "__iter__") else str(value)
