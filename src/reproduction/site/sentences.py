"""A line of the scorecard in sentences: what was compared, what came out, and why its word is what it is."""

import math
import re
from collections.abc import Sequence

from reproduction.site.scorecard_entries import Entry
from reproduction.verdicts.letters import SAID
from reproduction.verdicts.line import OTHER_WAY

POINTS = "points of "
"""Units of hundredths begin so; other columns of such a line are in whole units."""
_OPTION = re.compile(rf"^(.*) ({'|'.join(sorted(SAID.values(), key=len, reverse=True))})$")
_TREND = ("monotone", "ordered")


def effect(entry: Entry) -> str:
    """Return what was measured with its unit and its interval; a comparison by its lead, a number as it is."""
    value, low, high, unit = _measured(entry)
    if math.isnan(value):
        return "–"
    if math.isfinite(entry.number("published")) or not entry.test:
        text = f"{value:,.0f}" if value == round(value) and abs(value) >= 1000 else f"{value:.4g}"
        return text if math.isnan(low) else f"{text} [{low:.4g}, {high:.4g}]"
    if entry.test.startswith("bound"):
        return f"{abs(value):.3g} on {'the claimed' if value >= 0 else 'the other'} side of the {entry.against}"
    digits = ".2f" if unit.startswith(POINTS) else ".3g"
    interval = "" if math.isnan(low) else f" [{low:+z{digits}}, {high:+z{digits}}]"
    return f"{value:+z{digits}} {unit}{interval}".replace("  ", " ").rstrip()


def _measured(entry: Entry) -> tuple[float, float, float, str]:
    """Return value, ends of the interval and unit: of the lead, or of what the test is about where there is none."""
    lead = entry.lead
    if entry.kind != "number" and math.isfinite(lead.mean):
        return lead.mean, lead.low, lead.high, lead.unit
    value, low, high = (entry.number(name) for name in ("reproduced", "ci_low", "ci_high"))
    is_comparison = entry.kind != "number" and not entry.test.startswith(_TREND)
    return value, low, high, entry.metric.replace("_", " ") if is_comparison else ""


def reasons(entry: Entry) -> list[str]:
    """Return sentences that say why a line has its word: readings, test, power, and what its note tells."""
    sentences = [*_readings(entry), *_power(entry), *_test(entry)]
    if entry.nulls and entry.exclusion == "no power":
        sentences.append(f"The same test of other models: {entry.nulls.replace(';', ',')}")
    sentences += [note for note in entry.note.split("; ") if note]
    if entry.noise > 0:
        sentences.append(f"Noise explains a difference of {entry.number('noise'):.2g}")
    return [sentence(text) for text in sentences]


def _readings(entry: Entry) -> list[str]:
    """Say which readings of the claim have which word; of readings that agree, how many do."""
    sentences = []
    choices = [_options(choice) for choice in entry.by_option.split(" | ") if choice]
    distinct_words = {word for _, options in choices for word in options}
    if len(distinct_words) == 1:
        sentences.append(f"All {len(entry.letters.replace(' ', ''))} readings agree: {distinct_words.pop()}")
    else:
        if entry.outcome == "depends":
            sentences.append(f"Depends on {_listed(entry.depends_on.split(', '))}")
        sentences += [
            f"By {choice}: " + "; ".join(f"{word} for {_listed(names)}" for word, names in options.items())
            for choice, options in choices
        ]
    if entry.outcome == "cannot tell" and entry.depends_on:
        sentences.append(entry.depends_on)
    if entry.grade:
        word = {"holds": "holds", "fails": "fails"}.get(entry.outcome, "is decided")
        sentences.append(f"It {word} for this dataset, not for a fresh draw of people")
    return sentences


def _options(choice: str) -> tuple[str, dict[str, list[str]]]:
    """Return a choice by its name, and its options by the word of the readings that take them."""
    name, _, listed = choice.partition(": ")
    options_by_word: dict[str, list[str]] = {}
    for option in listed.split("; "):
        match = _OPTION.match(option)
        option_name, word = match.groups() if match else (option, "")
        options_by_word.setdefault(word, []).append(option_name)
    return name, options_by_word


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _power(entry: Entry) -> list[str]:
    """Say which effect an undecided comparison could have detected, and how many seeds it needs."""
    unit = entry.lead.unit if math.isfinite(entry.lead.mean) else ""
    scale, unit = (100.0, f" {unit}") if unit.startswith(POINTS) else (1.0, "")
    detectable, needed = entry.number("detectable"), entry.number("seeds_needed")
    direction = "against it" if OTHER_WAY in entry.note else "it"
    seen = f"An effect of {scale * detectable:.2g}{unit} would have been seen" if math.isfinite(detectable) else ""
    decided = f"{needed:,.0f} seeds would decide {direction}" if math.isfinite(needed) else ""
    return [text for text in (seen, decided) if text]


def _test(entry: Entry) -> list[str]:
    """Name the test and its p-value, which is of the opposite where the line fails."""
    if not entry.test:
        return []
    name = entry.test.partition(": ")[2] or entry.test
    p_value = entry.number("p_value")
    if math.isnan(p_value):
        return [f"Test: {name}"]
    number = "below 0.0001" if p_value < 0.0001 else f"{p_value:.2g}"
    return [f"Test: {name}, p-value {number}{' of the opposite' if entry.outcome == 'fails' else ''}"]


def sentence(text: str) -> str:
    """Return words as a sentence; empty words stay empty."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""
