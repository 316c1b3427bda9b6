"""The end of the chain: collected tables, exhibits and the scorecard, made anew and compared."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from partialfair.grid import fingerprint, paths
from partialfair.grid.config import Config
from partialfair.jobs import collect, report
from partialfair.jobs.scorecard import write_all
from partialfair.provenance.chain import Chain, Fault
from partialfair.reporting import exhibit
from partialfair.tables.files import sha256


def check_reports(chain: Chain, config: Config) -> None:
    """Collect and draw everything again in a scratch folder, and compare it with ``reports/``.

    Args:
        chain: receives what is found; runs that it says are broken are not collected.
        config: the grid, or its restriction to one experiment.
    """
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for source in ("data", "src", "papers", "params.yaml"):
            if Path(source).exists():
                (scratch / source).symlink_to(Path(source).absolute())
        for experiment in config.experiments:
            chain.progress(f"collected results of {experiment}")
            _check_collected(chain, config, experiment, scratch)
        for number, exhibit_id in enumerate(config.params.exhibits, 1):
            chain.progress(f"exhibit {number} of {len(config.params.exhibits)}: {exhibit_id}")
            _check_exhibit(chain, config, exhibit_id, scratch)
        chain.progress("scorecard and page")
        _check_scorecard(chain, config, scratch)


def _check_collected(chain: Chain, config: Config, experiment: str, scratch: Path) -> None:
    """Collect an experiment again; where its runs are broken, go on with the table that there is."""
    runs, tables = [f"{job.path}/" for job in config.jobs(experiment)], paths.collected([experiment])
    out = scratch / paths.REPORTS / experiment
    out.mkdir(parents=True, exist_ok=True)
    if any(found.path.startswith(tuple(runs)) for found in chain.breaks):
        for path in tables:
            if Path(path).exists():
                shutil.copy(path, scratch / path)
        return
    collect.collect_experiment(config, experiment, out)
    remedy = f"run `snakemake {tables[0]} --forcerun collect`"
    for path in tables:
        if not Path(path).exists():
            chain.broken(path, Fault.MISSING, "the file is missing", remedy)
        elif sha256(path) == sha256(scratch / path):
            chain.link("collected", path, f"collected anew from {len(runs)} runs, same bytes")
        else:
            chain.broken(path, Fault.DAMAGED, _first_difference(Path(path), scratch / path), remedy)


def _first_difference(found: Path, wanted: Path) -> str:
    """Name the first cell in which two tables differ."""
    from pyarrow import ArrowException, parquet

    try:
        tables = [parquet.read_table(path) for path in (found, wanted)]
    except (ArrowException, OSError) as error:
        return f"not readable ({str(error).splitlines()[0]})"
    if tables[0].column_names != tables[1].column_names or tables[0].num_rows != tables[1].num_rows:
        return f"its shape is {tables[0].shape}, the runs give {tables[1].shape}"
    key = [
        name for name in ("dataset", "algorithm", "kappa", "seed", "split", "metric") if name in tables[0].column_names
    ]
    for column in tables[0].column_names:
        cells: list[list[Any]] = [table.column(column).to_pylist() for table in tables]
        for row, (have, want) in enumerate(zip(*cells, strict=True)):
            if have != want and not (have != have and want != want):  # NaN differs from itself
                where = " ".join(str(tables[1].column(name)[row].as_py()) for name in key)
                return f"{column} of {where} is {have!r}, its run says {want!r}"
    return "its bytes differ from those that the runs give, though all cells agree"


def _check_exhibit(chain: Chain, config: Config, exhibit_id: str, scratch: Path) -> None:
    """Draw an exhibit again and compare every file of it."""
    folder, out = paths.REPORTS / exhibit_id, scratch / paths.REPORTS / exhibit_id
    csv = folder / f"{exhibit_id}.csv"
    remedy = f"delete it and run `snakemake {csv} --forcerun exhibit`"
    before = len(chain.breaks)
    with chain.expects(csv, remedy):
        made = report.render_exhibit(config, exhibit_id, out, scratch)
        for path in sorted(made):
            _compare(chain, folder / path.name, path, remedy)
    if len(chain.breaks) == before:
        used = exhibit.context(config, exhibit_id, scratch).experiments
        tie = f"drawn anew from {', '.join(used)}, same bytes; code {fingerprint.exhibit(config, exhibit_id).code}"
        chain.link("exhibit", csv, tie)


def _check_scorecard(chain: Chain, config: Config, scratch: Path) -> None:
    """Write scorecard and page again and compare."""
    out, folder = scratch / "again", config.reports
    remedy = f"delete it and run `snakemake {folder / 'scorecard.csv'}`"
    before = len(chain.breaks)
    with chain.expects(folder / "scorecard.csv", remedy):
        score, *others = write_all(config, out, scratch)
        for again in (score, *others):
            _compare(chain, folder / again.name, again, remedy)
        if len(chain.breaks) == before:
            rows = len(score.read_text(encoding="utf-8").splitlines()) - 1
            chain.link("scorecard", folder / "scorecard.csv", f"{rows} rows written anew, same bytes")


def _compare(chain: Chain, path: Path, again: Path, remedy: str) -> None:
    """Compare a file of a report with one that was made anew."""
    if not path.exists():
        chain.broken(path, Fault.MISSING, "the file is missing", remedy)
    elif path.read_bytes() != again.read_bytes():
        chain.broken(path, Fault.DAMAGED, _first_line(path, again), remedy)


def _first_line(path: Path, again: Path) -> str:
    """Say in which line a text differs."""
    if path.suffix not in (".csv", ".html"):
        return "it is not what the results give"
    texts = [file.read_text(encoding="utf-8", errors="replace").splitlines() for file in (path, again)]
    for number, (have, want) in enumerate(zip(*texts, strict=False), start=1):
        if have != want:
            start = next((i for i, (a, b) in enumerate(zip(have, want, strict=False)) if a != b), 0)
            at = max(0, start - 40)
            return f"line {number} has {have[at : start + 40]!r}, the results give {want[at : start + 40]!r}"
    return f"it has {len(texts[0])} lines, the results give {len(texts[1])}"
