"""What an audit returns, as data, text, JSON and HTML."""

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from partialfair.audit import sentences
from partialfair.audit.measures import PARTIAL, QUALITY, WHOLE, Measured, Measurement
from partialfair.audit.rates import RATES, RATIO, GroupLine
from partialfair.data.files import atomic_path
from partialfair.data.intervals import GroupPairs
from partialfair.errors import ConfigError, PluginError
from partialfair.metrics.choose_interval import Suggestion
from partialfair.plugins import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

HTML_NAME, JSON_NAME = "audit.html", "audit.json"
SHOWN_GROUPS = 30
SHOWN_GATES = 8  # of a repr
LINE = 110  # letters of its lines


@dataclass(frozen=True)
class Gate:
    """A limit on a violation, or on the ratio of selection rates.

    Attributes:
        metric, limit: what may not exceed what; ``selection_ratio`` may not fall below.
        value: what was measured; ``None`` if not estimable, which fails.
        passed: the verdict; it compares the estimate, not the ends of its interval.
        reason: why there is no value, or what it does not cover.
        groups: names of the two groups that are farthest apart, the one with the lower scores or rates first.
    """

    metric: str
    limit: float
    value: float | None
    passed: bool
    reason: str = ""
    groups: tuple[str, str] | None = None

    def __str__(self) -> str:
        relation = ">=" if self.metric == RATIO else "<="
        return f"{sentences.title(self.metric)} ({self.metric}) {relation} {self.limit:g}"


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


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult:
    """Result of an audit; see :func:`partialfair.audit.audit_scores` for the settings it repeats.

    Attributes:
        chosen_over: the other label, if nobody said which of the two is positive.
        weighted: whether the rows have weights.
        confidence_intervals: whether confidence intervals of violations were computed.
        groups: one entry per group.
        measured: metrics of all rows, per pair of groups, and the largest over pairs.
        ratio: the lowest selection rate divided by the highest.
        gates: the limits and their verdicts.
        suggestion: a suggested interval.
        curve: what the figures are drawn from.
        unions: interval of each group.
        record: what an auditor needs to repeat it: version, who ran it and who answers for the model (``None`` if
            not stated), and, of a file, its checksum, the date, the command.
    """

    source: str
    rows: int
    interval: str
    threshold: float
    default_threshold: bool
    positive_label: str
    chosen_over: str
    labelled: bool
    level: float
    weighted: bool
    confidence_intervals: bool
    min_group_size: int
    groups: list[GroupLine]
    measured: Measured
    ratio: Measurement
    gates: list[Gate]
    suggestion: Suggestion | None
    curve: Curve
    unions: GroupPairs
    record: Mapping[str, Any]

    @property
    def passed(self) -> bool:
        """Tell whether every gate holds (true without gates)."""
        return all(gate.passed for gate in self.gates)

    def metric(self, name: str) -> float | None:
        """Return a metric of all rows, or the largest violation over pairs; ``None`` if not estimable.

        Raises:
            PluginError: an audit has no metric of that name.
        """
        measurements = {**self.measured.overall, **self.measured.quality, RATIO: self.ratio}
        if name not in measurements:
            raise PluginError(f"an audit has no metric {name!r}; {did_you_mean(name, measurements)}")
        return measurements[name].value

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the figures, in plain types."""
        names = [line.name for line in self.groups]
        return {
            **self.record,
            "source": self.source,
            "rows": self.rows,
            "interval": self.interval,
            "threshold": self.threshold if math.isfinite(self.threshold) else None,
            "positive_label": self.positive_label or None,
            "level": self.level,
            "weighted": self.weighted,
            "confidence_intervals": self.confidence_intervals,
            "min_group_size": self.min_group_size,
            "groups": [_group(line) for line in self.groups],
            "quality": {name: _number(measurement) for name, measurement in self.measured.quality.items()},
            "overall": {name: _number(measurement, names) for name, measurement in self.measured.overall.items()},
            RATIO: _number(self.ratio, names),
            "pairs": [
                {
                    "groups": [names[code] for code in pair],
                    "metrics": {name: _number(m, names, pair) for name, m in measurements.items()},
                }
                for pair, measurements in self.measured.pairs.items()
            ],
            "comparisons": self.comparisons,
            "suggested_interval": None if self.suggestion is None else suggested(self.suggestion),
            "summary": [sentences.gate_sentence(self.gates), sentences.headline(self)],
            "gates": [vars(gate) for gate in self.gates],
            "remedies": sentences.remedies(self),
            "passed": self.passed,
        }

    @property
    def comparisons(self) -> str:
        """Return what the number of pairs means for their intervals."""
        n = len(self.measured.pairs)
        if n < 2 or not self.confidence_intervals:
            return ""
        return (
            f"{n} pairs of groups are compared. The confidence interval of a largest violation or lowest ratio is that "
            "of the largest or lowest over pairs. Those of single pairs and groups are not corrected for their number: "
            f"at {self.level:.0%}, about {n * (1 - self.level):.1f} of {n} miss by chance."
        )

    def __repr__(self) -> str:
        """Return what was found, the gates and the violations, on one screen."""
        names = (*PARTIAL, *(() if sentences.is_whole(self) else WHOLE), RATIO)
        measurements = {**self.measured.overall, RATIO: self.ratio}
        shown_gates = [f"  gate {gate}: {verdict(gate)}" for gate in self.gates[:SHOWN_GATES]]
        shown_gates += [f"  ... {len(self.gates) - SHOWN_GATES} more gates"] * (len(self.gates) > SHOWN_GATES)
        lines = [
            f"Audit of {self.source}: {sentences.counted(self.rows, 'row')}, {len(self.curve.names)} groups compared, "
            f"interval {self.interval}, {threshold_text(self)}",
            sentences.headline(self),
            sentences.gate_sentence(self.gates),
            *("  " + textwrap.shorten(line, LINE - 2, placeholder=" ...") for line in shown_gates),
            *(f"  {name:16} {number_text(measurements[name])}" for name in names),
            "More: to_text(), to_frame(), plot(), to_html(), write(folder).",
        ]
        return "\n".join(
            textwrap.fill(line, LINE, subsequent_indent="  ") if len(line) > LINE else line for line in lines
        )

    def _repr_html_(self) -> str:
        """Return what was found, the gates, groups and violations, as a notebook shows it."""
        from partialfair.audit.audit_page import summary

        return summary(self)

    def to_frame(self, of: str = "violations") -> "pd.DataFrame":
        """Return the numbers as a dataframe, with columns ``value``, ``low``, ``high`` and ``reason``.

        The reason is why there is no value, or no interval.

        Args:
            of: "violations": the largest over pairs, the ratio, and the quality of all rows, indexed by metric, with
                the names of the two groups (``lower``, ``higher``). "pairs": indexed by both groups and the metric.
                "groups": rates, indexed by group and rate.

        Raises:
            ConfigError: another text.
        """
        import pandas as pd

        names = [line.name for line in self.groups]
        keyed: list[tuple[tuple[str, ...], Measurement]]
        if of == "violations":
            keys, rows = ["metric"], {**self.measured.overall, RATIO: self.ratio, **self.measured.quality}.items()
            keyed = [((name,), measurement) for name, measurement in rows]
        elif of == "pairs":
            keys = ["group", "other", "metric"]
            pairs = self.measured.pairs.items()
            keyed = [
                ((names[a], names[b], name), measurement)
                for (a, b), metrics in pairs
                for name, measurement in metrics.items()
            ]
        elif of == "groups":
            keys = ["group", "rate"]
            keyed = [((line.name, name), getattr(line, name)) for line in self.groups for name in RATES]
        else:
            raise ConfigError(f"of is {of!r}; use 'violations', 'pairs' or 'groups'")
        lines = []
        for key, measurement in keyed:
            line: dict[str, Any] = dict(zip(keys, key, strict=True))
            line |= {number: getattr(measurement, number) for number in ("value", "low", "high")}
            if of != "groups":
                codes = dict(zip(("lower", "higher"), measurement.pair or (None, None), strict=True))
                line |= {end: None if code is None else names[code] for end, code in codes.items()}
            lines.append(line | {"reason": measurement.reason or measurement.no_interval})
        frame = pd.DataFrame(lines)
        return frame.astype(dict.fromkeys(("value", "low", "high"), "float64")).set_index(keys)

    def plot(self, kind: str = "violations") -> Any:
        """Draw a picture; return the matplotlib figure.

        Args:
            kind: "violations" with their confidence intervals and limits, "ranks" (share of each group above a falling
                threshold), or "densities" of the scores.

        Raises:
            ConfigError: another text.
        """
        from partialfair.audit import pictures

        return pictures.plot(self, kind)

    def to_junit(self) -> str:
        """Return the gates as a JUnit test suite (XML text), which build servers show."""
        from partialfair.audit.reports import junit

        return junit(self)

    def to_sarif(self, path: str | None = None) -> str:
        """Return the gates as SARIF 2.1.0 (JSON text), which code hosts show beside the file ``path``."""
        from partialfair.audit.reports import sarif

        return sarif(self, path or self.source)

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return a self-contained page with tables and figures."""
        from partialfair.audit.audit_page import page

        return page(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Write the page and the JSON file; return their paths."""
        written = []
        for target in (Path(folder) / name for name in (HTML_NAME, JSON_NAME)):
            if target.is_dir():  # seen before the first of the two is written
                raise ConfigError(f"{target} is a folder where a file has to be written; move it away and run again")
        for name, content in ((HTML_NAME, self.to_html()), (JSON_NAME, self.to_json())):
            target = Path(folder) / name
            with atomic_path(target) as path:
                path.write_text(content, encoding="utf-8")
            written.append(target)
        return written

    def to_text(self) -> str:
        """Return a short summary for a terminal."""
        head = f"{self.source}: {self.rows} rows, {len(self.groups)} groups, interval {self.interval}"
        over = f" (default, rather than {self.chosen_over!r})" if self.chosen_over else ""
        label = f", positive label {self.positive_label!r}{over}" if self.positive_label else ""
        lines = [
            f"{head}, {threshold_text(self)}{label}",
            sentences.headline(self),
            sentences.gate_sentence(self.gates),
            "",
        ]
        notes = [f" ({line.reason})" if line.reason else "" for line in self.groups]
        lines += [
            f"  {line.name}: {line.rows} rows, selection rate {number_text(line.positive_rate, 3)}{note}"
            for line, note in zip(self.groups[:SHOWN_GROUPS], notes, strict=False)
        ]
        lines += [f"  ... {len(self.groups) - SHOWN_GROUPS} more groups"] * (len(self.groups) > SHOWN_GROUPS)
        reasons: list[str] = []
        measurements = {**self.measured.quality, **self.measured.overall, RATIO: self.ratio}
        for names in (QUALITY, (*PARTIAL, *WHOLE, RATIO)):
            lines += ["", *(self._line(name, measurements[name], reasons) for name in names)]
        lines += [f"  [{number}] {reason}" for number, reason in enumerate(reasons, 1)]
        if self.suggestion is not None:
            low, high = self.suggestion.interval
            rate = self.suggestion.positive_rate
            lines += ["", f"  suggested interval: {low:g} {high:g} (covers the positive rate {rate:.3f})"]
        lines += ["", *(f"  gate {gate}: {verdict(gate)}" for gate in self.gates)] * bool(self.gates)
        lines += [f"  remedy: {text}" for text in sentences.remedies(self)]
        return "\n".join([*lines, *([f"\n  {self.comparisons}"] if self.comparisons else [])])

    def _line(self, name: str, measurement: Measurement, reasons: list[str]) -> str:
        """One metric: what it is, its number and the groups that it is between, or the reason why there is none."""
        title = sentences.title(name)
        title = title if title == name else f"{title} ({name})"
        line = f"  {title:58} {number_text(measurement):26}{self.between(measurement).removeprefix(';')}"
        if not measurement.reason:
            return line.rstrip()
        if measurement.reason not in reasons:
            reasons.append(measurement.reason)
        omission = (
            f" leaves out {sentences.counted(measurement.left_out, 'pair')}" if measurement.value is not None else ""
        )
        return f"{line.rstrip()}{omission} [{reasons.index(measurement.reason) + 1}]"

    def between(self, measurement: Measurement) -> str:
        """Name the two groups that a number is between, as the end of a phrase; nothing if there are none."""
        if measurement.pair is None:
            return ""
        low, high = (self.groups[code].name for code in measurement.pair)
        return f"; {low!r} lower than {high!r}"


def threshold_text(result: AuditResult) -> str:
    """Return the threshold and where it comes from."""
    return f"threshold {result.threshold:g}" + (" (default)" if result.default_threshold else "")


def verdict(gate: Gate) -> str:
    """Return what came of a gate, in a few words."""
    if gate.value is None:
        return f"failed, {gate.reason}"
    failed = "failed" if gate.reason.startswith("not estimable") else "below" if gate.metric == RATIO else "exceeded"
    notes = [gate.reason] if gate.reason else []
    if gate.groups is not None:
        notes.insert(0, f"{gate.groups[0]!r} lower than {gate.groups[1]!r}")
    value = sentences.beside(gate.value, gate.limit)
    return f"{'passed' if gate.passed else failed}, {value}" + (f" ({'; '.join(notes)})" if notes else "")


def number_text(measurement: Measurement, digits: int = 4) -> str:
    """Return a number with its interval, or that it is not estimable."""
    if measurement.value is None:
        return "not estimable"
    if measurement.low is None:
        reason = measurement.no_interval.partition(",")[0]
        return f"{measurement.value:.{digits}f}" + (f" [{reason}]" if reason else "")
    return f"{measurement.value:.{digits}f} [{measurement.low:.{digits}f}, {measurement.high:.{digits}f}]"


def _number(measurement: Measurement, names: Sequence[str] = (), pair: tuple[int, int] | None = None) -> dict[str, Any]:
    """Return a number as JSON has it; of a pair, also as the first group's scores or rates minus the second's."""
    out: dict[str, Any] = {"value": measurement.value}
    if measurement.low is not None:
        out["ci"] = [measurement.low, measurement.high]
    if measurement.no_interval:
        out["no_interval"] = measurement.no_interval
    if measurement.pair is not None:
        out |= {"lower": names[measurement.pair[0]], "higher": names[measurement.pair[1]]}
    if pair is not None and measurement.value is not None:
        out["signed"] = -measurement.value if measurement.pair == pair else measurement.value
    if measurement.reason:
        out["not_estimable" if measurement.value is None else "leaves_out"] = measurement.reason
    return out


def _group(line: GroupLine) -> dict[str, Any]:
    return {
        "name": line.name,
        "rows": line.rows,
        "kept_rows": line.kept,
        "compared": not line.reason,
        "median_score": line.median_score,
        **{name: _number(getattr(line, name)) for name in RATES},
    }


def suggested(suggestion: Suggestion) -> dict[str, Any]:
    """Return a suggested interval and its candidates as JSON has them."""
    table = suggestion.table.astype(object).where(suggestion.table.notna(), None)
    return {
        "interval": list(suggestion.interval), "positive_rate": suggestion.positive_rate, "measure": suggestion.measure,
        "candidates": table.to_dict("records"),
    }  # fmt: skip
