"""The scorecard: every published number and every claim of the papers, what was measured, and a verdict."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from partialfair.tables.files import write_csv
from reproduction.grid.config import Config
from reproduction.verdicts import claim_tests, numbers, published, verdict
from reproduction.verdicts.claim import Claim, load
from reproduction.verdicts.evidence import Evidence, Outcome
from reproduction.verdicts.line import COLUMNS, JUDGED, LACKS, check, counts
from reproduction.verdicts.lookups import noting_missing
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Results

Reproduce = Callable[[Any, Published], Outcome]
"""What was reproduced of one published number."""


@dataclass(frozen=True)
class Answers:
    """What an exhibit says to the numbers of its paper.

    Attributes:
        evidence: what it draws from.
        reproduce: what was reproduced of one published number; ``None`` if it shows no single numbers.
        claims: further lines, which are questions of ours.
    """

    evidence: Evidence
    reproduce: Reproduce | None
    claims: Callable[[Any], list[dict[str, Any]]] | None


def compare(evidence: Evidence, row: Published, reproduce: Reproduce | None) -> dict[str, Any]:
    """Return the scorecard line of one published number of an exhibit, which ``reproduce`` finds here."""
    if reproduce is None:
        return numbers.line(row, Outcome(None, f"exhibit {evidence.name} draws no single numbers")).row()
    outcome = reproduce(evidence, row)
    note = "; ".join(part for part in (outcome.note, evidence.note(row.dataset)) if part)
    return numbers.line(row, replace(outcome, note=note), evidence).row()


def build(
    config: Config, answers: Iterable[Answers], root: Path = Path(), evidence: type[Evidence] = Evidence
) -> list[dict[str, Any]]:
    """Return all lines: published numbers of every paper in the grid in the paper's order, its claims, our questions.

    A line is by column, and says under :data:`LACKS` whether something that it was looked for in is not here. Of a grid
    restricted to one experiment, numbers and claims that it does not cover are left out.

    Args:
        config: the grid.
        answers: what the exhibits say, in the grid's order.
        root: the project's root, below which the papers' numbers and claims stand.
        evidence: class of what claims are decided on.
    """
    every = list(answers)
    # Only kinds that give single numbers stand for a published exhibit.
    by_published = {(one.evidence.paper, one.evidence.published_as): one for one in every if one.reproduce is not None}
    lines = []
    for paper in config.papers:
        for row in published.load(paper, root):
            found = by_published.get((paper, row.exhibit))
            if found is not None:
                with noting_missing() as missing:
                    line = compare(found.evidence, row, found.reproduce)
                lines.append(line | {LACKS: bool(missing)})
            elif config.whole:
                lines.append(numbers.line(row, Outcome(None, "no exhibit of the grid covers it")).row())
        lines += of_claims(config, paper, root, evidence)
    for one in every:
        with noting_missing() as missing:
            own = one.claims(one.evidence) if one.claims is not None else []
        lines += [line | {LACKS: bool(missing)} for line in own]
    return [line | {"counts": "yes" if counts(line) else "no"} for line in _distinct(lines)]


def of_claims(config: Config, paper: str, root: Path, evidence: type[Evidence] = Evidence) -> list[dict[str, Any]]:
    """Lines of a paper's claims, as :func:`build` has them; of a restricted grid, of those its experiments decide.

    A family lacks what any of its claims lacks: their p-values are corrected together.
    """
    experiments = [name for name, one in config.experiments.items() if one.paper == paper]
    found = [c for c in load(paper, root) if config.whole or (c.experiments and {*c.experiments} <= {*experiments})]
    if not found:
        return []
    results = Results.load(root / "reports", experiments, config.params.bootstrap.level)
    own = evidence.for_claims(config, experiments, results, root)
    families: dict[tuple[str, str], list[Claim]] = {}
    for claim in found:
        families.setdefault(claim_tests.family_of(claim), []).append(claim)
    rows: dict[str, list[dict[str, Any]]] = {claim.id: [] for claim in found}
    for members in families.values():
        with noting_missing() as missing:
            decided = [line.row() for line in claim_tests.lines(own, members)]
        for row in decided:
            rows[row["claim"]].append(row | {LACKS: bool(missing)})
    return [row for of_one in rows.values() for row in of_one]


def _distinct(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark a number that two exhibits print as ``repeated`` the second time: same dataset, metric, values."""
    first: dict[tuple[Any, ...], dict[str, Any]] = {}
    result = []
    for line in lines:
        if line["kind"] == "number" and line["verdict"] in (*JUDGED, "by construction"):
            names = ("paper", "dataset", "metric", "published", "reproduced", "ci_low")
            key = tuple(str(line.get(name)) for name in names)
            before = first.setdefault(key, line)
            if before is not line and _place(before) != _place(line):
                note = f"the number of {before['exhibit']}, {before['setting'] or before['algorithm']}; {line['note']}"
                line = line | {"verdict": "repeated", "power": "", "note": note}
        result.append(line)
    return result


def _place(line: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(line.get(name, "")) for name in ("exhibit", "setting", "constraint", "interval"))


def tally(lines: Iterable[dict[str, Any]]) -> Mapping[str, int]:
    """How many of the lines that count have each verdict."""
    return dict(Counter(line["verdict"] for line in lines if line["counts"] == "yes"))


def verdicts(config: Config, lines: list[dict[str, Any]], root: Path = Path()) -> list[dict[str, Any]]:
    """What the lines say of each paper that has a folder; see :func:`reproduction.verdicts.verdict.of_paper`."""
    found, titles = [], {name: experiment.title for name, experiment in config.experiments.items()}
    for paper in config.papers:
        own = [line for line in lines if line["paper"] == paper]
        claims = load(paper, root)
        if claims or any(line["kind"] == "number" for line in own):
            central = [claim.id for claim in claims if claim.central]
            parts, shown = {claim.id: claim.said_as for claim in claims}, dataset_titles(config, paper)
            found.append(verdict.of_paper(paper, own, central, root, titles, shown, parts))
    return found


def dataset_titles(config: Config, paper: str) -> dict[str, str]:
    """What a paper's figures call its datasets, where that is not their own title."""
    shown = (e for e in config.params.exhibits.values() if e.experiments)
    own = (e.model_extra or {} for e in shown if config.experiment(e.experiments[0]).paper == paper)
    return {name: title for more in own for name, title in (more.get("dataset_titles") or {}).items()}


def write(lines: list[dict[str, Any]], target: Path) -> Path:
    """Write ``scorecard.csv``.

    Raises:
        ConfigError: a line has no verdict of its kind.
    """
    for entry in lines:
        check(entry["kind"], entry["verdict"])
    return write_csv(target, COLUMNS, rounded(lines))


def rounded(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Lines as they stand in the file: six decimals are more than any published number has, and keep it readable."""
    return [
        {key: round(value, 6) if isinstance(value, float) else value for key, value in entry.items()} for entry in lines
    ]
