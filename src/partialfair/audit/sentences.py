"""What an audit found, in sentences: the same in terminal, JSON file and page."""

import getpass
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from partialfair.audit.chance import critical_gap
from partialfair.audit.rates import RATIO
from partialfair.metrics import get

if TYPE_CHECKING:
    from partialfair.audit.measures import Measurement
    from partialfair.audit.result import AuditResult, Gate
    from partialfair.metrics.choose_interval import Suggestion

NOT_STATED = "not stated"
EQUAL = 1e-9
"""Violations this near to each other are the same."""
MOST_IN_WORDS = 3  # gates whose numbers stand in a sentence; of more, only the names
MEANINGS = {
    "sp": "The rows in I of both groups have the same distribution of scores.",
    "rank_gap": "At every threshold in I the same share of each group lies above it.",
    "dp": "The same share of each group's rows in I gets a positive decision.",
    "dp_gap": "As the line above, counted in shares of whole groups.",
    "gauc": "A row in I of one group outranks one of the other half of the time.",
    "eop": "As demographic parity, among rows with the positive label.",
    "eod": "As equal opportunity, and the same among rows with the negative label.",
    RATIO: "1, not 0, is parity. Below 0.8 it fails the four-fifths rule.",
}
"""What a value of 0 says, by the code of a metric."""

_REMEDIES = {
    "not a finite number": (
        "Give a finite number as --threshold, or leave it out: the default is 0.5 for scores in [0, 1], else 0."
    ),
    "no labels were given": "Name the column of the labels with --label.",
    "lies outside the interval": (
        "Set --threshold to the score at which decisions are made, or audit an --interval that holds one of the shares "
        "that the reason names."
    ),
    "the same decision": "Choose a --threshold between the lowest and the highest score.",
    "no row of a compared group gets": "Choose a --threshold below the highest score.",
    "keeps": "Widen the interval, merge small groups, or leave them out with a larger --min-group-size.",
}
"""What to do, by a part of the reason why a gate was not measured."""


def title(name: str) -> str:
    """Return the plain name of a metric: the title that it declares, without its symbol."""
    if name == RATIO:
        return "selection rate ratio, lowest to highest"
    return re.sub(r", [A-Z]+\^I$", "", get(name).title)


def meaning(name: str, all_ranks: bool = False) -> str:
    """Return what a value of 0 says; on all ranks, without the interval."""
    text = MEANINGS[name]
    return text.replace(" in I", "") if all_ranks else text


def fixed(value: float, digits: int = 3) -> str:
    """Return a number with so many decimals; no zero is negative."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if not float(text) else text


def interval_text(measurement: "Measurement") -> str:
    """Return the ends of an interval, between which a line may break; nothing if there is none."""
    if measurement.low is None or measurement.high is None:
        return measurement.no_interval.partition(",")[0]
    return f"{fixed(measurement.low)} to\N{NO-BREAK SPACE}{fixed(measurement.high)}"


def counted(number: int, thing: str) -> str:
    """Return a number with the word for what is counted."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def beside(value: float, limit: float) -> str:
    """Return a value in three decimals, or in as many as it takes to tell it from a limit."""
    for digits in range(3, 18):
        text = fixed(value, digits)
        if (float(text) < limit) == (value < limit) and (float(text) > limit) == (value > limit):
            return text
    return repr(value)


def ranks_text(result: "AuditResult") -> str:
    """Return where groups were audited, in the middle of a sentence."""
    unions = set(result.unions)
    if is_whole(result):
        return "on all ranks"
    if len(unions) > 1:
        return "on the ranks that were chosen for each group"
    if len(next(iter(unions))) > 1:
        return f"on the ranks {result.interval.replace('+', ' and ')}"
    ((low, high),) = next(iter(unions))
    if high == 1:
        return f"in the bottom {100 * (1 - low):g}%"
    return f"in the top {100 * high:g}%" if not low else f"in the top {100 * low:g}% to {100 * high:g}%"


def is_whole(result: "AuditResult") -> bool:
    """Tell whether all ranks of every group are audited."""
    return all(sum(high - low for low, high in union) > 1 - 1e-12 for union in result.unions)


def headline(result: "AuditResult") -> str:
    """Return what was found, in two sentences."""
    gap, where = result.measured.overall["rank_gap"], ranks_text(result)
    if gap.value is None:
        groups = " of each group" if where.startswith("in ") else ""
        return f"{where[:1].upper()}{where[1:]}{groups}, the groups cannot be compared: {gap.reason}."
    # A threshold counts as soon as the rank of one group lies in the interval; that of the other may be far outside.
    where = f"At scores {where} of at least one group" if where.startswith("in ") else where[:1].upper() + where[1:]
    if gap.pair is None:
        return f"{where}, the same share of every group scores above every threshold."
    low, high = (f"'{result.groups[code].name}'" for code in gap.pair)
    assert gap.shares is not None
    share, rival_share = gap.shares
    text = (
        f"{where}, a smaller share of {low} than of {high} scores above the same threshold. Where they differ most, it "
        f"is {share:.1%} against {rival_share:.1%}: a gap of {100 * gap.value:.1f} percentage points"
    )
    if gap.low is None or gap.high is None:
        text += ". No confidence interval was computed."
    else:
        text += f" ({result.level:.0%} confidence interval {100 * gap.low:.1f} to {100 * gap.high:.1f})."
    several = len(result.curve.codes) > 2
    most = chance(result, gap.pair)
    if gap.value <= most:
        groups = "the two that differ most of as many groups of this size" if several else "two groups of this size"
        text += (
            f" Chance alone may explain this gap: {groups} are up to {100 * most:.1f} points apart in "
            f"{result.level:.0%} of samples even if no groups differ.{_clearer(result)}"
        )
    return text + " No two groups differ more." * several


def chance(result: "AuditResult", pair: tuple[int, int]) -> float:
    """Return the gap that two groups that do not differ exceed in few samples, corrected for the number of pairs."""
    return critical_gap((result.groups[code].rows for code in pair), result.level, len(result.measured.pairs))


def _clearer(result: "AuditResult") -> str:
    """Return which gap chance does not explain, where it may explain the largest; empty if there is none."""
    gaps = {pair: violations["rank_gap"].value for pair, violations in result.measured.pairs.items()}
    beyond = {pair: gap for pair, gap in gaps.items() if gap is not None and gap > chance(result, pair)}
    if not beyond:
        return ""
    pair = max(beyond, key=lambda gap_pair: beyond[gap_pair])
    lower, higher = (f"'{result.groups[code].name}'" for code in pair)
    more = f", nor those of {counted(len(beyond) - 1, 'other pair')}" if len(beyond) > 1 else ""
    return (
        f" It does not explain the gap of {100 * beyond[pair]:.1f} points between {lower} and {higher}, who have more "
        f"rows{more}."
    )


def gate_counts(gates: Iterable["Gate"]) -> str:
    """Return how many gates failed, or that all passed, in a few words."""
    passed = [gate.passed for gate in gates]
    if not passed:
        return ""
    if all(passed):
        return "the gate passed" if len(passed) == 1 else f"all {len(passed)} gates passed"
    return f"{passed.count(False)} of {len(passed)} gate{'s' * (len(passed) > 1)} failed"


def gate_sentence(gates: Iterable["Gate"]) -> str:
    """Return how many gates failed and which, in a sentence; of gates that all passed, which."""
    gates = list(gates)
    if not gates:
        return "No gate was set: this audit measures and does not judge."
    named = [gate for gate in gates if not gate.passed] or gates
    counts = gate_counts(gates)
    which = "; ".join(map(outcome, named)) if len(named) <= MOST_IN_WORDS else ", ".join(title(g.metric) for g in named)
    return f"{counts[:1].upper()}{counts[1:]}: {which}."


def outcome(gate: "Gate") -> str:
    """Return what a gate measured beside its limit, or the first reason why it was not measured."""
    name = title(gate.metric)
    if gate.value is None or gate.reason.startswith("not estimable"):
        which = "" if gate.value is None else " for every pair of groups"
        reason = gate.reason.partition(": ")[2].partition("; ")[0]
        return f"{name} was not measured{which}, because {reason}"
    allowed = f"{'at least' if gate.metric == RATIO else 'at most'} {gate.limit:g}"
    return (
        f"{name} is {beside(gate.value, gate.limit)}, {allowed} {'is asked' if gate.metric == RATIO else 'is allowed'}"
    )


def near_limit(gate: "Gate", measurement: "Measurement") -> str:
    """Return a caution if the limit of a gate lies inside the confidence interval of what it measures."""
    if (
        gate.value is None
        or measurement.low is None
        or measurement.high is None
        or not measurement.low <= gate.limit <= measurement.high
    ):
        return ""
    return "The limit lies inside the confidence interval: other rows could turn this verdict."


def remedies(result: "AuditResult") -> list[str]:
    """Return what to do about what was not measured, each remedy once."""
    reasons = [gate.reason for gate in result.gates if gate.reason.startswith("not estimable")]
    advice = [text for cause, text in _REMEDIES.items() if any(cause in reason for reason in reasons)]
    sp, ranks = (result.measured.overall[name].value for name in ("sp", "rank_gap"))
    if sp == 0 and ranks:
        advice.append(
            "within the interval all scores are tied, so that sp and gauc see no difference there; rank_gap does, and "
            "scores in place of decisions would tell more"
        )
    return advice


def out_of_scope(result: "AuditResult") -> list[tuple[str, str]]:
    """Return what the audit must not be used for, each with a reason."""
    once = (
        f"Each of the metrics has an interval of its own: at {result.level:.0%}, about "
        f"{100 * (1 - result.level):.0f} of 100 such intervals miss by chance."
    )
    multiplicity = (
        (result.comparisons or once)
        if result.confidence_intervals
        else "No confidence intervals were computed: chance may explain any gap."
    )
    small = f"fewer than {result.min_group_size} rows"
    return [
        (
            "Causes",
            "Gaps are described, not explained. Nothing here says what another model or threshold would change.",
        ),
        ("Single persons", "Similar persons may be treated differently even where every gap is 0."),
        ("Other populations", "The numbers hold for the rows of this file, not for another place, time or coding."),
        ("Other groups", f"Groups with {small}, groups within groups and groups not listed were not compared."),
        ("The truth of labels", "Labels are taken as they are. If they are biased, so are the rates that use them."),
        ("Many comparisons", multiplicity),
        ("Law", "Which gap is acceptable is not a statistical question. A passed gate is no legal opinion."),
    ]


def user() -> str:
    """Return the name under which the program runs; nothing if it is unknown."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return ""


def chosen_by(suggestion: "Suggestion", name: str = "") -> str:
    """Return why a candidate was chosen; of several with the largest violation it is not the only one."""
    name = name or suggestion.measure
    count = int((suggestion.table["violation"] >= suggestion.violation_of(suggestion.interval) - EQUAL).sum())
    if count < 2:
        return f"it has the largest {name}"
    return f"it is one of {count} with the largest {name}, the shortest and most central of them"
