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
from reproduction.verdicts.declared_readings import replaced
from reproduction.verdicts.letters import SAID
from reproduction.verdicts.sample import Place, label_of

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
LOOKS = {"H": (BLUE, BLUE), "h": (BLUE, "white"), "-": (GREY, GREY), "f": (RED, "white"), "F": (RED, RED)}
"""Colour and filling of a mark; what is decided without correction alone is hollow."""


class Specification(Options):
    """One comparison under every reading of its sentence: leads in order of size, with the options of each."""

    source: Literal["specification"] = Field(description="specification: leads of one comparison by reading")
    claim: str = Field(description="id of the claim")
    dataset: str = Field(description="where")
    against: str = Field(description="the method that it is compared with")


def _claim(context: Context[Specification]) -> Claim:
    wanted = context.options.claim
    for claim in load(context.paper, context.root):
        if claim.id == wanted and claim.at_equal is not None and claim.readings is not None:
            return claim
    where = f"{context.config.source}: exhibits.{context.name}.claim"
    raise ConfigError(f"{where}: {wanted!r} is no claim at equal fairness with readings; name one of {context.paper}")


def lines(context: Context[Specification]) -> Iterator[Line]:
    """One line per reading: its options, its letter, and the lead (at the least certain level, of each level)."""
    claim, options = _claim(context), context.options
    place, side = Place(claim.experiments[0], options.dataset), next(
        (one for one in claim.sides() if one.method == options.against), None
    )  # fmt: skip
    if side is None or claim.readings is None:
        raise ConfigError(f"exhibits.{context.name}.against: {claim.id} is not compared with {options.against!r}")
    label = label_of(context, claim, place, side)
    decided = scorecard.of_claims(context.config, context.paper, context.root, Context)
    own = next(
        line
        for line in decided
        if (line["claim"], line["dataset"], line["against"]) == (claim.id, options.dataset, label)
    )
    pairs = list(equal_fairness.paired_models(context, claim, place, side).values())
    spelt = "".join(str(own["letters"]).split())
    names = product(*claim.readings.names().values())
    times, unit = (claim.practical.times, claim.practical.unit) if claim.practical else (1.0, claim.metric)
    for number, (reading, chosen, letter) in enumerate(zip(claim.readings.every(), names, spelt, strict=True)):
        equal = replaced(claim, reading).at_equal
        _, levels, gains = equal_fairness.advantage(equal, pairs)
        line = {"claim": claim.id, "dataset": options.dataset, "against": label, "reading": number, "unit": unit}
        line |= {"options": "; ".join(chosen), "letter": letter}
        if not len(levels):
            yield line | {"note": "no common level"}
            continue
        columns = [gains[:, k] for k in range(len(levels))] if equal.every else [np.nanmean(gains, axis=1)]
        effect = min(map(mean_effect, columns), key=lambda one: one.mean)
        low, high = effect.interval(context.results.level)
        yield line | {"difference": times * effect.mean, "ci_low": times * low, "ci_high": times * high}


def draw(context: Context[Specification], found: list[Line]) -> Any:
    """Leads above, the options of each reading below; the main reading is ringed."""
    from matplotlib import pyplot as plt

    claim = _claim(context)
    assert claim.readings is not None
    shown = sorted((line for line in found if "difference" in line), key=lambda line: line["difference"])
    rows = [(choice, name) for choice, own in claim.readings.names().items() for name in own]
    size = (9.0, 2.9 + 0.26 * len(rows))
    figure, (above, below) = plt.subplots(2, 1, figsize=size, sharex=True, height_ratios=[2.1, 0.26 * len(rows)])
    if claim.practical is not None:
        margin = claim.practical.of(context.options.dataset) * claim.practical.times
        above.axhspan(-margin, margin, color=palette.GRID, alpha=0.5, lw=0)
    above.axhline(0, color=palette.INK, lw=1)
    seen = set()
    for x, line in enumerate(shown):
        colour, filling = LOOKS[line["letter"]]
        label = SAID[line["letter"]] if line["letter"] not in seen else None
        seen.add(line["letter"])
        above.plot([x, x], [line["ci_low"], line["ci_high"]], color=colour, lw=2.6 if filling == colour else 1.3)
        above.plot(x, line["difference"], "o", color=colour, mfc=filling, ms=6, label=label)
        if line["reading"] == 0:
            above.plot(x, line["difference"], "o", mfc="none", mec=palette.INK, mew=1.3, ms=12, label="main reading")
        for y, (_, name) in enumerate(rows):
            chosen = name in line["options"].split("; ")
            below.plot(
                x, y, "s", ms=8, color=colour if chosen else palette.GRID, mfc=filling if chosen else palette.GRID
            )
    below.set_yticks(range(len(rows)), [name for _, name in rows], fontsize=8.5)
    below.set_ylim(len(rows) - 0.5, -0.5)
    below.set_xticks([])
    for axis in (above, below):
        axis.grid(visible=False)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
    unit = shown[0]["unit"] if shown else ""
    above.set_ylabel(f"lead, {unit}", fontsize=9)
    above.legend(fontsize=8, ncols=4, loc="lower right", frameon=False)
    below.set_xlabel(
        "readings of the sentence, by lead (where each level is asked, that at the worst level); bars: 95%",
        fontsize=8.5,
    )
    figure.tight_layout()
    return figure
