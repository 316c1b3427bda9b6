"""What gathers the exhibits: scorecard.csv, the page index.html, and metrics.json.

The last has the main numbers, which ``dvc metrics`` shows and compares between revisions.
"""

from pathlib import Path
from typing import Any

from partialfair.grid.config import Config
from partialfair.reporting import answers, page
from partialfair.tables.files import write_json
from partialfair.verdicts import scorecard
from partialfair.verdicts.results import Results, convention, is_estimated

DIGITS = 6


def write_all(config: Config, out_dir: str | Path | None = None, root: str | Path = ".") -> list[Path]:
    """Write the three files of a grid, whole or restricted; see below."""
    return [write(config, out_dir, root) for write in (write_scorecard, render_page, write_headline)]


def write_scorecard(config: Config, out_dir: str | Path | None = None, root: str | Path = ".") -> Path:
    """Write ``scorecard.csv``; see :mod:`partialfair.verdicts.scorecard`."""
    folder = Path(out_dir) if out_dir is not None else Path(root) / config.reports
    return scorecard.write(answers.lines(config, Path(root)), folder / "scorecard.csv")


def render_page(config: Config, out_dir: str | Path | None = None, root: str | Path = ".") -> Path:
    """Write ``index.html``: everything on one self-contained page.

    Raises:
        DataError: a figure has not been drawn.
    """
    folder = Path(out_dir) if out_dir is not None else Path(root) / config.reports
    return page.write(config, folder / "index.html", Path(root))


def write_headline(config: Config, out_dir: str | Path | None = None, root: str | Path = ".") -> Path:
    """Write ``metrics.json``: means over seeds on test rows by experiment, dataset, algorithm and kappa; verdicts.

    Args:
        config: the grid.
        out_dir: where to write; by default the report's folder.
        root: the project's root.
    """
    folder = Path(out_dir) if out_dir is not None else Path(root) / config.reports
    target = folder / "metrics.json"
    write_json(target, headline(config, Path(root)))
    return target


def headline(config: Config, root: Path) -> dict[str, Any]:
    """Return what :func:`write_headline` writes; a setting without a usable run has no numbers."""
    results = Results.load(root / "reports", config.experiments, config.params.bootstrap.level)
    content: dict[str, Any] = {"verdicts": dict(scorecard.counts(answers.lines(config, root)))}
    for setting in results.settings():
        experiment = config.experiment(setting.experiment)
        shown = convention(experiment.constraint)
        fairness = shown.absolute if experiment.kappa_scale == "absolute" else shown.relative
        found = {
            name: results.estimate(setting, metric)
            for name, metric in (("accuracy", "accuracy"), (f"{shown.title} fairness", fairness))
        }
        numbers = {name: round(estimate.mean, DIGITS) for name, estimate in found.items() if is_estimated(estimate)}
        if numbers:
            block = content.setdefault(setting.experiment, {}).setdefault(setting.dataset, {})
            block.setdefault(setting.algorithm, {})[f"kappa={setting.kappa:g}"] = numbers
    return content
