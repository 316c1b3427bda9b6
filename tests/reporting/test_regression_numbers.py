"""Numbers of the DP post-processing figures: judged by draws of rows on the paper's splits, with null models."""

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reproduction.exhibits import regression_numbers
from reproduction.exhibits.regression_points import RegressionPoints
from reproduction.verdicts import numbers
from reproduction.verdicts.published import Published
from reproduction.verdicts.results import Results
from tests.workflow.project import ROOT

EPS = {power: 2.0**-power for power in (1, 2, 5, 8, 16, 32)}
MEANS = {  # risk of two optimisers; with 2^-1 and 2^-2 no constraint binds
    "one": {1: 0.0210001, 2: 0.0210001, 5: 0.0250001, 8: 0.0370001, 16: 0.0400001, 32: 0.0401001},
    "two": {1: 0.0210001, 2: 0.0210001, 5: 0.0280001, 8: 0.0410001, 16: 0.0440001, 32: 0.0441001},
}
SD = 0.001  # of one fit over the rows that were drawn; splits differ by ten times as much


def table(name: str) -> list[dict[str, Any]]:
    drawn = np.random.default_rng(len(name) + ord(name[0]))
    splits = np.random.default_rng(7).normal(0, 0.01, 10)
    splits -= splits.mean()
    rows = []
    for power, mean in MEANS[name].items():
        noise = drawn.normal(0, SD, 10) if power > 2 else np.zeros(10)
        for seed in range(10):
            key = {"experiment": name, "dataset": "dp_law_released", "algorithm": "dp_postproc", "kappa": EPS[power]}
            key |= {"seed": seed, "split": "test", "status": "ok"}
            rows.append(key | {"metric": "risk", "value": mean + splits[seed] + noise[seed] - noise.mean()})
            rows.append(key | {"metric": "risk_repeat_sd", "value": SD if power > 2 else 0.0})
    return rows


def lines(pairs: dict[str, str], repeats: int = 20) -> dict[tuple[str, int], Any]:
    """Lines of published numbers, which are the means of each series; ``pairs`` says whose runs stand for a series."""
    options = {name: {"experiment": runs, "algorithm": "dp_postproc", "label": name} for name, runs in pairs.items()}
    results = Results(pd.DataFrame(table("one") + table("two")), pd.DataFrame())
    entry = RegressionPoints.model_validate({"kind": "scatter", "source": "risk", "series": options})
    context = SimpleNamespace(
        results=results, option=lambda name, default=None: getattr(entry, name, default),
        paper="dp_postprocessing", root=ROOT,
        tolerance=lambda *_: None, tolerance_later=lambda *_: "",
        config=SimpleNamespace(algorithm_settings=lambda *_: {"repeats": repeats}),
    )  # fmt: skip
    found = {}
    for name, of in MEANS.items():
        for power, value in of.items():
            row = Published("p", "fig", "law_school", name, "", "", f"eps=2^-{power}", "risk", value, "test")
            found[name, power] = numbers.line(row, regression_numbers.reproduce(context, row), context)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(("repeats", "quantile"), [(5, 2.021), (20, 1.973)])
def test_numbers_agree_within_the_noise_of_draws_and_not_of_splits(repeats: int, quantile: float) -> None:
    """Ten splits give (repeats - 1) degrees of freedom each."""
    found = lines({"one": "one", "two": "two"}, repeats)
    for name, power in itertools.product(MEANS, (5, 8, 16)):
        line = found[name, power]
        assert line.verdict == "agrees" and line.power == "yes", power
        assert line.noise == pytest.approx(quantile * 2**0.5 * SD / 10**0.5, rel=1e-3)


def test_swapped_optimisers_agree_nowhere_that_counts() -> None:
    found = lines({"one": "two", "two": "one"})
    assert {line.verdict for (_, power), line in found.items() if power in (5, 8, 16)} == {"differs"}


def test_one_number_is_counted_once() -> None:
    found = lines({"one": "one", "two": "two"})
    for name in MEANS:
        assert found[name, 32].verdict == "repeated" and "2^-16" in found[name, 32].note
        assert found[name, 2].verdict == "repeated" and "no constraint binds" in found[name, 2].note
    assert found["one", 1].verdict == "agrees" and found["two", 1].verdict == "repeated"


@pytest.mark.parametrize(("value", "half"), [(0.0427, 5e-5), (0.878, 5e-4), (12.1066, 5e-5), (5e-05, 5e-6)])
def test_half_a_unit_of_the_last_printed_digit(value: float, half: float) -> None:
    assert regression_numbers.printed(value) == pytest.approx(half)
