"""The second look: which cells of the grid take more seeds, decided from the tables of the first.

The rule, fixed before any run of the present protocol: a method takes the ``more_seeds`` of an experiment on a dataset
if a comparison that it is a side of is open there after the first seeds. Such comparisons are those of central claims
and of claims that say ``second_look``. A comparison is open unless its claim holds or fails, under the main reading and
corrected within its family, at the level of the first look (:mod:`reproduction.verdicts.look_levels`). The experiments
with models between (``between``) take the seeds with it. Only rows of the first seeds are read, so that the answer is
the same after the second look as before it.
"""

from pathlib import Path
from typing import Any

from partialfair.data.files import write_json
from reproduction.grid import looks, papers
from reproduction.grid.config import Config
from reproduction.verdicts import claim_tests
from reproduction.verdicts.claim import Claim, load
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.results import Results

DECIDED = ("holds", "fails", "dominated")
RULE = (
    "a cell is open while a comparison of a central claim, or of one with second_look, is undecided at O'Brien and "
    "Fleming's first boundary; first seeds alone"
)


def update(config: Config, root: Path = Path()) -> list[str]:
    """Write the second look of every paper whose first look is complete; return in words what is newly open.

    Args:
        config: the grid; a part of it without ``more_seeds`` changes nothing.
        root: the project's root.
    """
    news = []
    for paper in config.papers:
        cells = open_cells(config, paper, root)
        if cells is None:
            continue
        before = looks.open_cells(paper, root)
        if cells != before:
            write_json(papers.file(paper, looks.FILE, root), {"rule": RULE, "open": looks.as_entries(cells)})
        news += [" ".join(cell) for cell in sorted(cells - before)]
    return news


def open_cells(config: Config, paper: str, root: Path = Path()) -> frozenset[looks.Cell] | None:
    """Return the cells that take more seeds; ``None`` before the first look is complete."""
    first_config = config.at_first_look()
    claims = [claim for claim in load(paper, root) if claim.is_sequential and claim.table is None and not claim.absent]
    sequential = [claim for claim in claims if any(_has_more(config, name) for name in _experiments(config, claim))]
    names = list(dict.fromkeys(name for claim in sequential for name in _experiments(config, claim)))
    if not sequential or not {*names} <= {*config.experiments}:
        return None
    results = _of_first_seeds(first_config, names, root)
    if results is None:
        return None
    evidence: Evidence[Any] = Evidence.for_claims(first_config, names, results, root)
    cells: set[looks.Cell] = set()
    for compared in claim_tests.comparisons(evidence, sequential):
        claim, cell, side = compared.claim, compared.cell, compared.side
        if side is None or compared.verdict in DECIDED:
            continue
        for experiment, method in (
            (cell.experiment, claim.method),
            (cell.experiment, claim.start),
            (side.experiment or cell.experiment, side.method or claim.method),
        ):
            cells |= {(name, cell.dataset, method) for name in config.with_between([experiment])}
    return frozenset(cell for cell in cells if _takes_more(config, cell))


def _takes_more(config: Config, cell: looks.Cell) -> bool:
    """Tell whether the grid has runs and more seeds of a cell."""
    experiment, dataset, algorithm = cell
    model = config.experiment(experiment)
    return dataset in model.more_seeds and algorithm in model.runs[dataset].algorithms


def _experiments(config: Config, claim: Claim) -> list[str]:
    """Return the experiments that a claim compares, with those that have models between."""
    names = [*claim.experiments, *(side.experiment for side in claim.sides() if side.experiment)]
    return config.with_between(dict.fromkeys(names))


def _has_more(config: Config, name: str) -> bool:
    """Tell whether an experiment has seeds for a second look."""
    return name in config.experiments and bool(config.experiment(name).more_seeds)


def _of_first_seeds(first_config: Config, names: list[str], root: Path) -> Results | None:
    """Return the results of the first seeds; ``None`` where a run of them is missing."""
    results = Results.load(root / "reports", names, first_config.params.bootstrap.level)
    runs = results.runs[results.runs["status"] != "not_run"]
    keys = ["experiment", "dataset", "algorithm", "kappa", "seed"]
    trained = set(runs[keys].itertuples(index=False, name=None)) if len(runs) else set()
    jobs = (job for name in names for job in first_config.jobs(name))
    if not all((job.experiment, job.dataset, job.algorithm, job.kappa, job.seed) in trained for job in jobs):
        return None
    seeds = {name: first_config.seeds(name) for name in names}
    metrics, runs = (
        table[[seed in seeds[name] for name, seed in zip(table["experiment"], table["seed"], strict=True)]]
        for table in (results.metrics, results.runs)
    )
    return Results(metrics.reset_index(drop=True), runs.reset_index(drop=True), results.level)
