"""Follow the chain from the raw files to the scorecard."""

from collections.abc import Callable
from pathlib import Path

from partialfair.data.files import sha256
from reproduction.grid import answer_cache
from reproduction.grid.config import load_config
from reproduction.verify.chain import Chain, Fault
from reproduction.verify.data import check_data
from reproduction.verify.lock import check_lock
from reproduction.verify.recorded_files import RecordedFiles
from reproduction.verify.reports import Reports, check_foreign
from reproduction.verify.runs import check_runs, retrain


def verify(
    config_path: str | Path = "params.yaml",
    experiment: str | None = None,
    deep: bool = False,
    reports: bool = True,
    progress: Callable[[str], None] | None = None,
    damage: bool = False,
    again: int = 0,
) -> Chain:
    """Check that every number in ``reports/`` follows from raw data, settings, source and locked packages.

    Raw files are compared with their published checksums. Tables, splits, collected tables, exhibits and the
    scorecard are made anew in a scratch folder and compared byte by byte; a figure only by its CSV, as long as it is as
    DVC or git recorded it. Models and metrics, whose making takes long, are tied by the checksums that their jobs wrote
    down. What is not here is counted, not accused: a fresh clone has the reports without the runs. Everything is
    relative to the working directory.

    Args:
        config_path: the grid.
        experiment: restrict it to one experiment and the exhibits drawn from it alone.
        deep: also compute all metrics again from the stored models, and draw every figure anew.
        reports: also check ``reports/``, not only what it is made from.
        progress: receives what is looked at next, in a few words.
        damage: only say what is damaged; of ``reports/`` look at files that are not as DVC or git recorded them.
        again: train so many runs, drawn at random, once more.

    Raises:
        ConfigError: the grid cannot be read, or has no such experiment.
    """
    answer_cache.distrust()
    path = Path(config_path)
    config = load_config(path)
    if experiment is not None:
        config = config.restricted(experiment)
    recorded = RecordedFiles.read()
    chain = Chain(progress=progress) if progress is not None else Chain()
    expected = check_data(chain, config)
    pins = check_lock(chain)
    checked = check_runs(chain, config, expected, pins, deep)
    if reports and (not damage or recorded.knows_reports):
        Reports(config, checked.absent, recorded, edited_only=damage, pictures=deep).check(chain)
    if reports and not damage:
        check_foreign(chain, config, recorded)
    if again:
        retrain(chain, config, checked.good, again)
    if damage:
        chain.breaks = [broken for broken in chain.breaks if broken.fault is Fault.DAMAGED]
    chain.link("params", path, f"{len(config.jobs())} runs, {len(config.params.exhibits)} exhibits", sha256(path))
    return chain
