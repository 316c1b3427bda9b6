"""What the lines of the scorecard say of a paper as a whole; nothing here looks anywhere but at the lines."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.grid.papers import paper
from reproduction.verdicts.letters import ROBUST
from reproduction.verdicts.line import JUDGED, NUMBERS, counts, decides, lead, robust

ANSWERS = {
    "holds": "The central claim holds here",
    "partly": "The central claim holds here in part, and fails nowhere",
    "mixed": "The central claim holds here in some comparisons, and fails in others",
    "depends": "Whether the central claim holds here depends on how it is read",
    "does not hold": "The central claim does not hold here",
    "cannot tell": "Whether the central claim holds cannot be told from these runs",
}
"""Verdicts on a paper, as sentences begin."""
LABELS = {"partly": "holds in part", "mixed": "some hold, some fail", "depends": "depends on the reading"}
"""Verdicts on a paper in four words at most, where they are not their own."""
STATES = ("holds", "partly", "mixed", "alike", "depends", "cannot tell", "fails")
"""What a sentence can come to whose comparisons count."""
COUNTED = {
    "holds": ("holds", "hold"), "alike": ("is alike", "are alike"), "depends": ("depends", "depend"),
    "cannot tell": ("cannot be told", "cannot be told"), "fails": ("fails", "fail"),
    "not compared": ("was not compared", "were not compared"),
}  # fmt: skip
"""Words of comparisons as they stand behind one, and behind several."""
LEAST = 0.25
"""Share of a paper's central comparisons that has to hold for "in part", where none fails."""
NO_POWER = "no power"
Lines = Sequence[Mapping[str, Any]]


def state(lines: Lines) -> str:
    """What the comparisons of one or more claims say together, each under all readings of its claim.

    ``holds`` if every one holds; ``mixed`` if some hold and some fail; ``partly`` if some hold and none fails;
    ``fails`` if some fail and none holds; ``alike`` if all are; ``depends`` or ``cannot tell`` otherwise, or
    ``not run`` if nothing was compared.
    """
    found = set(map(robust, lines))
    if not found - {"not compared"}:
        return "not run"
    if "holds" in found:
        return "holds" if found == {"holds"} else "mixed" if "fails" in found else "partly"
    if "fails" in found or found == {"alike"}:
        return "fails" if "fails" in found else "alike"
    return "depends" if "depends" in found else "cannot tell"


def of_claim(lines: Lines) -> str:
    """What the comparisons of a claim say together that count; ``no power`` if none does (see :func:`decides`)."""
    own = [*filter(decides, lines)]
    return state(own) if own else NO_POWER


def answer(lines: Lines) -> str:
    """What a paper's central comparisons say together, as a key of ``ANSWERS``.

    ``holds`` if every one holds. ``mixed`` if some hold and some fail; ``does not hold`` if some fail and none holds.
    ``partly`` if none fails and a quarter or more hold; ``depends`` if none fails and a third or more depend on how the
    claim is read; ``cannot tell`` otherwise.
    """
    found = Counter(map(robust, lines))
    if found["fails"]:
        return "mixed" if found["holds"] else "does not hold"
    if lines and found["holds"] == len(lines):
        return "holds"
    if found["holds"] and found["holds"] >= LEAST * len(lines):
        return "partly"
    return "depends" if found["depends"] and 3 * found["depends"] >= len(lines) else "cannot tell"


def claims(lines: Lines, kind: str = "claim") -> list[dict[str, Any]]:
    """Every claim with its state and what its comparisons say, in the order of the paper's file.

    A claim of which no line counts (see :func:`decides`) is ``no power``: methods that it is not about pass its tests.
    """
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        if line["kind"] == kind:
            grouped.setdefault(str(line.get("claim") or _asked(line)), []).append(line)
    return [
        {
            "id": name, "section": members[0].get("section", ""), "sentence": members[0]["published"],
            "exhibit": members[0]["exhibit"], "comparisons": tally(members), "verdict": of_claim(members),
        }
        for name, members in grouped.items()
    ]  # fmt: skip


def sentences(lines: Lines, parts: Mapping[str, str]) -> Counter[str]:
    """How the sentences of a paper come out, each counted once however many claims test a part of it.

    Args:
        lines: of the paper.
        parts: by claim, the sentence that it is a part of, if not one of its own.
    """
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        if line["kind"] == "claim":
            name = str(line.get("claim") or _asked(line))
            grouped.setdefault(parts.get(name) or name, []).append(line)
    return Counter(of_claim(members) for members in grouped.values())


def tally(lines: Lines) -> dict[str, int]:
    """How many comparisons come to each word."""
    found = Counter(map(robust, lines))
    return {name: found[name] for name in ROBUST}


def _asked(line: Mapping[str, Any]) -> str:
    """What a line without a claim is about: the sentence in place of a number, or the exhibit whose numbers it has."""
    published = line["published"]
    return str(line["exhibit"] if isinstance(published, float | int) else published)


def numbers(lines: Lines) -> dict[str, int]:
    """How the paper's numbers were decided; ``counted`` have power, those without are counted apart."""
    own = [line for line in lines if line["kind"] == "number"]
    judged = [line for line in own if counts(line)]
    found = {name: sum(line["verdict"] == name for line in judged) for name in JUDGED}
    apart = [line.get("power") for line in own if line["verdict"] in JUDGED and not counts(line)]
    other = _tally(own, NUMBERS)
    rest = {name: other[name] for name in NUMBERS if name not in JUDGED}
    powerless = {"no power": apart.count("no"), "no null model": len(apart) - apart.count("no")}
    return {"counted": len(judged)} | found | powerless | rest


def _tally(lines: Lines, words: Iterable[str]) -> dict[str, int]:
    found = Counter(str(line["verdict"]) for line in lines)
    return {word: found[word] for word in words}


def of_paper(
    name: str,
    lines: Lines,
    central: Iterable[str],
    root: Path = Path(),
    titles: Mapping[str, str] | None = None,
    datasets: Mapping[str, str] | None = None,
    parts: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Everything a first screen says of a paper.

    Args:
        name: the paper.
        lines: its lines of the scorecard.
        central: ids of the claims that its verdict rests on.
        root: the project's root.
        titles: of experiments, where lines name them.
        datasets: titles of datasets that are not their names.
        parts: by claim, the sentence that it is a part of.
    """
    about, every = paper(name, root), claims(lines)
    asked = [line for line in lines if line["kind"] == "claim" and line.get("claim") in set(central)]
    rests_on = [*filter(decides, asked)]
    powerless = [line for line in asked if not decides(line)]
    verdict, counted = answer(rests_on), sentences(lines, parts or {})
    found = {
        "paper": name, "title": about.title, "link": about.link, "year": about.year,
        "central_claim": about.central_claim, "verdict": verdict, "label": LABELS.get(verdict, verdict),
        "claims": {"total": sum(counted[word] for word in STATES)}
                  | {word: counted[word] for word in (*STATES, "not run", NO_POWER)},
        "comparisons": tally([line for line in lines if line["kind"] == "claim"]),
        "central_comparisons": tally(rests_on) | {"true of another model": len(powerless)},
        "effects": effects(rests_on),
        "numbers": numbers(lines),
        "settings": _tally([line for line in lines if line["kind"] == "setting"],
                           ("as stated", "by construction", "differs from the paper", "not run")),
        "questions": len(claims(lines, "question")),
        "conceded": claims(lines, "concession"),
        "because": because(rests_on, powerless, titles, datasets),
        "explanation": about.verdict if verdict == about.expects else "",
        "claim_list": [entry | {"central": entry["id"] in set(central)} for entry in every],
    }  # fmt: skip
    return found | {"sentence": sentence(found)}


def effects(lines: Lines) -> list[dict[str, Any]]:
    """Smallest and largest lead of the comparisons that hold, and of those that fail, by unit."""
    found: dict[tuple[str, str], list[float]] = {}
    for line in lines:
        own = lead(line)
        if robust(line) in ("holds", "fails") and math.isfinite(own.mean):
            found.setdefault((robust(line), own.unit), []).append(own.mean)
    return [
        {"word": word, "unit": unit, "comparisons": len(own), "low": min(own), "high": max(own)}
        for (word, unit), own in sorted(found.items(), key=lambda entry: ("holds", "fails").index(entry[0][0]))
    ]


def magnitudes(found: Iterable[Mapping[str, Any]], word: str) -> str:
    """How large those effects are, in words; empty where none is known."""
    parts = []
    for entry in found:
        if entry["word"] == word:
            ends = dict.fromkeys(_short(abs(entry[end])) for end in ("low", "high"))
            unit = entry["unit"] if str(entry["unit"]).startswith("points") else f"in {entry['unit']}"
            parts.append(f"{' to '.join(sorted(ends, key=float))} {unit}")
    return ", ".join(parts)


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def because(
    lines: Lines,
    powerless: Lines = (),
    titles: Mapping[str, str] | None = None,
    datasets: Mapping[str, str] | None = None,
) -> str:
    """How the comparisons of the central claim came out, every word counted, and where it fails.

    Args:
        lines: the comparisons that count.
        powerless: further ones, which a model that the claim is not about passes as well.
        titles: of experiments, where lines name them.
        datasets: titles of datasets that are not their names.
    """
    if not lines:
        return "no claim of the paper is marked as central"
    found, sizes = tally(lines), effects(lines)
    parts = []
    for word, said in COUNTED.items():
        if word == "not compared" and not found[word]:
            continue
        size = magnitudes(sizes, word)
        way = {"holds": "ahead by", "fails": "behind by"}.get(word, "")
        parts.append(f"{found[word]} {said[found[word] != 1]}" + (f" ({way} {size})" if size else ""))
    against = [line for line in lines if robust(line) == "fails"]
    words = (
        ("1 more is true and no evidence", "it")
        if len(powerless) == 1
        else (f"{len(powerless)} more are true and no evidence", "them")
    )
    rest = f"; {words[0]}, as {_passing(powerless)} passes {words[1]} too" if powerless else ""
    fails = f"; it fails on {_where(against, lines, titles or {}, datasets or {})}" if against else ""
    return f"of {len(lines)} comparisons {', '.join(parts)}{fails}{rest}"


def _passing(lines: Lines) -> str:
    """The null models that pass some lines' tests, in words."""
    every = [one for line in lines for one in str(line.get("nulls") or "").split("; ")]
    names = dict.fromkeys(one.removesuffix(" passes") for one in every if one.endswith(" passes"))
    shown = ["the unconstrained model" if name == "Unconstrained" else name for name in names]
    return " or ".join(shown) or "another model"


def _where(lines: Lines, every: Lines, titles: Mapping[str, str], datasets: Mapping[str, str]) -> str:
    """Datasets of some lines, with what they are compared with where some of a dataset's lines are not among them."""
    places = {place: [line for line in lines if _place(line) == place] for place in dict.fromkeys(map(_place, lines))}
    total = Counter(map(_place, every))
    whole = all(len(own) == total[place] for place, own in places.items())
    words = []
    for place, own in places.items():
        others = ", ".join(dict.fromkeys(str(line["against"]) for line in own if line.get("against")))
        title = datasets.get(place[0]) or place[0].replace("_", " ") or "all"
        if len({_place(line)[1] for line in every if _place(line)[0] == place[0]}) > 1:
            title += f" ({_named(place[1], titles)})"
        words.append(title if whole or not others or len(own) > 4 else f"{title}: {others}")
    return "; ".join(words) if any(":" in word for word in words) else ", ".join(words)


def _named(setting: str, titles: Mapping[str, str]) -> str:
    """An experiment by its title as it stands within a sentence, without what the title adds in parentheses."""
    title = re.sub(r" \([^)]*\)$", "", titles.get(setting, setting.replace("_", " ")))
    return title[:1].lower() + title[1:]


def _place(line: Mapping[str, Any]) -> tuple[str, str]:
    return str(line["dataset"]), str(line.get("setting", ""))


def are_near(count: int) -> str:
    """How many numbers are near, with their verb."""
    return f"{count} {'is' if count == 1 else 'are'} near"


def of_sentences(claimed: Mapping[str, int]) -> str:
    """How the sentences of a paper come out, every word counted."""
    said = {
        "holds": ("holds", "hold"), "partly": ("holds in part", "hold in part"),
        "mixed": ("holds in places and fails in others", "hold in places and fail in others"),
        **{word: COUNTED[word] for word in ("alike", "depends", "cannot tell", "fails")},
    }  # fmt: skip
    words = [f"{claimed[word]} {both[claimed[word] != 1]}" for word, both in said.items()]
    untested, powerless = claimed["not run"], claimed[NO_POWER]
    rest = f"; {untested} more {'was' if untested == 1 else 'were'} not tested"
    if powerless:
        them = "is true of models that it is" if powerless == 1 else "are true of models that they are"
        rest += f"; {powerless} more {them} not about"
    return f"of {claimed['total']} sentences {', '.join(words)}{rest}"


def of_numbers(counted: Mapping[str, int]) -> str:
    """How the numbers of a paper come out; empty if none counts."""
    if not counted["counted"]:
        return ""
    near = are_near(counted["near"])
    agree, differ = (
        ("agrees" if counted["agrees"] == 1 else "agree"),
        ("differs" if counted["differs"] == 1 else "differ"),
    )
    return f"of {counted['counted']} numbers {counted['agrees']} {agree}, {near}, {counted['differs']} {differ}"


def sentence(found: Mapping[str, Any]) -> str:
    """The verdict in one sentence, in which every class is counted."""
    first, *more = filter(None, [found["because"], of_sentences(found["claims"]), of_numbers(found["numbers"])])
    counted = "".join(f". {part[:1].upper()}{part[1:]}" for part in more)
    return f"{ANSWERS[found['verdict']]}: {first}{counted}."
