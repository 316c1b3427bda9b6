"""A golden net: what one run of every algorithm, the demo and every exhibit give, to compare before and after a move.

    python tests/golden/net.py record FOLDER     # before
    python tests/golden/net.py compare FOLDER    # after: lists every file that differs, exit status 1 if any does

Training runs in a process of its own each, as a job of the workflow does: for every algorithm of params.yaml the run
of the first seed that took least time when it was committed (with a finite tolerance where there is one), and all runs
of the demo.
Exhibits are drawn from the tidy tables below ``--root``, by default the committed ones; those that need the files of
single runs are drawn where the root has them, and a refusal is compared by its text. Compared are the arrays of models
and scores, metrics, and the CSV of exhibits and the scorecard, without what changes with time, place or code.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
VOLATILE = frozenset(
    (
        "closure_hash",
        "inputs",
        "outputs",
        "sha256",
        "seal",
        "git_revision",
        "time",
        "versions",
        "peak_memory_mib",
        "code",
    )
)


def committed_runs(root: Path) -> pd.DataFrame:
    """One row per committed run: what identifies it and its processor time."""
    columns = ["experiment", "dataset", "algorithm", "kappa", "seed", "cpu_seconds"]
    tables = sorted(root.glob("reports/*/runs.parquet"))
    return pd.concat([pd.read_parquet(path, columns=columns) for path in tables], ignore_index=True)


def chosen_jobs(root: Path) -> list[tuple[str, str, str, str, int]]:
    """(experiment, dataset, algorithm, kappa, seed) of the runs to train, sorted."""
    runs = committed_runs(root)
    runs["free"] = ~np.isfinite(runs["kappa"].fillna(np.inf).astype(float))
    order = ["free", "seed", "cpu_seconds", "experiment", "dataset"]
    cheapest = runs.sort_values(order).groupby("algorithm", sort=True).head(1)
    chosen = pd.concat([cheapest, runs[runs["experiment"] == "demo"]])
    jobs = {
        (row.experiment, row.dataset, row.algorithm, _kappa(row.kappa), int(row.seed)) for row in chosen.itertuples()
    }
    return sorted(jobs)


def _kappa(value: Any) -> str:
    """A tolerance as it stands in paths."""
    number = float("inf") if value is None or pd.isna(value) else float(value)
    return repr(number).removesuffix(".0")


def prepare(root: Path, jobs: list[tuple[str, str, str, str, int]]) -> None:
    """Make the splits of the runs' datasets below ``root``, by the workflow."""
    splits = sorted({f"data/processed/{dataset}/splits/seed={seed}.npz" for _, dataset, _, _, seed in jobs})
    subprocess.run([sys.executable, "-m", "snakemake", *splits, "--cores", "1", "--quiet", "all"], cwd=root, check=True)


def train(root: Path, out: Path, only: set[str]) -> int:
    """Train and evaluate the chosen runs below ``out``, which gets the folders of the workflow.

    Returns:
        How many runs failed.
    """
    jobs = [job for job in chosen_jobs(ROOT) if not only or job[2] in only]
    prepare(root, jobs)
    failed = 0
    for experiment, dataset, algorithm, kappa, seed in jobs:
        options = ["--experiment", experiment, "--dataset", dataset, "--algorithm", algorithm]
        options += ["--kappa", kappa, "--seed", str(seed)]
        for verb in ("train", "evaluate"):
            command = [sys.executable, "-m", "partialfair", verb, *options]
            environment = os.environ | {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
            done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
            if done.returncode:
                print(f"FAILED {verb} {' '.join(options)}\n{done.stderr[-2000:]}", file=sys.stderr)
                failed += 1
                break
        source = root / "data/runs" / experiment / dataset / algorithm / f"kappa={kappa}" / f"seed={seed}"
        target = out / "runs" / experiment / dataset / algorithm / f"kappa={kappa}" / f"seed={seed}"
        target.mkdir(parents=True, exist_ok=True)
        for name in ("model.npz", "metrics.json", "scores.parquet"):
            if (source / name).is_file():
                (target / name).write_bytes((source / name).read_bytes())
        print(f"{algorithm}: {experiment}/{dataset}/kappa={kappa}/seed={seed}", flush=True)
    return failed


def draw(root: Path, out: Path, only: set[str]) -> None:
    """Draw every exhibit and the scorecard from the tables below ``root``."""
    from partialfair.errors import PartialFairError
    from reproduction.exhibits import answers
    from reproduction.grid.config import load_config
    from reproduction.jobs.report import render_exhibit
    from reproduction.verdicts import scorecard

    root = _with_papers(root)
    config = load_config(root / "params.yaml")
    for name in config.params.exhibits:
        if only and name not in only:
            continue
        folder = out / "exhibits" / name
        folder.mkdir(parents=True, exist_ok=True)
        try:
            render_exhibit(config, name, folder, root)
        except PartialFairError as error:
            (folder / f"{name}.csv").write_text(f"refused: {error}\n", encoding="utf-8")
        print(name, flush=True)
    if not only:
        try:
            scorecard.write(answers.scorecard_lines(config, root), out / "scorecard.csv")
        except PartialFairError as error:
            (out / "scorecard.csv").write_text(f"refused: {error}\n", encoding="utf-8")


def _with_papers(root: Path) -> Path:
    """Return a project that was recorded before papers were folders as one that has the folders of today."""
    if (root / "papers").exists():
        return root
    scratch = Path(tempfile.mkdtemp(prefix="golden"))
    for entry in root.iterdir():
        (scratch / entry.name).symlink_to(entry)
    (scratch / "papers").symlink_to(ROOT / "papers")
    return scratch


def _stable(value: Any) -> Any:
    """A JSON value without entries that change with time, place or code."""
    if isinstance(value, dict):
        return {key: _stable(item) for key, item in value.items() if key not in VOLATILE}
    return value


def same(before: Path, after: Path) -> bool:
    """Whether two files hold the same results."""
    if before.suffix == ".npz":
        with np.load(before) as one, np.load(after) as two:
            if set(one.files) != set(two.files):
                return False
            pairs = [(one[name], two[name]) for name in one.files if not name.endswith("/seconds")]
        return all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)
    if before.suffix == ".json":
        return bool(_stable(json.loads(before.read_text())) == _stable(json.loads(after.read_text())))
    if before.suffix == ".parquet":
        return pd.read_parquet(before).equals(pd.read_parquet(after))
    if before.name == "scorecard.csv":  # in the order of the grid, which says nothing of the results
        return sorted(before.read_bytes().splitlines()) == sorted(after.read_bytes().splitlines())
    return before.read_bytes() == after.read_bytes()


def differences(before: Path, after: Path, only: set[str]) -> Iterator[str]:
    """What differs between two recorded folders, one line per file."""
    names = {".npz", ".json", ".parquet", ".csv"}
    for path in sorted(path for path in before.rglob("*") if path.suffix in names):
        if only and not only & set(path.parts):
            continue
        other = after / path.relative_to(before)
        if not other.is_file():
            yield f"missing   {path.relative_to(before)}"
        elif not same(path, other):
            yield f"differs   {path.relative_to(before)}"


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("verb", choices=("record", "compare"))
    parser.add_argument("folder", type=Path, help="what stood before")
    parser.add_argument("--root", type=Path, default=ROOT, help="project whose tables and runs are used")
    parser.add_argument("--out", type=Path, default=ROOT / ".cache/golden", help="where compare puts what it makes")
    parser.add_argument("--part", choices=("train", "draw"), action="append", help="only this part")
    parser.add_argument("--only", action="append", default=[], help="only this algorithm or exhibit")
    options = parser.parse_args()
    out, only = (options.folder if options.verb == "record" else options.out), set(options.only)
    parts = options.part or ["train", "draw"]
    failed = train(options.root, out, only) if "train" in parts else 0
    if "draw" in parts:
        draw(options.root, out, only)
    if failed:
        print(f"{failed} runs failed; nothing follows from the others")
    if options.verb == "record":
        return min(failed, 1)
    folders = {"train": ["runs"], "draw": ["exhibits", ""]}
    recorded = [options.folder / name for part in parts for name in folders[part] if name]
    lines = [line for folder in recorded for line in differences(folder, out / folder.name, only)]
    print("\n".join(lines) or "the same", flush=True)
    return 1 if lines or failed else 0


if __name__ == "__main__":
    sys.exit(main())
