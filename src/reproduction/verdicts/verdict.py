"""The verdict on a paper from its scorecard lines; paper.yaml adds title, link, central claim and expectation."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.grid.papers import paper
from reproduction.verdicts.letters import ROBUST
from reproduction.verdicts.line import JUDGED, NUMBERS, counts, decides, lead, robust

_ANSWERS = {
    "holds": "The central claim holds here",
    "partly": "The central claim holds here in part, and fails nowhere",
    "mixed": "The central claim holds here in some comparisons, and fails in others",
    "depends": "Whether the central claim holds here depends on how it is read",
    "does not hold": "The central claim does not hold here",
    "cannot tell": "Whether the central claim holds cannot be told from these runs",
}
"""Verdicts on a paper, as sentences begin."""
LABELS = {"partly": "holds in part", "mixed": "some hold, some fail", "depends": "depends on the reading"}
"""Short forms, for pages, of verdicts that are not short themselves."""
_STATES = ("holds", "partly", "mixed", "alike", "depends", "cannot tell", "fails")
"""States of a sentence of which at least one comparison counts."""
VERBS = {
    "holds": ("holds", "hold"), "alike": ("is alike", "are alike"), "depends": ("depends", "depend"),
    "cannot tell": ("cannot be told", "cannot be told"), "fails": ("fails", "fail"),
    "not compared": ("was not compared", "were not compared"),
}  # fmt: skip
"""Verb phrases of each word, singular and plural."""
_LEAST = 0.25
"""Share of a paper's central comparisons that must hold for "in part", if none fails."""
NO_POWER = "no power"
Lines = Sequence[Mapping[str, Any]]


def state(lines: Lines) -> str:
    """Return the joint state of the comparisons of one or more claims, each under all readings of its claim.

    ``holds`` if every one holds; ``mixed`` if some hold and some fail; ``partly`` if some hold and none fails;
    ``fails`` if some fail and none holds; ``alike`` if all are; ``depends`` or ``cannot tell`` otherwise, or
    ``not run`` if nothing was compared.
    """
    outcomes = set(map(robust, lines))
    if not outcomes - {"not compared"}:
        return "not run"
    if "holds" in outcomes:
        return "holds" if outcomes == {"holds"} else "mixed" if "fails" in outcomes else "partly"
    if "fails" in outcomes or outcomes == {"alike"}:
        return "fails" if "fails" in outcomes else "alike"
    return "depends" if "depends" in outcomes else "cannot tell"


def claim_state(lines: Lines) -> str:
    """Return the state of the comparisons of a claim that count (see :func:`decides`); ``no power`` if none counts."""
    deciding = [*filter(decides, lines)]
    return state(deciding) if deciding else NO_POWER


def _answer(lines: Lines) -> str:
    """Return the verdict of a paper's central comparisons, as a key of ``_ANSWERS``.

    ``holds`` if every one holds. ``mixed`` if some hold and some fail; ``does not hold`` if some fail and none holds.
    ``partly`` if none fails and a quarter or more hold; ``depends`` if none fails and a third or more depend on how the
    claim is read; ``cannot tell`` otherwise.
    """
    by_word = Counter(map(robust, lines))
    if by_word["fails"]:
        return "mixed" if by_word["holds"] else "does not hold"
    if lines and by_word["holds"] == len(lines):
        return "holds"
    if by_word["holds"] and by_word["holds"] >= _LEAST * len(lines):
        return "partly"
    return "depends" if by_word["depends"] and 3 * by_word["depends"] >= len(lines) else "cannot tell"


def claims(lines: Lines, kind: str = "claim") -> list[dict[str, Any]]:
    """Return every claim with its state and the words of its comparisons, in the order of the paper's file.

    A claim without a line that counts (see :func:`decides`) is ``no power``: null models pass its tests.
    """
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        if line["kind"] == kind:
            grouped.setdefault(str(line.get("claim") or _subject(line)), []).append(line)
    return [
        {
            "id": name, "section": members[0].get("section", ""), "sentence": members[0]["published"],
            "exhibit": members[0]["exhibit"], "comparisons": count_words(members), "verdict": claim_state(members),
        }
        for name, members in grouped.items()
    ]  # fmt: skip


def sentences(lines: Lines, sentence_ids: Mapping[str, str]) -> Counter[str]:
    """Count the sentences of a paper by state; a sentence counts once, whatever the number of its claims.

    Args:
        lines: lines of the paper.
        sentence_ids: sentence of each claim that is a part of one; a claim without an entry is its own sentence.
    """
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        if line["kind"] == "claim":
            name = str(line.get("claim") or _subject(line))
            grouped.setdefault(sentence_ids.get(name) or name, []).append(line)
    return Counter(claim_state(members) for members in grouped.values())


def count_words(lines: Lines) -> dict[str, int]:
    """Count the comparisons by their word."""
    by_word = Counter(map(robust, lines))
    return {name: by_word[name] for name in ROBUST}


def _subject(line: Mapping[str, Any]) -> str:
    """Return the subject of a line without a claim: its sentence, or the exhibit if it has a number."""
    published = line["published"]
    return str(line["exhibit"] if isinstance(published, float | int) else published)


def numbers(lines: Lines) -> dict[str, int]:
    """Count the paper's numbers by verdict.

    ``counted`` are the numbers that differ, and the numbers that agree or are near and that every tried null model
    missed. All other judged numbers are listed apart.
    """
    number_lines = [line for line in lines if line["kind"] == "number"]
    judged = [line for line in number_lines if counts(line)]
    verdicts = {name: sum(line["verdict"] == name for line in judged) for name in JUDGED}
    powers = [line.get("power") for line in number_lines if line["verdict"] in JUDGED and not counts(line)]
    by_verdict = _count_verdicts(number_lines, NUMBERS)
    unjudged = {name: by_verdict[name] for name in NUMBERS if name not in JUDGED}
    powerless = {"no power": powers.count("no"), "no null model": len(powers) - powers.count("no")}
    return {"counted": len(judged)} | verdicts | powerless | unjudged


def _count_verdicts(lines: Lines, verdicts: Iterable[str]) -> dict[str, int]:
    by_verdict = Counter(str(line["verdict"]) for line in lines)
    return {word: by_verdict[word] for word in verdicts}


def summarise_paper(
    name: str,
    lines: Lines,
    central: Iterable[str],
    root: Path = Path(),
    titles: Mapping[str, str] | None = None,
    datasets: Mapping[str, str] | None = None,
    sentence_ids: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the content of the first screen of a paper's page.

    Args:
        name: the paper.
        lines: its lines of the scorecard.
        central: ids of the claims that decide its verdict.
        root: the project's root.
        titles: titles of the experiments that lines name.
        datasets: titles of datasets that are not their names.
        sentence_ids: sentence of each claim that is a part of one.
    """
    about, listed = paper(name, root), claims(lines)
    central_lines = [line for line in lines if line["kind"] == "claim" and line.get("claim") in set(central)]
    rests_on = [*filter(decides, central_lines)]
    powerless = [line for line in central_lines if not decides(line)]
    verdict, counted = _answer(rests_on), sentences(lines, sentence_ids or {})
    summary = {
        "paper": name, "title": about.title, "link": about.link, "year": about.year,
        "central_claim": about.central_claim, "verdict": verdict, "label": LABELS.get(verdict, verdict),
        "claims": {"total": sum(counted[word] for word in _STATES)}
                  | {word: counted[word] for word in (*_STATES, "not run", NO_POWER)},
        "comparisons": count_words([line for line in lines if line["kind"] == "claim"]),
        "central_comparisons": count_words(rests_on) | {"true of another model": len(powerless)},
        "effects": effects(rests_on),
        "numbers": numbers(lines),
        "settings": _count_verdicts([line for line in lines if line["kind"] == "setting"],
                           ("as stated", "by construction", "differs from the paper", "not run")),
        "questions": len(claims(lines, "question")),
        "conceded": claims(lines, "concession"),
        "because": reason(rests_on, powerless, titles, datasets),
        "explanation": about.verdict if verdict == about.expects else "",
        "claim_list": [entry | {"central": entry["id"] in set(central)} for entry in listed],
    }  # fmt: skip
    return summary | {"sentence": sentence(summary)}


def effects(lines: Lines) -> list[dict[str, Any]]:
    """Return the smallest and the largest lead of the comparisons that hold, and of those that fail, by unit."""
    means: dict[tuple[str, str], list[float]] = {}  # by word and unit
    for line in lines:
        measured = lead(line)
        if robust(line) in ("holds", "fails") and math.isfinite(measured.mean):
            means.setdefault((robust(line), measured.unit), []).append(measured.mean)
    return [
        {"word": word, "unit": unit, "comparisons": len(leads), "low": min(leads), "high": max(leads)}
        for (word, unit), leads in sorted(means.items(), key=lambda entry: ("holds", "fails").index(entry[0][0]))
    ]


def magnitudes(measured: Iterable[Mapping[str, Any]], word: str) -> str:
    """Return the sizes of the effects of one word in a sentence; empty where none is known."""
    sizes = []
    for entry in measured:
        if entry["word"] == word:
            ends = dict.fromkeys(_short(abs(entry[end])) for end in ("low", "high"))
            unit = entry["unit"] if str(entry["unit"]).startswith("points") else f"in {entry['unit']}"
            sizes.append(f"{' to '.join(sorted(ends, key=float))} {unit}")
    return ", ".join(sizes)


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def reason(
    lines: Lines,
    powerless: Lines = (),
    titles: Mapping[str, str] | None = None,
    datasets: Mapping[str, str] | None = None,
) -> str:
    """Return a sentence that counts the comparisons of the central claim by word, and says where the claim fails.

    Args:
        lines: the comparisons that count.
        powerless: further comparisons, whose tests a null model passes as well.
        titles: titles of the experiments that lines name.
        datasets: titles of datasets that are not their names.
    """
    if not lines:
        return "no claim of the paper is marked as central"
    by_word, sizes = count_words(lines), effects(lines)
    clauses = []
    for word, verbs in VERBS.items():
        if word == "not compared" and not by_word[word]:
            continue
        size = magnitudes(sizes, word)
        way = {"holds": "ahead by", "fails": "behind by"}.get(word, "")
        clauses.append(f"{by_word[word]} {verbs[by_word[word] != 1]}" + (f" ({way} {size})" if size else ""))
    against = [line for line in lines if robust(line) == "fails"]
    is_one = len(powerless) == 1
    evidence_phrase = f"{len(powerless)} more {'is' if is_one else 'are'} true and no evidence"
    nulls, object_pronoun = _passing_null_models(powerless), "it" if is_one else "them"
    powerless_clause = f"; {evidence_phrase}, as {nulls} passes {object_pronoun} too" if powerless else ""
    fails = f"; it fails on {_failing_cells(against, lines, titles or {}, datasets or {})}" if against else ""
    return f"of {len(lines)} comparisons {', '.join(clauses)}{fails}{powerless_clause}"


def _passing_null_models(lines: Lines) -> str:
    """Return in words the null models that pass the tests of some lines."""
    nulls = [null for line in lines for null in str(line.get("nulls") or "").split("; ")]
    names = dict.fromkeys(null.removesuffix(" passes") for null in nulls if null.endswith(" passes"))
    titles = ["the unconstrained model" if name == "Unconstrained" else name for name in names]
    return " or ".join(titles) or "another model"


def _failing_cells(lines: Lines, central: Lines, titles: Mapping[str, str], datasets: Mapping[str, str]) -> str:
    """Return the datasets of failing lines; with the rivals where a dataset has further central lines."""
    cells = {cell: [line for line in lines if _cell(line) == cell] for cell in dict.fromkeys(map(_cell, lines))}
    total = Counter(map(_cell, central))
    is_complete = all(len(cell_lines) == total[cell] for cell, cell_lines in cells.items())
    clauses = []
    for cell, cell_lines in cells.items():
        rivals = ", ".join(dict.fromkeys(str(line["against"]) for line in cell_lines if line.get("against")))
        title = datasets.get(cell[0]) or cell[0].replace("_", " ") or "all"
        if len({_cell(line)[1] for line in central if _cell(line)[0] == cell[0]}) > 1:
            title += f" ({_experiment_title(cell[1], titles)})"
        clauses.append(title if is_complete or not rivals or len(cell_lines) > 4 else f"{title}: {rivals}")
    return "; ".join(clauses) if any(":" in clause for clause in clauses) else ", ".join(clauses)


def _experiment_title(setting: str, titles: Mapping[str, str]) -> str:
    """Return an experiment's title for the middle of a sentence, without its parentheses."""
    title = re.sub(r" \([^)]*\)$", "", titles.get(setting, setting.replace("_", " ")))
    return title[:1].lower() + title[1:]


def _cell(line: Mapping[str, Any]) -> tuple[str, str]:
    """Return the dataset and the experiment of a line."""
    return str(line["dataset"]), str(line.get("setting", ""))


def sentence_of_claims(claimed: Mapping[str, int]) -> str:
    """Return a sentence that counts the sentences of a paper by state."""
    verbs = {
        "holds": ("holds", "hold"), "partly": ("holds in part", "hold in part"),
        "mixed": ("holds in places and fails in others", "hold in places and fail in others"),
        **{word: VERBS[word] for word in ("alike", "depends", "cannot tell", "fails")},
    }  # fmt: skip
    clauses = [f"{claimed[word]} {forms[claimed[word] != 1]}" for word, forms in verbs.items()]
    untested, powerless = claimed["not run"], claimed[NO_POWER]
    further = f"; {untested} more {'was' if untested == 1 else 'were'} not tested"
    if powerless:
        phrase = "is true of models that it is" if powerless == 1 else "are true of models that they are"
        further += f"; {powerless} more {phrase} not about"
    return f"of {claimed['total']} sentences {', '.join(clauses)}{further}"


def sentence_of_numbers(counted: Mapping[str, int]) -> str:
    """Return a sentence that counts the numbers of a paper by verdict; empty if no number counts."""
    if not counted["counted"]:
        return ""
    near = f"{counted['near']} {'is' if counted['near'] == 1 else 'are'} near"
    agree = "agrees" if counted["agrees"] == 1 else "agree"
    differ = "differs" if counted["differs"] == 1 else "differ"
    return f"of {counted['counted']} numbers {counted['agrees']} {agree}, {near}, {counted['differs']} {differ}"


def sentence(summary: Mapping[str, Any]) -> str:
    """Return the verdict in one sentence that counts every class."""
    clauses = [summary["because"], sentence_of_claims(summary["claims"]), sentence_of_numbers(summary["numbers"])]
    because, *further = filter(None, clauses)
    counted = "".join(f". {clause[:1].upper()}{clause[1:]}" for clause in further)
    return f"{_ANSWERS[summary['verdict']]}: {because}{counted}."
