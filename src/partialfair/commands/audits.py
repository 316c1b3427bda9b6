"""Verbs on score files of any origin: audit them, choose an interval."""

from pathlib import Path
from typing import Annotated, Any

import typer

from partialfair.commands.options import SCORES, OnceCommand, PairCommand

app = typer.Typer()

Limit = Annotated[
    list[float] | None,  # a list, so that a gate given twice is seen and refused: of one number, the last would count
    typer.Option(metavar="LIMIT", min=0, max=1, help="Exit with status 1 if the violation is larger."),
]


@app.command(cls=PairCommand, rich_help_panel=SCORES)
def audit(
    source: Annotated[Path, typer.Argument(help="CSV (with a header line) or parquet file with one row per score.")],
    score: Annotated[str, typer.Option(help="Column of the scores.")],
    group: Annotated[list[str], typer.Option(help="Column of the groups; several, joined by commas, are intersected.")],
    label: Annotated[str | None, typer.Option(help="Column of the labels; two values.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of weights: a row counts as often.")] = None,
    interval: Annotated[
        list[str] | None,
        typer.Option(metavar="ALPHA BETA", help="Ranks, 0 = highest score; repeat it for a union. By default 0 1."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Decision threshold; by default 0.5 for scores in [0, 1], else 0.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="The positive label; by default the larger one.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for audit.html and audit.json.")] = None,
    junit: Annotated[Path | None, typer.Option(help="File for the gates as a JUnit test suite.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="File for the gates that failed as SARIF 2.1.0.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of the summary.")] = False,
    missing: Annotated[
        str, typer.Option(help="Rows with a missing value: refuse, drop, or group (those without a group).")
    ] = "refuse",
    min_group_size: Annotated[int, typer.Option(help="Groups with fewer rows are listed, not compared.")] = 30,
    confidence_intervals: Annotated[bool, typer.Option(help="Compute confidence intervals of violations.")] = True,
    by: Annotated[
        str | None, typer.Option(help="Who runs the audit, for its page; by default the name of the user.")
    ] = None,
    owner: Annotated[str | None, typer.Option(help="Who answers for the model, for the page of the audit.")] = None,
    max_sp: Limit = None,
    max_rank_gap: Limit = None,
    max_dp: Limit = None,
    max_dp_gap: Limit = None,
    max_gauc: Limit = None,
    max_eop: Limit = None,
    max_eod: Limit = None,
    min_selection_ratio: Annotated[
        list[float] | None,
        typer.Option(
            metavar="LIMIT",
            min=0,
            max=1,
            help="Exit with status 1 if the ratio of selection rates is smaller: 0.8 for four fifths.",
        ),
    ] = None,
    max_other: Annotated[
        list[str] | None, typer.Option("--max", metavar="METRIC=LIMIT", help="A limit on any other metric; repeatable.")
    ] = None,
) -> None:
    """Audit the scores of any model, as a page or as a gate.

    Exit status 1 if a limit is exceeded or was not measured, 2 if the input cannot be used or a metric has two limits.
    """
    from partialfair.audit.command import run

    limits = {"sp": max_sp, "rank_gap": max_rank_gap, "dp": max_dp, "dp_gap": max_dp_gap, "gauc": max_gauc}
    limits |= {"eop": max_eop, "eod": max_eod, "selection_ratio": min_selection_ratio}
    options: dict[str, Any] = {"score": score, "group": group, "label": label, "weight": weight, "threshold": threshold}
    options |= {"positive": positive, "auditor": by, "missing": missing}
    options |= {"min_group_size": min_group_size, "confidence_intervals": confidence_intervals, "owner": owner}
    status = run(
        source,
        limits=limits,
        gate_texts=max_other or (),
        intervals=interval or (),
        out=out,
        junit=junit,
        sarif=sarif,
        as_json=as_json,
        **options,
    )
    raise typer.Exit(status)


@app.command("choose-interval", cls=OnceCommand, rich_help_panel=SCORES)
def choose_interval(
    source: Annotated[Path, typer.Argument(help="CSV (with a header line) or parquet file with one row per score.")],
    score: Annotated[str, typer.Option(help="Column of the scores of an unconstrained model.")],
    group: Annotated[list[str], typer.Option(help="Column of the groups; several, joined by commas, are intersected.")],
    weight: Annotated[str | None, typer.Option(help="Column of weights: a row counts as often.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Decision threshold; by default 0.5 for scores in [0, 1], else 0.")
    ] = None,
    measure: Annotated[str, typer.Option(help="What is compared: sp, rank_gap or gauc.")] = "sp",
    length: Annotated[
        list[float] | None, typer.Option(help="Length of candidates; repeatable. By default 0.2, 0.25 and 0.3.")
    ] = None,
    step: Annotated[float, typer.Option(help="Distance of the grid on which candidates begin.")] = 0.05,
    missing: Annotated[
        str, typer.Option(help="Rows with a missing value: refuse, drop, or group (those without a group).")
    ] = "refuse",
    min_group_size: Annotated[int, typer.Option(help="Groups with fewer rows are left out.")] = 30,
    out: Annotated[Path | None, typer.Option(help="Picture to draw: .png, .svg or .pdf.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of the table.")] = False,
) -> None:
    """Suggest an interval of ranks to constrain or audit.

    Of those that cover the positive rate, it is the one where groups differ most.
    """
    from partialfair.audit.choose import run
    from partialfair.metrics.choose_interval import LENGTHS

    options = {
        "score": score,
        "group": group,
        "weight": weight,
        "threshold": threshold,
        "measure": measure,
        "step": step,
        "missing": missing,
    }
    run(source, out, as_json, lengths=length or LENGTHS, min_group_size=min_group_size, **options)


Kappa = Annotated[float, typer.Option(help="Tolerance: how far two groups' ranks may lie apart on the interval.")]
KappaScale = Annotated[str, typer.Option(help="Scale of kappa: relative to the interval's length, or absolute.")]
Confidence = Annotated[
    float | None, typer.Option(help="Keep kappa in the population, not only on these rows: 0.95, for instance.")
]
Groups = Annotated[list[str], typer.Option(help="Column of the groups; several, joined by commas, are intersected.")]
Ranks = Annotated[
    list[str] | None,
    typer.Option(metavar="ALPHA BETA", help="Ranks, 0 = highest score; repeat it for a union. By default chosen."),
]
Missing = Annotated[
    str, typer.Option(help="Rows with a missing value: refuse, drop, or group (those without a group).")
]


@app.command(cls=PairCommand, rich_help_panel=SCORES)
def adjust(
    source: Annotated[Path, typer.Argument(help="CSV (with a header line) or parquet file with one row per score.")],
    group: Groups,
    out: Annotated[Path, typer.Option(help="File to write: .csv or .parquet.")],
    score: Annotated[str, typer.Option(help="Column of the scores.")] = "score",
    interval: Ranks = None,
    kappa: Kappa = 0.1,
    kappa_scale: KappaScale = "relative",
    confidence: Confidence = None,
    missing: Missing = "refuse",
    column: Annotated[str, typer.Option(help="Name of the new column.")] = "fair_score",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of sentences.")] = False,
) -> None:
    """Map the scores of a file to fair ones.

    All columns are written with a new one. Scores should be those of rows that their model has not seen. Exit status 1
    if kappa is missed or not promised, 2 if the input cannot be used; nothing is written then.
    """
    from partialfair.commands.fair_files import Request
    from partialfair.commands.fair_files import adjust as run

    request = Request(source, out, group, interval or (), kappa, kappa_scale, confidence, missing)
    raise typer.Exit(run(request, score, column, as_json))


@app.command(cls=PairCommand, rich_help_panel=SCORES)
def fit(
    source: Annotated[Path, typer.Argument(help="CSV (with a header line) or parquet file with one row per person.")],
    label: Annotated[str, typer.Option(help="Column of the labels; two values.")],
    group: Groups,
    out: Annotated[Path, typer.Option(help="File to write: .csv or .parquet.")],
    apply: Annotated[Path | None, typer.Option(help="File whose rows are scored; by default the fitted rows.")] = None,
    interval: Ranks = None,
    kappa: Kappa = 0.1,
    kappa_scale: KappaScale = "relative",
    confidence: Confidence = None,
    missing: Missing = "refuse",
    positive: Annotated[str | None, typer.Option(help="The positive label; by default the larger one.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column that is no input; repeatable.")] = None,
    category: Annotated[list[str] | None, typer.Option(help="Column of numbers that are names; repeatable.")] = None,
    blind: Annotated[bool, typer.Option("--blind", help="Let scores not depend on the group.")] = False,
    column: Annotated[str, typer.Option(help="Name of the new column of scores.")] = "fair_score",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of sentences.")] = False,
) -> None:
    """Fit a fair classifier to a file, and score rows.

    Every other column is an input: numbers as they are, texts by one input each. All columns of the scored file are
    written with two new ones, score and decision. Exit status 1 if kappa is missed or not promised, 2 if the input
    cannot be used; nothing is written then.
    """
    from partialfair.commands.fair_files import Request
    from partialfair.commands.fair_files import fit as run

    request = Request(source, out, group, interval or (), kappa, kappa_scale, confidence, missing)
    options: dict[str, Any] = {"positive": positive, "apply": apply, "drop": drop or (), "category": category or ()}
    raise typer.Exit(run(request, label, column, uses_group=not blind, as_json=as_json, **options))
