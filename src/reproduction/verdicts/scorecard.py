"""The scorecard: every published number and every claim of the papers, what was measured, and a verdict."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from partialfair.data.files import write_csv
from reproduction.grid.config import Config
from reproduction.verdicts import claim_tests, numbers, published, verdict
from reproduction.verdicts.claim import Claim, load
from reproduction.verdicts.evidence import Evidence, ReproducedNumber
from reproduction.verdicts.line import COLUMNS, JUDGED, LACKS, check, counts
from reproduction.verdicts.missing_files import noting_missing
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Results

Reproduce = Callable[[Any, Published], ReproducedNumber]
"""A function that returns the reproduction of one published number."""


@dataclass(frozen=True)
class Answers:
    """The answers of an exhibit to the numbers of its paper.

    Attributes:
        evidence: evidence that the exhibit is drawn from.
        reproduce: reproduction of one published number; ``None`` if the exhibit shows no single numbers.
        claims: further lines, which are questions of this project.
    """

    evidence: Evidence
    reproduce: Reproduce | None
    claims: Callable[[Any], list[dict[str, Any]]] | None


def compare(evidence: Evidence, row: Published, reproduce: Reproduce | None) -> dict[str, Any]:
    """Return the scorecard line of one published number, with the value that ``reproduce`` returns."""
    if reproduce is None:
        return numbers.line(row, ReproducedNumber(None, f"exhibit {evidence.name} draws no single numbers")).row()
    outcome = reproduce(evidence, row)
    note = "; ".join(text for text in (outcome.note, evidence.note(row.dataset)) if text)
    return numbers.line(row, replace(outcome, note=note), evidence).row()


def build(
    config: Config, answers: Iterable[Answers], root: Path = Path(), evidence: type[Evidence] = Evidence
) -> list[dict[str, Any]]:
    """Return all lines: published numbers of every paper in the grid in the paper's order, its claims, our questions.

    A line is a mapping by column. Lines decided from files also say under :data:`LACKS` whether one of the files was
    missing. For a grid restricted to one experiment, the numbers and claims that it does not cover are left out.

    Args:
        config: the grid.
        answers: answers of the exhibits, in the grid's order.
        root: the project's root, which has the papers' numbers and claims below it.
        evidence: class of the evidence for claims.
    """
    by_exhibit = list(answers)
    # Only kinds that give single numbers stand for a published exhibit.
    by_published = {
        (answer.evidence.paper, answer.evidence.published_as): answer
        for answer in by_exhibit
        if answer.reproduce is not None
    }
    lines = []
    for paper in config.papers:
        for row in published.load(paper, root):
            answer = by_published.get((paper, row.exhibit))
            if answer is not None:
                with noting_missing() as missing:
                    line = compare(answer.evidence, row, answer.reproduce)
                lines.append(line | {LACKS: bool(missing)})
            elif config.whole:
                lines.append(numbers.line(row, ReproducedNumber(None, "no exhibit of the grid covers it")).row())
        lines += claim_lines(config, paper, root, evidence)
    for answer in by_exhibit:
        with noting_missing() as missing:
            questions = answer.claims(answer.evidence) if answer.claims is not None else []
        lines += [line | {LACKS: bool(missing)} for line in questions]
    return [line | {"counts": "yes" if counts(line) else "no"} for line in _mark_repeats(lines)]


def claim_lines(config: Config, paper: str, root: Path, evidence: type[Evidence] = Evidence) -> list[dict[str, Any]]:
    """Return the lines of a paper's claims, as in :func:`build`; for a restricted grid, of those that it decides.

    A family lacks the files that any of its claims lacks, since their p-values are corrected together.
    """
    experiments = [name for name, experiment in config.experiments.items() if experiment.paper == paper]
    chosen = [c for c in load(paper, root) if config.whole or (c.experiments and {*c.experiments} <= {*experiments})]
    if not chosen:
        return []
    results = Results.load(root / "reports", experiments, config.params.bootstrap.level)
    claims_evidence = evidence.for_claims(config, experiments, results, root)
    families: dict[tuple[str, str], list[Claim]] = {}
    for claim in chosen:
        families.setdefault(claim_tests.family_of(claim), []).append(claim)
    rows: dict[str, list[dict[str, Any]]] = {claim.id: [] for claim in chosen}
    for members in families.values():
        with noting_missing() as missing:
            decided = [line.row() for line in claim_tests.lines(claims_evidence, members)]
        for row in decided:
            rows[row["claim"]].append(row | {LACKS: bool(missing)})
    return list(chain.from_iterable(rows.values()))


def _mark_repeats(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark a number that two exhibits print as ``repeated`` the second time: same dataset, metric, values."""
    first_lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    result = []
    for line in lines:
        if line["kind"] == "number" and line["verdict"] in (*JUDGED, "by construction"):
            names = ("paper", "dataset", "metric", "published", "reproduced", "ci_low")
            key = tuple(str(line.get(name)) for name in names)
            earlier = first_lines.setdefault(key, line)
            if earlier is not line and _line_key(earlier) != _line_key(line):
                note = (
                    f"the number of {earlier['exhibit']}, {earlier['setting'] or earlier['algorithm']}; {line['note']}"
                )
                line = line | {"verdict": "repeated", "power": "", "note": note}
        result.append(line)
    return result


def _line_key(line: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(line.get(name, "")) for name in ("exhibit", "setting", "constraint", "interval"))


def count_verdicts(lines: Iterable[dict[str, Any]]) -> Mapping[str, int]:
    """Count the lines that count for their paper by verdict."""
    return dict(Counter(line["verdict"] for line in lines if line["counts"] == "yes"))


def paper_summaries(config: Config, lines: list[dict[str, Any]], root: Path = Path()) -> list[dict[str, Any]]:
    """Return the summary of each paper that has a folder; see :func:`reproduction.verdicts.verdict.summarise_paper`.

    Lines count as the file has them: a summary is the same with the runs at hand and from the committed lines.
    """
    papers, titles = [], {name: experiment.title for name, experiment in config.experiments.items()}
    for paper in config.papers:
        paper_lines = rounded(line for line in lines if line["paper"] == paper)
        claims = load(paper, root)
        if claims or any(line["kind"] == "number" for line in paper_lines):
            central = [claim.id for claim in claims if claim.central]
            sentences, datasets = {claim.id: claim.sentence_id for claim in claims}, dataset_titles(config, paper)
            papers.append(verdict.summarise_paper(paper, paper_lines, central, root, titles, datasets, sentences))
    return papers


def dataset_titles(config: Config, paper: str) -> dict[str, str]:
    """Return by dataset the title in a paper's figures, where that is not the dataset's own title."""
    exhibits = (e for e in config.params.exhibits.values() if e.experiments)
    options = (e.model_extra or {} for e in exhibits if config.experiment(e.experiments[0]).paper == paper)
    return {name: title for more in options for name, title in (more.get("dataset_titles") or {}).items()}


def write(lines: list[dict[str, Any]], target: Path) -> Path:
    """Write ``scorecard.csv``.

    Raises:
        ConfigError: a line has no verdict of its kind.
    """
    for entry in lines:
        check(entry["kind"], entry["verdict"])
    return write_csv(target, COLUMNS, rounded(lines))


def rounded(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines as in the file, with six decimals, which are more than any published number has."""
    return [
        {key: round(value, 6) if isinstance(value, float) else value for key, value in entry.items()} for entry in lines
    ]
