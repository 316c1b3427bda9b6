"""What the lines of the scorecard say of a paper as a whole; nothing here looks anywhere but at the lines."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from partialfair.grid.papers import paper
from partialfair.verdicts.line import CLAIMS, JUDGED, NUMBERS, counts, decides

ANSWERS = {
    "holds": "The central claim holds here",
    "partly": "The central claim holds here in part",
    "does not hold": "The central claim does not hold here",
    "cannot tell": "Whether the central claim holds cannot be told from these runs",
}
"""Verdicts on a paper, as sentences begin."""
IN_FAVOUR = ("holds", "dominated")
LEAST = 0.25
"""Share of a paper's central comparisons that has to hold for "in part", where none fails."""
NO_POWER = "no power"
Lines = Sequence[Mapping[str, Any]]


def state(lines: Lines) -> str:
    """What the comparisons of one or more claims say together.

    ``holds`` if every one holds, or its other side is dominated; ``partly`` if some do; ``fails`` if none does and the
    opposite of one is decided; ``undecided`` or ``not run`` otherwise.
    """
    found = {str(line["verdict"]) for line in lines}
    if found and found <= {*IN_FAVOUR}:
        return "holds"
    for verdict, answer in (
        ("holds", "partly"),
        ("dominated", "partly"),
        ("fails", "fails"),
        ("undecided", "undecided"),
    ):
        if verdict in found:
            return answer
    return "not run"


def of_claim(lines: Lines) -> str:
    """What the comparisons of a claim say together that count; ``no power`` if none does (see :func:`decides`)."""
    own = [*filter(decides, lines)]
    return state(own) if own else NO_POWER


def answer(lines: Lines) -> str:
    """What a paper's central comparisons say together, as a key of ``ANSWERS``.

    ``holds`` if every one holds, or its other side is dominated. ``does not hold`` if more fail than hold. ``partly``
    if some hold, a quarter of them at least unless one fails; ``cannot tell`` otherwise.
    """
    found = Counter(str(line["verdict"]) for line in lines)
    favour, against = sum(found[word] for word in IN_FAVOUR), found["fails"]
    if against > favour:
        return "does not hold"
    if not favour or (not against and favour < LEAST * len(lines)):
        return "cannot tell"
    return "holds" if favour == len(lines) else "partly"


def claims(lines: Lines, kind: str = "claim") -> list[dict[str, Any]]:
    """Every claim with its state and how its comparisons were decided, in the order of the paper's file.

    A claim of which no line counts (see :func:`decides`) is ``no power``: methods that it is not about pass its tests.
    """
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        if line["kind"] == kind:
            grouped.setdefault(str(line.get("claim") or _asked(line)), []).append(line)
    return [
        {
            "id": name, "section": members[0].get("section", ""), "sentence": members[0]["published"],
            "exhibit": members[0]["exhibit"], "comparisons": _tally(members, CLAIMS),
            "verdict": of_claim(members),
        }
        for name, members in grouped.items()
    ]  # fmt: skip


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
) -> dict[str, Any]:
    """Everything a first screen says of a paper.

    Args:
        name: the paper.
        lines: its lines of the scorecard.
        central: ids of the claims that its verdict rests on.
        root: the project's root.
        titles: of experiments, where lines name them.
        datasets: titles of datasets that are not their names.
    """
    about, every = paper(name, root), claims(lines)
    asked = [line for line in lines if line["kind"] == "claim" and line.get("claim") in set(central)]
    rests_on = [*filter(decides, asked)]
    verdict, tally = answer(rests_on), Counter(entry["verdict"] for entry in every)
    found = {
        "paper": name, "title": about.title, "link": about.link, "year": about.year,
        "central_claim": about.central_claim, "verdict": verdict,
        "claims": {"total": len(every) - tally[NO_POWER] - tally["not run"]}
                  | {w: tally[w] for w in ("holds", "partly", "fails", "undecided", "not run", NO_POWER)},
        "comparisons": _tally([line for line in lines if line["kind"] == "claim"], CLAIMS),
        "central_comparisons": _tally(rests_on, CLAIMS),
        "numbers": numbers(lines),
        "settings": _tally([line for line in lines if line["kind"] == "setting"],
                           ("as stated", "by construction", "differs from the paper", "not run")),
        "questions": len(claims(lines, "question")),
        "because": because(rests_on, [line for line in asked if not decides(line)], titles, datasets),
        "explanation": about.verdict if verdict == about.expects else "",
        "claim_list": [entry | {"central": entry["id"] in set(central)} for entry in every],
    }  # fmt: skip
    return found | {"sentence": sentence(found)}


def because(
    lines: Lines,
    powerless: Lines = (),
    titles: Mapping[str, str] | None = None,
    datasets: Mapping[str, str] | None = None,
) -> str:
    """How the comparisons of the central claim were decided, and where the opposite was, in words.

    Args:
        lines: the comparisons that count.
        powerless: further ones, which a model that the claim is not about passes as well.
        titles: of experiments, where lines name them.
        datasets: titles of datasets that are not their names.
    """
    if not lines:
        return "no claim of the paper is marked as central"
    found = _tally(lines, CLAIMS)
    dominated = f", {found['dominated']} of them by dominance" if found["dominated"] else ""
    holds = f"{found['holds'] + found['dominated']} of {len(lines)} comparisons hold{dominated}"
    one = {"fails": "fails", "undecided": "is undecided", "not run": "was not run"}
    more = {"fails": "fail", "undecided": "are undecided", "not run": "were not run"}
    parts = [f"{n} {(one if n == 1 else more)[word]}" for word in one if (n := found[word])]
    against = [line for line in lines if line["verdict"] == "fails"]
    words = ("1 more does", "it") if len(powerless) == 1 else (f"{len(powerless)} more do", "them")
    rest = f"; {words[0]} not count, as {_passing(powerless)} passes {words[1]} too" if powerless else ""
    fails = f"; it fails on {_where(against, lines, titles or {}, datasets or {})}" if against else ""
    return ", ".join([holds, *parts]) + fails + rest


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


def sentence(found: Mapping[str, Any]) -> str:
    """The verdict in one sentence."""
    claimed, counted = found["claims"], found["numbers"]
    text = f"{ANSWERS[found['verdict']]}: {claimed['holds']} of {claimed['total']} claims that could have failed hold"
    if claimed["partly"]:
        text += f" and {claimed['partly']} hold in part"
    if claimed["not run"]:
        text += f", {claimed['not run']} more {'was' if claimed['not run'] == 1 else 'were'} not tested"
    if counted["counted"]:
        near = f" and {are_near(counted['near'])}" if counted["near"] else ""
        text += f"; {counted['agrees']} of {counted['counted']} such numbers agree{near}"
    return f"{text}. Because: {found['because']}."
