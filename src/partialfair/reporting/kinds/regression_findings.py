"""What a reproduction of the DP post-processing paper finds beside its numbers, each with measured values.

Contradicting tolerances and their remedy, the intercept of the baseline, beta, and where optimisers stop.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting.exhibit import Context, Kind, Options
from partialfair.reporting.regression_points import TITLES, published_name, values
from partialfair.verdicts import statements
from partialfair.verdicts.results import Setting

COLUMNS = ("finding", "dataset", "setting", "measure", "value", "std", "n_seeds", "holds")
POWERS = {2.0**-power: f"2^-{power}" for power in (1, 2, 3, 4, 5, 6, 7, 8, 10, 16)}


class RegressionFindings(Options):
    """What an entry takes."""

    seeds: list[int] | None = Field(None, description="repetitions that count for gradient mappings; all by default")


def lines(context: Context[RegressionFindings]) -> list[dict[str, Any]]:
    """One line per measured number; ``holds`` is the answer where a line decides its finding."""
    return [*_feasibility(context), *_intercept(context), *_beta(context), *_mappings(context)]


def _settings(context: Context[RegressionFindings], experiment: str, algorithm: str) -> list[Setting]:
    return [one for one in context.results.settings(experiment) if one.algorithm == algorithm]


def _eps(value: float) -> str:
    return f"eps = {POWERS.get(value, f'{value:.3g}')}"


def _line(
    finding: str, setting: Setting, what: str, measure: str, numbers: Any, holds: bool | None = None
) -> dict[str, Any]:
    found = np.asarray(numbers, float)
    found = found[~np.isnan(found)]
    mean, std = (float(found.mean()), float(found.std())) if found.size else (math.nan, math.nan)
    content: dict[str, Any] = {"finding": finding, "dataset": published_name(setting.dataset), "setting": what}
    answer = "" if holds is None else "yes" if holds else "no"
    return content | {"measure": measure, "value": mean, "std": std, "n_seeds": int(found.size), "holds": answer}


def _feasibility(context: Context[RegressionFindings]) -> list[dict[str, Any]]:
    """Shares of repetitions without any solution, with group shares counted from labels and with calibrated ones."""
    runs, out = context.results.runs, []
    for experiment, words in (("dp_frequencies", "shares counted from labels"), ("dp_calibrated", "calibrated shares")):
        own = runs[(runs["experiment"] == experiment) & (runs["status"] != "not_run")] if len(runs) else runs
        for (dataset, kappa), part in own.groupby(["dataset", "kappa"], sort=False) if len(own) else ():
            setting = Setting(experiment, dataset, "dp_postproc", kappa)
            share = (part["status"] == "infeasible").astype(float)
            what = f"{words}, {_eps(kappa)}"
            holds = None if experiment == "dp_frequencies" else bool(share.sum() == 0)
            out.append(
                _line("tolerances that contradict each other", setting, what, "share of repetitions", share, holds)
            )
    return out


def _intercept(context: Context[RegressionFindings]) -> list[dict[str, Any]]:
    """Risk and unfairness of the baseline without and with intercept."""
    out = []
    for experiment in ("dp_adw2_paper", "dp_adw2_intercept"):
        for setting in _settings(context, experiment, "regression_reduction"):
            if setting.kappa in (2.0**-2, 2.0**-4, 2.0**-8):
                words = "with intercept" if "intercept" in experiment else "as published, without intercept"
                what = f"ADW-2 {words}, {_eps(setting.kappa)}"
                for metric, measure in (("risk", "risk"), ("ks_group_0", "unfairness")):
                    found = values(context, setting, metric)
                    out.append(_line("intercept of the baseline's linear class", setting, what, measure, found))
    return out


def _beta(context: Context[RegressionFindings]) -> list[dict[str, Any]]:
    """Risk and unfairness of exact solutions at three strengths of the entropic term."""
    out = []
    for experiment, beta in (
        ("dp_paper", "printed beta (136)"),
        ("dp_paper_beta400", "400"),
        ("dp_paper_beta1000", "1000"),
    ):
        for setting in _settings(context, experiment, "dp_postproc"):
            if setting.kappa in (2.0**-6, 2.0**-8):
                what = f"beta {beta.removeprefix('printed beta ').strip('()')}, {_eps(setting.kappa)}"
                for metric, measure in (("risk", "risk"), ("ks_group_0", "unfairness")):
                    found = values(context, setting, metric)
                    out.append(_line("smoothing: risk that beta alone costs", setting, what, measure, found))
    return out


def _mappings(context: Context[RegressionFindings]) -> list[dict[str, Any]]:
    """Norm of the gradient mapping where each optimiser stops, at 2^-8."""
    runs, out = context.results.runs, []
    names = (("dp_paper_sgd", "SGD"), ("dp_paper_theory", "SGD3, as printed"), ("dp_paper_sgd3", "SGD3, as released"))
    for experiment, words in (*names, ("dp_paper", "deterministic")):
        own = runs[(runs["experiment"] == experiment) & (runs["algorithm"] == "dp_postproc")] if len(runs) else runs
        for dataset, part in own.groupby("dataset", sort=False) if len(own) else ():
            kept = part[part["seed"].isin(context.options.seeds)] if context.options.seeds else part
            norms = _gradient_mappings(kept)
            setting = Setting(experiment, dataset, "dp_postproc", 2.0**-8)
            holds = bool(np.nanmax(norms) <= 1e-6) if experiment == "dp_paper" and not np.isnan(norms).all() else None
            out.append(
                _line("where optimisers stop", setting, f"{words}, eps = 2^-8", "gradient mapping", norms, holds)
            )
    return out


def _gradient_mappings(runs: pd.DataFrame) -> NDArray[np.float64]:
    """Norms (n,) of runs; tables collected before certificates had a kind hold them among the KKT residuals."""
    if "certificate" not in runs:
        return runs["kkt_residual"].to_numpy(float)
    own = runs["certificate_kind"] == "gradient_mapping"
    return runs["certificate"].where(own, runs["kkt_residual"]).to_numpy(float)


def table(found: list[dict[str, Any]]) -> Table:
    """All lines, finding by finding, datasets side by side."""
    rows: list[list[Cell]] = []
    breaks, keys = set(), dict.fromkeys((line["finding"], line["setting"], line["measure"]) for line in found)
    before = None
    for finding, setting, measure in keys:
        if finding != before:
            breaks.add(len(rows))
        row = [cells.text(finding if finding != before else ""), cells.text(setting), cells.text(measure)]
        for dataset in TITLES:
            own = [
                one for one in found if (one["finding"], one["setting"], one["measure"]) == (finding, setting, measure)
            ]
            line = next((one for one in own if one["dataset"] == dataset), None)
            row.append(_cell(line))
        rows.append(row)
        before = finding
    return Table(
        [("", 3), ("mean ± deviation over repetitions", len(TITLES))],
        ["finding", "setting", "measure", *TITLES.values()],
        rows,
        frozenset(breaks),
    )


def _cell(line: dict[str, Any] | None) -> Cell:
    if line is None or not line["n_seeds"]:
        return Cell("–", "none")
    number = f"{line['value']:.1e}" if 0 < abs(line["value"]) < 1e-4 else f"{line['value']:.4f}"
    deviation = "" if line["value"] in (0, 1) or abs(line["value"]) < 1e-4 else f" ± {line['std']:.4f}"
    kind = {"yes": "good", "no": "bad"}.get(line["holds"], "number")
    return Cell(number + deviation, kind, f"{line['n_seeds']} repetitions")


def claims(context: Context[RegressionFindings]) -> list[dict[str, Any]]:
    """Scorecard lines of the findings that decide something."""
    out = []
    for line in lines(context):
        if line["holds"]:
            statement = "0 with calibrated shares" if "contradict" in line["finding"] else "at most 1e-6"
            verdict = "reproduced" if line["holds"] == "yes" else "differs"
            note = f"expected of this project, not printed in the paper; {line['n_seeds']} repetitions"
            where = line["dataset"], "dp_postproc", line["setting"], f"{line['finding']}: {line['measure']}"
            more = {"published": statement, "reproduced": line["value"], "verdict": verdict, "note": note}
            out.append(statements.fact(context, *where, **more))
    return out


KIND = Kind.of(RegressionFindings, COLUMNS, lines, table=lambda context: table(lines(context)), claims=claims)
