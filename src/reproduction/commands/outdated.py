"""Tables and splits whose code or settings have changed or are not known: made before what reads them is looked at.

Snakemake decides what to run before it runs anything. It takes whatever reads a file that is made again for outdated,
though the file may come out the same, to the byte. Where such files are made first, in a run of their own, their
checksums decide.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reproduction.commands.forecast import experiments_of
from reproduction.grid import paths

if TYPE_CHECKING:
    from reproduction.grid.config import Config

NO_RUNS = ("raw", "benchmark")


def tables(config: "Config", targets: Sequence[str]) -> list[str]:
    """Return the tables and splits behind some targets that are here and were made by other code or settings.

    Those that Snakemake has no record of count with them: nothing else says what they were made from.

    Args:
        config: the experiment grid.
        targets: experiments and exhibits; none, or another name of the workflow, for the whole grid. Single files and
            :data:`NO_RUNS` ask for nothing that reads tables.
    """
    if {*targets} & {*NO_RUNS} or any("/" in target for target in targets):
        return []
    return list(dict.fromkeys(_outdated(config, experiments_of(config, list(targets)))))


def _outdated(config: "Config", experiments: Iterable[str]) -> Iterator[str]:
    from reproduction.grid import fingerprint  # brings NumPy: the processor has to be settled first (and .3 s)

    for experiment in experiments:
        for dataset in config.experiment(experiment).runs:
            files = {paths.table(dataset): fingerprint.table(config, dataset)}
            files |= dict.fromkeys(
                (paths.split(dataset, seed) for seed in config.seeds(experiment)), fingerprint.split(config, dataset)
            )
            for path, expected in files.items():
                made = _params(str(path))
                if Path(path).is_file() and made != {repr(text) for text in expected.texts()}:
                    yield str(path)


def _params(path: str) -> set[str] | None:
    """The texts of ``params:`` by which a file was made; ``None`` if that is not known."""
    from reproduction.grid.agreement import snakemake_record  # brings NumPy, as above

    try:
        return set(json.loads(snakemake_record(path).read_text(encoding="utf-8"))["params"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
