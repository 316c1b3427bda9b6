"""The end of the chain: collected tables, exhibits and the scorecard, made anew and compared."""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from partialfair.data.files import sha256
from partialfair.errors import PartialFairError
from partialfair.kernels import processor
from reproduction.grid import fingerprint, papers, paths
from reproduction.grid.config import Config, Job
from reproduction.grid.workflow import Grid
from reproduction.jobs import collect
from reproduction.verify.chain import Chain, Fault
from reproduction.verify.recorded_files import RecordedFiles
from reproduction.verify.runs import EVALUATED, TRAINED

_SCORECARD = ""
_ROOTS = (paths.RUNS, paths.REPORTS)
_DRAWN = ("csv", "html", "pdf", "png", "svg")
_MEASURED_TABLES = (
    "audit_coverage.csv",
    "classifier_tables.csv",
    "parity_peers.csv",
    "promise_kept.csv",
    "regression_parity.csv",
    "ten_million_rows.csv",
    "tight_parity.csv",
    "torch_training.csv",
)
MEASURED = ("benchmarks.csv", "benchmarks.json", "benchmarks.png", "snakemake.html", *_MEASURED_TABLES)
"""Files of ``reports/`` that are not results: what benchmarks measured here, and Snakemake's own report."""


class Reports:
    """The check of ``reports/``: every result whose runs are here is made anew in a scratch folder.

    Without the runs, as in a fresh clone, every exhibit for which the recorded tables are enough is made anew as well.

    Args:
        config: the grid, or its restriction to one experiment.
        absent: runs that are not here.
        recorded: the files as DVC and git recorded them.
        edited_only: check only the files that are not as recorded, and not whether they are outdated.
        pictures: draw every figure anew; by default only figures that are not as recorded, since drawing takes most of
            the time and the numbers of a figure, which are made anew in any case, are in its CSV.
    """

    def __init__(
        self,
        config: Config,
        absent: Sequence[Job],
        recorded: RecordedFiles,
        edited_only: bool = False,
        pictures: bool = False,
    ) -> None:
        self.config, self.recorded, self.edited_only, self.pictures = config, recorded, edited_only, pictures
        self.without_runs = {job.experiment for job in absent}
        self.no_run_here = len(absent) == len(config.jobs())
        self.exhibits_stand = True

    def check(self, chain: Chain) -> None:
        """Check all reports, each stage in as many processes as there are cores."""
        if not self.edited_only:
            import_module("reproduction.jobs.report")  # once, not in each of the processes
        with tempfile.TemporaryDirectory() as name:
            self.scratch = Path(name)
            for source in ("data", "src", "papers", "params.yaml"):
                if Path(source).exists():
                    (self.scratch / source).symlink_to(Path(source).absolute())
            broken = [fault.path for fault in chain.breaks if fault.path.startswith(f"{paths.RUNS}/")]
            self.without_runs |= {Path(path).relative_to(paths.RUNS).parts[0] for path in broken}
            for exhibit in self.config.params.exhibits:  # claims and the page read what others draw
                for path in filter(Path.exists, _files_of(exhibit)):
                    (self.scratch / path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, self.scratch / path)
            chain.check_all(self._collected, list(self.config.experiments), "collected results of experiment")
            # The scorecard takes longest and begins, with the exhibits as they are: written again if one has to change.
            before, exhibits = len(chain.breaks), [_SCORECARD, *self.config.params.exhibits]
            scorecard = chain.check_all(self._drawn, exhibits, "exhibit")[0]
            if len(chain.breaks) > before:
                self.exhibits_stand = False
                self._scorecard(chain)
            else:
                chain.take(scorecard)

    def _follows(self, chain: Chain, stage: str, experiments: Collection[str], files: Sequence[Path]) -> bool:
        """Whether results can and have to be made anew; if not, count them and check whether they were edited."""
        files_here = [path for path in files if path.exists()]
        if not files_here:
            chain.absent[stage] += 1
        elif not self.without_runs.isdisjoint(experiments):
            chain.unfollowed[stage] += 1
            if files[0] not in files_here:
                chain.broken(files[0], Fault.MISSING, "what is made with it is here", f"run `snakemake {files[0]}`")
            for path in files_here:
                if self.recorded.is_edited(path):
                    problem = "it is not as recorded or committed, and its runs are not here to say what it should be"
                    chain.broken(path, Fault.DAMAGED, problem, f"run `git checkout {path}`, or `snakemake {path}`")
        elif not self.edited_only:
            return True
        else:
            return not all(map(self.recorded.is_untouched, files_here))
        return False

    def _collected(self, chain: Chain, experiment: str) -> None:
        """Collect an experiment again; if its runs are not all here, copy the recorded table instead."""
        tables, jobs = paths.collected([experiment]), self.config.jobs(experiment)
        out = self.scratch / paths.REPORTS / experiment
        out.mkdir(parents=True, exist_ok=True)
        if not self._follows(chain, "collected", [experiment], [Path(path) for path in tables]):
            for path in filter(os.path.exists, tables):
                shutil.copy(path, self.scratch / path)
            return
        collect.collect_experiment(self.config, experiment, out)
        remedy = f"run `snakemake {tables[0]} --forcerun collect`"
        for path in tables:
            if not Path(path).exists():
                chain.broken(path, Fault.MISSING, "the file is missing", remedy)
            elif sha256(path) == sha256(self.scratch / path):
                chain.link("collected", path, f"collected anew from {len(jobs)} runs, same bytes")
            else:
                problem = _first_difference(Path(path), self.scratch / path)
                chain.broken(path, self._fault(path), problem, remedy)

    def _drawn(self, chain: Chain, name: str) -> Chain | None:
        """Check an exhibit, or the scorecard; the chain of the scorecard is returned."""
        if name != _SCORECARD:
            self._exhibit(chain, name)
            return None
        scorecard_chain = Chain(progress=print)  # can be sent to the parent process
        self._scorecard(scorecard_chain)
        return scorecard_chain

    def _exhibit(self, chain: Chain, name: str) -> None:
        """Draw an exhibit again and compare every file of it."""
        folder, out = paths.REPORTS / name, self.scratch / paths.REPORTS / name
        csv = folder / f"{name}.csv"
        used = Grid(self.config).experiments_of(name)
        files = _files_of(name)
        without_runs = not self.without_runs.isdisjoint(used)
        made = self._made_from_tables(csv, used) if without_runs and not self.edited_only else []
        if not self._follows(chain, "exhibit", () if made else used, files):
            return
        remedy, before = f"delete it and run `snakemake {csv} --forcerun exhibit`", len(chain.breaks)
        with chain.expects(csv, remedy):
            recorded = self._recorded_figure(csv)
            made = made or self._made(csv, out)
            for path in sorted(made):
                self._compare(chain, folder / path.name, path, remedy)
            for path in files:
                if path.exists() and path not in recorded and path.name not in {again.name for again in made}:
                    chain.broken(path, Fault.FOREIGN, "its exhibit has no such file", "delete it")
        if len(chain.breaks) == before:
            code = fingerprint.exhibit(self.config, name).code
            verb, figure = ("numbers made anew", "figure as recorded; ") if recorded else ("drawn anew", "")
            source = f"{'the collected tables of ' * without_runs}{', '.join(used)}"
            chain.link("exhibit", csv, f"{verb} from {source}, same bytes; {figure}code {code}")

    def _made(self, csv: Path, out: Path) -> list[Path]:
        """Write the files of an exhibit into a folder, its figure only if that has to be compared."""
        from reproduction.exhibits import canvas  # what draws is not read for looking whether anything was edited
        from reproduction.jobs import report

        formats = () if self._recorded_figure(csv) else (canvas.FORMAT,)
        return report.render_exhibit(self.config, csv.stem, out, self.scratch, formats)

    def _made_from_tables(self, csv: Path, experiments: Sequence[str]) -> list[Path]:
        """Write the files of an exhibit from the collected tables alone; none if it needs files of runs, or of data.

        The exhibit and the tables have to be as recorded, since unrecorded ones may be of another grid. The machine has
        to give the same bits: on other kinds of machines, means differ in their last digit.
        """
        if not all(map(self.recorded.is_untouched, [str(csv), *paths.collected(experiments)])):
            return []
        if not _to_the_bit():
            return []
        from reproduction.verdicts.missing_files import noting_missing

        with noting_missing() as missing:
            try:
                made = self._made(csv, self.scratch / "from tables" / csv.stem)
            except PartialFairError:  # a missing file
                return []
        return [] if missing else made

    def _recorded_figure(self, csv: Path) -> list[Path]:
        """Return the files of a figure that need not be drawn, since all are as recorded; none without a figure."""
        if self.pictures:
            return []
        from reproduction.exhibits.canvas import FORMAT
        from reproduction.exhibits.exhibit import kind_of

        files = [csv.with_suffix(f".{FORMAT}")] if kind_of(self.config, csv.stem).figure else []
        return files if all(map(self.recorded.is_untouched, files)) else []

    def _scorecard(self, chain: Chain) -> None:
        """Write scorecard and page again and compare."""
        out, folder = self.scratch / "again", self.config.reports
        files = [folder / name for name in paths.SUMMARY]
        if not self._follows(chain, "scorecard", self.config.experiments, files):
            # Some of the runs would decide some lines by fewer seeds.
            if self.no_run_here and not self.edited_only and self.recorded.is_untouched(files[0]):
                self._lines_from_tables(chain, files[0])
            return
        from reproduction.jobs.scorecard import write_all

        remedy, before = f"delete it and run `snakemake {files[0]}`", len(chain.breaks)
        with chain.expects(files[0], remedy):
            made = write_all(self.config, out, self.scratch)
            for again in made:
                self._compare(chain, folder / again.relative_to(out), again, remedy)
            if len(chain.breaks) == before:
                rows = len(made[0].read_text(encoding="utf-8").splitlines()) - 1
                chain.link("scorecard", files[0], f"{rows} rows written anew, same bytes")

    def _lines_from_tables(self, chain: Chain, path: Path) -> None:
        """Decide the lines of the scorecard anew for which the collected tables are enough, and write its summary."""
        from reproduction.exhibits import answers
        from reproduction.verdicts import baseline_scorecard, scorecard

        before = baseline_scorecard.load(path)
        lines = answers.scorecard_lines(self.config, self.scratch)
        pairs = baseline_scorecard.decided_in_both(scorecard.rounded(lines), before)
        otherwise = [difference for line, again in pairs if (difference := baseline_scorecard.difference(line, again))]
        for problem in otherwise:
            chain.broken(path, self._fault(path), problem, f"run `snakemake {path}`")
        if pairs and not otherwise:
            tie = f"{len(pairs)} of {len(before)} lines decided anew from the collected tables, the same"
            chain.link("scorecard", path, tie)
        if not otherwise:
            self._summary_from(chain, baseline_scorecard.keep(lines, before))

    def _summary_from(self, chain: Chain, lines: list[dict[str, Any]]) -> None:
        """Write page, verdicts and main numbers from the lines of the recorded scorecard, and compare."""
        drawn = [path for exhibit in self.config.params.exhibits for path in _files_of(exhibit)]
        read = [*map(Path, paths.collected(self.config.experiments)), *drawn]
        if not (
            self.exhibits_stand and _to_the_bit() and all(map(self.recorded.is_untouched, filter(Path.exists, read)))
        ):
            return  # what was edited is named where it is
        from reproduction.jobs.scorecard import write_summary

        folder, before = self.config.reports, len(chain.breaks)
        made = write_summary(self.config, lines, self.scratch / "again", self.scratch)
        for again in made:
            path = folder / again.name
            self._compare(chain, path, again, f"run `partialfair scorecard --keep`, or `snakemake {path}`")
        if len(chain.breaks) == before:
            chain.link("scorecard", folder / made[0].name, "written anew with verdicts and main numbers, same bytes")

    def _compare(self, chain: Chain, path: Path, again: Path, remedy: str) -> None:
        """Compare a file of a report with one that was made anew."""
        if not path.exists():
            chain.broken(path, Fault.MISSING, "the file is missing", remedy)
        elif path.read_bytes() != again.read_bytes():
            chain.broken(path, self._fault(path), _first_line(path, again), remedy)

    def _fault(self, path: str | Path) -> Fault:
        """Return the fault of a file that differs from what its results give now."""
        return Fault.OUTDATED if self.recorded.is_untouched(path) else Fault.DAMAGED


def check_foreign(chain: Chain, config: Config, recorded: RecordedFiles) -> None:
    """Name the files of ``data/runs`` and ``reports`` that no job of the grid makes.

    A folder whose name is not of the grid is counted as another grid's, unless it came with the committed reports.

    Args:
        chain: receives the foreign files.
        config: the grid; a grid restricted to one experiment, or of one paper, has only its own folders checked.
        recorded: the files as DVC and git recorded them.
    """
    jobs = config.jobs()
    names = {f"{folder}/{name}" for folder in (str(job.path) for job in jobs) for name in (*TRAINED, *EVALUATED)}
    names |= set(paths.collected(config.experiments)) | {str(paths.REPORTS / name) for name in MEASURED}
    names |= {f"{paths.REPORTS}/{name}/{name}.{suffix}" for name in config.params.exhibits for suffix in _DRAWN}
    grids = {papers.grid_name(path) for path in papers.FOLDER.glob("*/*.yaml")}
    report_names = {"", config.name, *config.experiments, *grids}
    counts = [f"metrics.{paper}.json" for paper in papers.folders()]
    names |= {str(paths.summary_folder(report) / name) for report in report_names for name in (*paths.SUMMARY, *counts)}
    names |= {
        str(paths.REPORTS / name / paths.MADE_FROM) for name in ("", *config.experiments, *config.params.exhibits)
    }
    own_folders = {
        *(paths.RUNS / name for name in config.experiments),
        *(paths.REPORTS / n for n in config.params.exhibits),
    }
    named = {*own_folders, *(paths.REPORTS / name for name in report_names)}
    for path in (file for root in (sorted(own_folders) if config.name else _ROOTS) for file in _files(root)):
        folder = _folder(Path(path))
        if path in names:
            continue
        if folder not in named and recorded.knows_reports and not recorded.knows_report(path):
            chain.elsewhere[str(folder)] += 1
        else:
            chain.broken(path, Fault.FOREIGN, "no job of the grid makes it", "delete it, or move it out of the results")


def _to_the_bit() -> bool:
    """Whether this machine gives the same bits as others; where it does not, means differ in their last digit."""
    return processor.settled_here() and not processor.deviations()


def _folder(path: Path) -> Path:
    """Return the folder of the experiment or exhibit in which a file lies; for other files, the root of both."""
    root = next(root for root in _ROOTS if path.is_relative_to(root))
    names = path.relative_to(root).parts
    return root / names[0] if len(names) > 1 else root


def _files_of(exhibit: str) -> list[Path]:
    """Return the paths of the files that an exhibit may have, its table first."""
    return [paths.REPORTS / exhibit / f"{exhibit}.{suffix}" for suffix in _DRAWN]


def _files(root: Path) -> Iterator[str]:
    """Yield the files below a folder, sorted, without hidden ones, which belong to running jobs, git and DVC."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names) if not name.startswith("."))


def _first_difference(table: Path, again: Path) -> str:
    """Return in words the first cell in which a table differs from the one that was made again."""
    from pyarrow import ArrowException, parquet

    try:
        tables = [parquet.read_table(path) for path in (table, again)]
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
                values = [tables[1].column(name)[row].as_py() for name in key]
                where = " ".join(str(value) for value in values if value is not None)
                return f"{column} of {where} is {have!r}, its run says {want!r}"
    return "its bytes differ from those that the runs give, though all cells agree"


def _first_line(path: Path, again: Path) -> str:
    """Return in words the first line in which a text differs from the one that was made again."""
    if path.suffix not in (".csv", ".html"):
        return "it is not what the results give"
    texts = [file.read_text(encoding="utf-8", errors="replace").splitlines() for file in (path, again)]
    for number, (have, want) in enumerate(zip(*texts, strict=False), start=1):
        if have != want:
            start = next((i for i, (a, b) in enumerate(zip(have, want, strict=False)) if a != b), 0)
            begin = max(0, start - 40)
            return f"line {number} has {have[begin : start + 40]!r}, the results give {want[begin : start + 40]!r}"
    return f"it has {len(texts[0])} lines, the results give {len(texts[1])}"
