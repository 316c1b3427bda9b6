"""Whether anything has changed since everything was found to be made, without asking Snakemake.

For its twenty thousand jobs Snakemake takes half a minute to find that there is nothing to do, and DVC as long to
record nothing new. What they would look at is read here in a second or two: source, packages, workflow and grid by
content, and every file of the data and the results by size, date and place on the disk, which they go by, too.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from partialfair.data.files import atomic_path
from partialfair.errors import ConfigError, PartialFairError
from reproduction.grid import memo, paths

FOLDER = memo.SNAKEMAKE / "unchanged"
SOURCE = "the source, or a package beside it"
GRID = "the grid or the workflow"
SNAKEFILE = Path("Snakefile")
WRITTEN = (SNAKEFILE, *map(Path, ("workflow", "profiles", "papers", "requirements.lock", "dvc.yaml", "dvc.lock")))
"""What the workflow consists of besides the package, and what DVC has recorded of it, as files or folders."""
DATA = Path("data")


def state(config: Path) -> dict[str, str]:
    """Return a hash of each thing that could have changed, under its name.

    Args:
        config: the experiment grid.
    """
    text = hashlib.sha256()
    grid, own = _of_grid(config)
    for path in dict.fromkeys(_files(*WRITTEN, *grid)):
        content = Path(path).read_bytes()
        text.update(f"{path}\0{len(content)}\0".encode() + content)
    found = {SOURCE: memo.source_and_packages(), GRID: text.hexdigest()}
    for place in (*sorted(DATA.glob("*")), paths.REPORTS, *own):
        listed = hashlib.sha256()
        for name in _files(place):
            with suppress(FileNotFoundError):  # a run at work has just renamed it, or DVC's cache lacks it
                about = os.stat(name)
                listed.update(f"{name}\0{about.st_size} {about.st_mtime_ns} {about.st_ino}\n".encode())
        found[str(place)] = listed.hexdigest()
    return found


def _of_grid(config: Path) -> tuple[list[Path], list[Path]]:
    """Return the files that a grid is read from, and files and folders of own data that it names."""
    from reproduction.grid import reading
    from reproduction.grid.config import load_config

    try:
        files, datasets = reading.files_of(config), load_config(config).params.datasets
    except PartialFairError:  # it cannot be run as it stands, which Snakemake says
        return [config], []
    named = (options.get(name) for options in datasets.values() for name in ("file", "folder"))
    return files, sorted({Path(name) for name in named if isinstance(name, str)})


def changes(target: str, config: Path) -> list[str] | None:
    """Return the names of what has changed since :func:`record` found everything made; ``None`` if it never has.

    Args:
        target: an experiment, an exhibit or a name of the Snakefile.
        config: the experiment grid.
    """
    try:
        before = json.loads(_record(target, config).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # never made, or not here
        return None
    now = state(config)
    return [name for name in sorted({*now, *before}) if now.get(name) != before.get(name)]


def record(target: str, config: Path) -> None:
    """Ask Snakemake whether anything is left to do, and if not, note the state in which that is so.

    The state is taken before and after: a file that somebody edits meanwhile, or has edited since the job that reads
    it, is not taken for what the results were made from.

    Args:
        target: an experiment, an exhibit or a name of the Snakefile.
        config: the experiment grid.

    Raises:
        ConfigError: there is no workflow here, something is left to do, or something changed meanwhile.
    """
    if not SNAKEFILE.is_file():
        raise ConfigError(f"{Path.cwd()}: no Snakefile; run this in a checkout of the project")
    before = state(config)
    grid = ["--config", f"params={config}", "datasets=", "--", target]  # as the runs themselves are started
    command = [sys.executable, "-m", "snakemake", "--dry-run", *grid]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    if asked.returncode or "Nothing to be done" not in asked.stdout + asked.stderr:
        raise ConfigError(f"{target}: Snakemake would still do something; `partialfair run -n {target}` says what")
    if changed := [name for name, now in state(config).items() if now != before.get(name)]:
        raise ConfigError(f"{target}: {', '.join(changed)} changed while Snakemake looked; ask again")
    with atomic_path(_record(target, config)) as path:
        path.write_text(json.dumps(before, indent=1), encoding="utf-8")


def _record(target: str, config: Path) -> Path:
    """The file that holds the state of a target of a grid."""
    return FOLDER / f"{target.replace('/', '_')}-{hashlib.sha256(str(config).encode()).hexdigest()[:8]}.json"


def _files(*roots: Path) -> Iterator[str]:
    """Yield files and those in folders and below, in a fixed order, but for compiled code."""
    for root in roots:
        if not root.is_dir():
            yield from [str(root)] if root.exists() else []
            continue
        seen: set[str] = set()  # a link may lead back to a folder above it
        for place, folders, names in os.walk(root, followlinks=True):
            if (real := os.path.realpath(place)) in seen:
                folders.clear()
                continue
            seen.add(real)
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            yield from (os.path.join(place, name) for name in sorted(names))
