"""What an audit returns, as data, text, JSON and HTML."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair import __version__
from partialfair.audit.measures import PARTIAL, QUALITY, WHOLE, Measured, Measurement
from partialfair.errors import PluginError
from partialfair.metrics import get
from partialfair.metrics.choose_interval import Suggestion
from partialfair.plugins import did_you_mean
from partialfair.tables.files import atomic_path
from partialfair.tables.intervals import GroupPairs

HTML_NAME, JSON_NAME = "audit.html", "audit.json"


@dataclass(frozen=True)
class Gate:
    """A limit on a violation.

    Attributes:
        metric, limit: what may not exceed what.
        value: what was measured; ``None`` if not estimable, which fails.
        passed: the verdict; it compares the estimate, not the ends of its interval.
        reason: why there is no value, or which groups it leaves out.
    """

    metric: str
    limit: float
    value: float | None
    passed: bool
    reason: str = ""


@dataclass(frozen=True)
class GroupLine:
    """One group: its rows, how many the interval keeps, and its rates."""

    name: str
    rows: int
    kept: int
    reason: str
    median_score: float
    positive_rate: Measurement
    base_rate: float | None
    accuracy: float | None


@dataclass(frozen=True, eq=False)
class Curve:
    """What the figures are drawn from.

    Attributes:
        names, codes: compared groups.
        ranks: (G, B + 1) share of each group above every score, from 0 to 1.
        edges: (B,) scores, descending; count: (G, B) rows of each group there.
    """

    names: list[str]
    codes: list[int]
    ranks: NDArray[np.float64]
    edges: NDArray[np.float64]
    count: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AuditResult:
    """Result of an audit; see :func:`partialfair.audit.audit_scores` for the settings it repeats.

    Attributes:
        groups: one entry per group.
        measured: metrics of all rows, per pair of groups, and the largest over pairs.
        gates: the limits and their verdicts.
        suggestion: a suggested interval.
        curve: what the figures are drawn from.
        unions: interval of each group.
    """

    source: str
    rows: int
    interval: str
    threshold: float
    default_threshold: bool
    positive_label: str
    labelled: bool
    level: float
    replicates: int
    min_group_size: int
    groups: list[GroupLine]
    measured: Measured
    gates: list[Gate]
    suggestion: Suggestion | None
    curve: Curve
    unions: GroupPairs

    @property
    def passed(self) -> bool:
        """Whether every gate holds (true without gates)."""
        return all(gate.passed for gate in self.gates)

    def metric(self, name: str) -> float | None:
        """A metric of all rows, or the largest violation over pairs; ``None`` if not estimable.

        Raises:
            PluginError: an audit has no metric of that name.
        """
        known = {**self.measured.overall, **self.measured.quality}
        if name not in known:
            raise PluginError(f"an audit has no metric {name!r}; {did_you_mean(name, known)}")
        return known[name].value

    def to_dict(self) -> dict[str, Any]:
        """Everything but the figures, in plain types."""
        names = [line.name for line in self.groups]
        return {
            "partialfair": __version__,
            "source": self.source,
            "rows": self.rows,
            "interval": self.interval,
            "threshold": self.threshold,
            "positive_label": self.positive_label or None,
            "level": self.level,
            "replicates": self.replicates,
            "min_group_size": self.min_group_size,
            "groups": [_group(line) for line in self.groups],
            "quality": {name: _number(found) for name, found in self.measured.quality.items()},
            "overall": {name: _number(found) for name, found in self.measured.overall.items()},
            "pairs": [
                {"groups": [names[code] for code in pair], "metrics": {name: _number(m) for name, m in found.items()}}
                for pair, found in self.measured.pairs.items()
            ],
            "suggested_interval": _suggested(self.suggestion),
            "gates": [vars(gate) for gate in self.gates],
            "passed": self.passed,
        }

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """A self-contained page with tables and figures."""
        from partialfair.audit.audit_page import page

        return page(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Write the page and the JSON file; return their paths."""
        written = []
        for name, content in ((HTML_NAME, self.to_html()), (JSON_NAME, self.to_json())):
            target = Path(folder) / name
            with atomic_path(target) as path:
                path.write_text(content, encoding="utf-8")
            written.append(target)
        return written

    def to_text(self) -> str:
        """A short summary for a terminal."""
        head = f"{self.source}: {self.rows} rows, {len(self.groups)} groups, interval {self.interval}"
        lines = [f"{head}, {threshold_text(self)}"]
        notes = [f" ({line.reason})" if line.reason else "" for line in self.groups]
        lines += [f"  {line.name}: {line.rows} rows{note}" for line, note in zip(self.groups, notes, strict=True)]
        for found, names in ((self.measured.quality, QUALITY), (self.measured.overall, (*PARTIAL, *WHOLE))):
            lines += ["", *(f"  {name:14} {shown(found[name]):26} {get(name).title}" for name in names)]
        if self.suggestion is not None:
            low, high = self.suggestion.interval
            rate = self.suggestion.positive_rate
            lines += ["", f"  suggested interval: {low:g} {high:g} (covers the positive rate {rate:.3f})"]
        for gate in self.gates:
            lines += ["", f"  gate {gate.metric} <= {gate.limit:g}: {verdict(gate)}"]
        return "\n".join(lines)


def threshold_text(result: AuditResult) -> str:
    """The threshold and where it comes from."""
    return f"threshold {result.threshold:g}" + (" (default)" if result.default_threshold else "")


def verdict(gate: Gate) -> str:
    """What came of a gate, in a few words."""
    note = f" ({gate.reason})" if gate.reason else ""
    if gate.value is None:
        return f"failed, {gate.reason}"
    return f"{'passed' if gate.passed else 'exceeded'}, {gate.value:.4f}{note}"


def shown(found: Measurement, digits: int = 4) -> str:
    """A number with its interval, or that it is not estimable."""
    if found.value is None:
        return "not estimable"
    if found.low is None:
        return f"{found.value:.{digits}f}"
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def _number(found: Measurement) -> dict[str, Any]:
    out: dict[str, Any] = {"value": found.value}
    if found.low is not None:
        out["ci"] = [found.low, found.high]
    if found.reason:
        out["not_estimable" if found.value is None else "leaves_out"] = found.reason
    return out


def _group(line: GroupLine) -> dict[str, Any]:
    return {
        "name": line.name,
        "rows": line.rows,
        "kept_rows": line.kept,
        "compared": not line.reason,
        "median_score": line.median_score,
        "positive_rate": _number(line.positive_rate),
        "base_rate": line.base_rate,
        "accuracy": line.accuracy,
    }


def _suggested(suggestion: Suggestion | None) -> dict[str, Any] | None:
    if suggestion is None:
        return None
    rows: Sequence[dict[str, Any]] = suggestion.table.to_dict("records")
    return {
        "interval": list(suggestion.interval),
        "positive_rate": suggestion.positive_rate,
        "measure": suggestion.measure,
        "candidates": [
            {
                "alpha": row["alpha"],
                "beta": row["beta"],
                "violation": None if math.isnan(row["violation"]) else row["violation"],
                "chosen": bool(row["chosen"]),
            }
            for row in rows
        ],
    }
