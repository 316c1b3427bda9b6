"""Specification curve: the lead of one comparison by reading of its sentence, sorted (Simonsohn et al. 2020)."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Literal

import numpy as np
from pydantic import Field

from partialfair.errors import ConfigError
from partialfair.pages import palette
from partialfair.pages.palette import TONES
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.statistics.effect import mean_effect
from reproduction.verdicts import equal_fairness, scorecard
from reproduction.verdicts.claim import Claim, load
from reproduction.verdicts.declared_readings import claim_under_reading
from reproduction.verdicts.letters import SAID
from reproduction.verdicts.sample import GridCell, label_of

COLUMNS = (
    "claim",
    "dataset",
    "against",
    "reading",
    "options",
    "letter",
    "difference",
    "ci_low",
    "ci_high",
    "unit",
    "note",
)
BLUE, RED, GREY = (TONES[name].light for name in ("blue", "vermilion", "grey"))
_MARK_COLOURS = {"H": (BLUE, BLUE), "h": (BLUE, "white"), "-": (GREY, GREY), "f": (RED, "white"), "F": (RED, RED)}
"""Colour and filling of a mark; what is decided without correction alone is hollow."""


class Specification(Options):
    """One comparison under every reading of its sentence: leads in order of size, with the options of each."""

    source: Literal["specification"] = Field(description="specification: leads of one comparison by reading")
    claim: str = Field(description="id of the claim")
    dataset: str = Field(description="where")
    against: str = Field(description="the method that it is compared with")


def _chosen_claim(context: Context[Specification]) -> Claim:
    claim_id = context.options.claim
    for claim in load(context.paper, context.root):
        if claim.id == claim_id and claim.at_equal is not None and claim.readings is not None:
            return claim
    path = f"{context.config.source}: exhibits.{context.name}.claim"
    raise ConfigError(f"{path}: {claim_id!r} is no claim at equal fairness with readings; name one of {context.paper}")


def csv_lines(context: Context[Specification]) -> Iterator[Line]:
    """Yield one line per reading: its options, its letter, and its lead with a 95% t interval.

    The lead is the mean over the levels of fairness; a claim about every level has the smallest lead of all levels.

    Raises:
        ConfigError: the entry names no claim with readings, or no method that the claim compares.
    """
    claim, options = _chosen_claim(context), context.options
    cell, opponent = GridCell(claim.experiments[0], options.dataset), next(
        (claim_side for claim_side in claim.sides() if claim_side.method == options.against), None
    )  # fmt: skip
    if opponent is None or claim.readings is None:
        raise ConfigError(f"exhibits.{context.name}.against: {claim.id} is not compared with {options.against!r}")
    label = label_of(context, claim, cell, opponent)
    comparisons = scorecard.claim_lines(context.config, context.paper, context.root, Context)
    comparison = next(
        line
        for line in comparisons
        if (line["claim"], line["dataset"], line["against"]) == (claim.id, options.dataset, label)
    )
    pairs = list(equal_fairness.paired_models(context, claim, cell, opponent).values())
    reading_letters = "".join(str(comparison["letters"]).split())
    option_names = product(*claim.readings.names().values())
    scale, unit = (claim.practical.times, claim.practical.unit) if claim.practical else (1.0, claim.metric)
    readings = zip(claim.readings.combinations(), option_names, reading_letters, strict=True)
    for number, (reading, chosen_names, letter) in enumerate(readings):
        comparison_rule = claim_under_reading(claim, reading).at_equal
        _, levels, gains = equal_fairness.advantage(comparison_rule, pairs)
        line = {"claim": claim.id, "dataset": options.dataset, "against": label, "reading": number, "unit": unit}
        line |= {"options": "; ".join(chosen_names), "letter": letter}
        if not len(levels):
            yield line | {"note": "no common level"}
            continue
        columns = [gains[:, k] for k in range(len(levels))] if comparison_rule.every else [np.nanmean(gains, axis=1)]
        effect = min(map(mean_effect, columns), key=lambda effect: effect.mean)
        low, high = effect.interval(context.results.level)
        yield line | {"difference": scale * effect.mean, "ci_low": scale * low, "ci_high": scale * high}


def draw(context: Context[Specification], lines: list[Line]) -> Any:
    """Draw leads above, and the options of each reading below; a ring marks the main reading."""
    from matplotlib import pyplot as plt

    claim = _chosen_claim(context)
    assert claim.readings is not None
    measured_lines = sorted((line for line in lines if "difference" in line), key=lambda line: line["difference"])
    option_rows = [(choice, name) for choice, option_names in claim.readings.names().items() for name in option_names]
    size, heights = (9.0, 2.9 + 0.26 * len(option_rows)), [2.1, 0.26 * len(option_rows)]
    figure, (lead_axis, option_axis) = plt.subplots(2, 1, figsize=size, sharex=True, height_ratios=heights)
    if claim.practical is not None:
        margin = claim.practical.margin_on(context.options.dataset) * claim.practical.times
        lead_axis.axhspan(-margin, margin, color=palette.GRID, alpha=0.5, lw=0)
    lead_axis.axhline(0, color=palette.INK, lw=1)
    labelled_letters = set()
    for x, line in enumerate(measured_lines):
        colour, fill = _MARK_COLOURS[line["letter"]]
        label = SAID[line["letter"]] if line["letter"] not in labelled_letters else None
        labelled_letters.add(line["letter"])
        lead_axis.plot([x, x], [line["ci_low"], line["ci_high"]], color=colour, lw=2.6 if fill == colour else 1.3)
        lead_axis.plot(x, line["difference"], "o", color=colour, mfc=fill, ms=6, label=label)
        if line["reading"] == 0:
            ring = {"mfc": "none", "mec": palette.INK, "mew": 1.3, "ms": 12, "label": "main reading"}
            lead_axis.plot(x, line["difference"], "o", **ring)
        for y, (_, name) in enumerate(option_rows):
            is_chosen = name in line["options"].split("; ")
            option_colour, option_fill = (colour, fill) if is_chosen else (palette.GRID, palette.GRID)
            option_axis.plot(x, y, "s", ms=8, color=option_colour, mfc=option_fill)
    option_axis.set_yticks(range(len(option_rows)), [name for _, name in option_rows], fontsize=8.5)
    option_axis.set_ylim(len(option_rows) - 0.5, -0.5)
    option_axis.set_xticks([])
    for axis in (lead_axis, option_axis):
        axis.grid(visible=False)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
    unit = measured_lines[0]["unit"] if measured_lines else ""
    lead_axis.set_ylabel(f"lead, {unit}", fontsize=9)
    lead_axis.legend(fontsize=8, ncols=4, loc="lower right", frameon=False)
    option_axis.set_xlabel(
        "readings of the sentence, by lead (where each level is asked, that at the worst level); bars: 95%",
        fontsize=8.5,
    )
    figure.tight_layout()
    return figure
