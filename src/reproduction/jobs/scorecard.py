"""What gathers the exhibits: scorecard.csv, verdicts.json, the page index.html, metrics.json, and metrics.PAPER.json.

The last ones have the number of verdicts on each paper, one small file per paper, so that ``dvc metrics`` shows a table
with a line per paper; metrics.json has the main numbers of every setting.
"""

from enum import StrEnum
from pathlib import Path
from typing import Any

from partialfair.data.files import write_json
from partialfair.errors import DataError
from reproduction.exhibits import answers
from reproduction.grid.config import Config
from reproduction.site import page
from reproduction.verdicts import baseline_scorecard, scorecard
from reproduction.verdicts.results import Results, convention, is_estimated

DIGITS = 6


class Undecided(StrEnum):
    """What becomes of lines that the scorecard in the folder had decided, and that lack their trained runs here."""

    REFUSE = "refuse"
    KEEP = "keep"
    REPLACE = "replace"


def write_all(
    config: Config,
    out_dir: str | Path | None = None,
    root: str | Path = ".",
    undecided: Undecided = Undecided.REFUSE,
) -> list[Path]:
    """Write the files of a grid, whole or restricted, by default into the folder of its reports; return their paths.

    Raises:
        DataError: a figure has not been drawn; or lines of the scorecard in the folder cannot be decided here, and
            ``undecided`` says to refuse.
    """
    checkout = Path(root)
    folder = Path(out_dir or checkout / config.reports)
    lines = _standing(answers.scorecard_lines(config, checkout), folder / "scorecard.csv", undecided)
    return [scorecard.write(lines, folder / "scorecard.csv"), *write_summary(config, lines, folder, checkout)]


def write_summary(config: Config, lines: list[dict[str, Any]], folder: Path, checkout: Path) -> list[Path]:
    """Write what follows from the lines of the scorecard: page, verdicts and main numbers; return their paths."""
    paths = [page.write(config, folder / "index.html", checkout, scorecard.rounded(lines))]
    for name, content in (
        ("verdicts.json", {"papers": scorecard.paper_summaries(config, lines, checkout)}),
        ("metrics.json", headline(config, checkout, lines)),
    ):
        write_json(folder / name, content)
        paths.append(folder / name)
    for paper in config.papers:
        counts = scorecard.count_verdicts(line for line in lines if line["paper"] == paper)
        if counts:
            write_json(folder / f"metrics.{paper}.json", counts)
            paths.append(folder / f"metrics.{paper}.json")
    return paths


def _standing(lines: list[dict[str, Any]], path: Path, undecided: Undecided) -> list[dict[str, Any]]:
    if undecided is Undecided.REPLACE or not path.exists():
        return lines
    before = baseline_scorecard.load(path)
    if undecided is Undecided.KEEP:
        return baseline_scorecard.keep(lines, before)
    if lost := baseline_scorecard.lost(lines, before):
        papers = ", ".join(dict.fromkeys(line["paper"] for line in lost))
        raise DataError(
            f"{path}: {len(lost)} of its {len(before)} lines are decided there and lack their trained runs here "
            f"({papers}); nothing was written: train the runs, or say --keep or --replace"
        )
    return lines


def headline(config: Config, root: Path, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means over seeds on test rows by experiment, dataset, algorithm and kappa, and the number of verdicts.

    A setting without a usable run has no numbers.
    """
    results = Results.load(root / "reports", config.experiments, config.params.bootstrap.level)
    content: dict[str, Any] = {"verdicts": dict(scorecard.count_verdicts(lines))}
    for setting in results.settings():
        experiment = config.experiment(setting.experiment)
        naming = convention(experiment.constraint)
        fairness = naming.absolute if experiment.kappa_scale == "absolute" else naming.relative
        estimates = {
            name: results.estimate(setting, metric)
            for name, metric in (("accuracy", "accuracy"), (f"{naming.title} fairness", fairness))
        }
        numbers = {name: round(estimate.mean, DIGITS) for name, estimate in estimates.items() if is_estimated(estimate)}
        if numbers:
            block = content.setdefault(setting.experiment, {}).setdefault(setting.dataset, {})
            block.setdefault(setting.algorithm, {})[f"kappa={setting.kappa:g}"] = numbers
    return content
