"""Minutes of the main paper's grid (Figures 1 to 11, Tables 1, 3 and 4) on two cores, from what a run of it recorded.

Nothing is trained: the times are those that every training run of this folder's ``data/runs`` recorded when it was
made; one run of every dataset is evaluated anew. Without such a run the figure is not measured.
"""

import json
import math
import shutil
import tempfile
from collections import Counter
from pathlib import Path

from reproduction.grid.config import Config, Job, evaluation_settings, load_config
from reproduction.grid.paths import SPLIT, TABLE
from reproduction.jobs.evaluate import evaluate
from tests.benchmarks.common import ROOT, Result, result, seconds

EXHIBITS = (*(f"figure{number}" for number in range(1, 12)), "table1", "table3", "table4")
CORES = 2
SEEDS = range(5)


def jobs(config: Config) -> list[Job]:
    """The runs that the paper's exhibits are made of, at its seeds."""
    names = dict.fromkeys(name for exhibit in EXHIBITS for name in config.params.exhibits[exhibit].experiments)
    return [job for name in names for job in config.jobs(name) if job.seed in SEEDS]


def training_seconds(folder: Path) -> float | None:
    """Processor seconds of a run's training; ``None`` if it was not made."""
    if not (folder / "fit.json").is_file() or not (folder / "metrics.json").is_file():
        return None
    return float(json.loads((folder / "fit.json").read_text())["time"]["cpu_seconds"])


def evaluation_seconds(root: Path, config: Config, job: Job) -> float:
    """Processor seconds of evaluating a stored run anew, into a folder that is thrown away."""
    inputs = [root / text.format(dataset=job.dataset, seed=job.seed) for text in (TABLE, SPLIT)]
    settings = evaluation_settings(config, job.experiment, job.dataset)
    with tempfile.TemporaryDirectory() as folder:
        model, fit = (shutil.copy(root / job.path / name, folder) for name in ("model.npz", "fit.json"))
        return seconds(lambda: evaluate(model, fit, *inputs, folder, settings))[0]


def measure(root: Path, config: Config) -> Result:
    """The figure, of the runs in ``root``."""
    wanted = jobs(config)
    found = {job: spent for job in wanted if (spent := training_seconds(root / job.path)) is not None}
    if not found:
        how = f"skipped: no run of the paper's grid ({len(wanted)} runs) in data/runs; `make paper` makes it"
        return result("paper_grid_minutes", math.nan, "min", "<= 60", how)
    parts: Counter[str] = Counter()
    for job, spent in found.items():
        parts[f"{job.experiment}/{job.algorithm}"] += spent
    evaluations = 0.0
    for dataset, count in Counter(job.dataset for job in found).items():
        sample = next(job for job in found if job.dataset == dataset)
        evaluations += count * evaluation_seconds(root, config, sample)
    training = parts.total()
    largest = ", ".join(f"{name} {spent / 60:.1f}" for name, spent in parts.most_common(5))
    missing = len(wanted) - len(found)
    how = (
        f"processor minutes of the {len(found)} runs of Figures 1 to 11 and Tables 1, 3 and 4, over {CORES} cores: "
        f"training {training / 60:.1f} as the runs recorded it, evaluation {evaluations / 60:.1f} from evaluating one "
        f"run per dataset anew; drawing the exhibits and starting processes not included; largest: {largest}"
        + (f"; {missing} runs are missing, so this is a lower bound" if missing else "")
    )
    return result("paper_grid_minutes", (training + evaluations) / 60 / CORES, "min", "<= 60", how, valid=not missing)


def run() -> list[Result]:
    """Of this folder's runs."""
    return [measure(ROOT, load_config(ROOT / "params.yaml"))]
