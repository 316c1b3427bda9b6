"""The verb ``partialfair audit``: options in, files and an exit status out."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from partialfair.audit import audit_file
from partialfair.audit.rates import RATIO
from partialfair.audit.reading import printable
from partialfair.audit.sentences import NOT_STATED, user
from partialfair.data.files import atomic_path
from partialfair.errors import ConfigError

EXCEEDED = 1


def run(
    source: Path,
    *,
    limits: Mapping[str, Sequence[float] | None],
    gate_texts: Sequence[str] = (),
    intervals: Sequence[str] = (),
    out: Path | None = None,
    junit: Path | None = None,
    sarif: Path | None = None,
    as_json: bool = False,
    auditor: str | None = None,
    **options: Any,
) -> int:
    """Audit a file, print and write the result; return the exit status.

    Args:
        source: the score file.
        limits: what was given as largest violation, by metric; ``None`` for no gate.
        gate_texts: further gates as texts ``metric=limit``.
        intervals: texts ``alpha,beta``, whose union is audited; none for the whole range.
        out: folder for the page and the JSON file.
        junit, sarif: files for the gates in these formats.
        as_json: print JSON in place of the summary.
        auditor: who runs the audit; by default the name of the user.
        options: see :func:`partialfair.audit.audit_file`.

    Returns:
        0 if every gate holds, else 1.

    Raises:
        ConfigError: a gate or an interval that cannot be read, or two gates on one metric.
    """
    named_limits = [(name, limit) for name, several in limits.items() for limit in several or ()]
    gates = _gates([*named_limits, *map(_gate, gate_texts)])
    interval = [_pair(text) for text in intervals] or [(0.0, 1.0)]
    options["owner"] = printable(options.get("owner") or "")
    result = audit_file(
        source, gates=gates, interval=interval, by=printable(user() if auditor is None else auditor), **options
    )
    command = printable(shlex.join(["partialfair", *sys.argv[1:]]))
    result = replace(result, record={**result.record, "command": command})
    print(result.to_json() if as_json else result.to_text(), end="" if as_json else "\n")
    written = result.write(out) if out is not None else []
    for path, text in ((junit, result.to_junit()), (sarif, result.to_sarif(printable(source.as_posix())))):
        if path is not None:
            with atomic_path(path) as temporary:
                temporary.write_text(text, encoding="utf-8")
            written.append(path)
    if not as_json:
        for path in written:
            print("\n" * (path == written[0]) + printable(str(path)))
        print("\n" + footer(result.record))
    return 0 if result.passed else EXCEEDED


def footer(record: Mapping[str, Any]) -> str:
    """How the audit is made again, and what ties it to its file, in two lines."""
    people = {"by": record["by"] or NOT_STATED, "model answered for by": record["owner"] or NOT_STATED}
    facts = {name: text for name, text in record.items() if name not in ("command", "by", "owner")}
    ties = ", ".join(f"{name} {text}" for name, text in (people | facts).items())
    return f"make it again: {record['command']}\n{ties}"


def _gates(limited: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Gates by metric; two on one metric are refused, because only one of them would be judged."""
    gates = dict(limited)
    for name in gates:
        limits = [f"{limit:g}" for metric, limit in limited if metric == name]
        if len(limits) > 1:
            raise ConfigError(f"gate on {name}: {len(limits)} limits are given ({', '.join(limits)}); give only one")
    return gates


def _gate(text: str) -> tuple[str, float]:
    """Return a gate written as ``metric=limit``; anything else is refused with the flag's name."""
    name, _, limit = text.partition("=")
    if name.strip() == RATIO:
        raise ConfigError(f"--max {text!r}: the limit of {RATIO} is a smallest value; write --min-selection-ratio")
    try:
        return name.strip(), float(limit)
    except ValueError:
        raise ConfigError(f"--max {text!r}: write METRIC=LIMIT, for instance sp_full=0.2") from None


def _pair(text: str) -> tuple[float, float]:
    """Read ``alpha,beta``."""
    try:
        low, high = (float(number) for number in text.split(","))
    except ValueError:
        raise ConfigError(f"--interval {text!r}: write two ranks, for instance --interval 0.05 0.30") from None
    return low, high
