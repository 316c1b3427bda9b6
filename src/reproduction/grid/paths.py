"""Where every file lies, relative to the project's root: said here, asked by rules, verbs and checks alike.

Texts in braces are the wildcards of the rules.
"""

from collections.abc import Iterable
from pathlib import Path

RAW = Path("data/raw")
RUNS = Path("data/runs")
REPORTS = Path("reports")

TABLE = "data/processed/{dataset}/table.npz"
SPLIT = "data/processed/{dataset}/splits/seed={seed}.npz"
MANIFEST = "data/manifest/{what}.json"
RUN_KEY = "{experiment}/{dataset}/{algorithm}/kappa={kappa}/seed={seed}"
"""A run, in the paths of its files, its logs and its benchmarks."""
RUN = f"{RUNS}/{RUN_KEY}"
MODEL, FIT, HISTORY = "model.npz", "fit.json", "history.parquet"
"""In the folder of a run, what training writes."""
SCORES, METRICS = "scores.parquet", "metrics.json"
"""There, what evaluation writes."""
COLLECTED = "reports/{experiment}/{table}.parquet"
COLLECTED_TABLES = ("metrics", "runs")
EXHIBIT = "reports/{exhibit}/{exhibit}.csv"
MADE_FROM = "made_from.json"
"""Beside the tables of an experiment, an exhibit or the scorecard: settings, code and files that it was made from."""
PAGE = ".cache/report/{exhibit}.html"
"""An exhibit as Snakemake's own report takes it."""
SUMMARY = ("scorecard.csv", "index.html", "verdicts.json", "metrics.json")
"""What gathers the exhibits of a grid, or of one experiment."""


def table(dataset: str) -> str:
    """Return the prepared table of a dataset."""
    return TABLE.format(dataset=dataset)


def split(dataset: str, seed: int | str) -> str:
    """Return the row numbers of the three parts of a table."""
    return SPLIT.format(dataset=dataset, seed=seed)


def collected(experiments: Iterable[str]) -> list[str]:
    """Return the tidy tables of experiments."""
    return [COLLECTED.format(experiment=name, table=table) for name in experiments for table in COLLECTED_TABLES]


def summary_folder(name: str = "") -> Path:
    """Return where scorecard and page lie: of everything, or of one paper or experiment by itself."""
    return REPORTS / name
