"""The long suites: tests that `make test` leaves out, each run again once the code under it has changed.

    python -m tests.suites [--all | --list | SUITE ...] [-- PYTEST_ARGUMENT ...]

A test belongs to a suite by its mark, ``@pytest.mark.long(suite="kills")``. Each suite lists the files that its tests
depend on. A pass is kept in ``suites.json`` beside this file with the fingerprint of those files and of the tests;
where it still agrees, the suite is not run again. A pass is kept only if PARTIALFAIR_REQUIRE demanded what the suite
needs of the machine, since tests are skipped where that is missing. The exit status is 1 if a suite fails.
"""

import argparse
import ast
import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from partialfair.data.files import read_json, write_json
from tests.needs import is_demanded

ROOT = Path(__file__).parents[1]
PASSED = Path(__file__).with_name("suites.json")
MARK = re.compile(r"mark\.long\(suite=\"(\w+)\"\)")

LIBRARY, WORKBENCH = "src/partialfair", "src/reproduction"
COMPUTING = (
    *(f"{LIBRARY}/{name}/**/*.py" for name in ("algorithms", "constraints", "metrics", "models", "data", "kernels")),
    *(f"papers/*/{name}/**/*.py" for name in ("algorithms", "constraints", "datasets")),
    f"{WORKBENCH}/datasets/**/*.py",
)  # fmt: skip
WORKFLOW = (
    "Snakefile", "Makefile", "dvc.yaml", "requirements.lock", "workflow/**/*", "src/snakemake_*/**/*.py",
    *(f"{WORKBENCH}/{name}/**/*.py" for name in ("commands", "grid", "jobs", "verify")),
    f"{WORKBENCH}/plugin_folders.py", f"{LIBRARY}/commands/*.py", f"{LIBRARY}/extensions.py", f"{LIBRARY}/plugins.py",
    f"{LIBRARY}/data/files.py", "tests/faults/lab.py", "tests/workflow/project.py",
)  # fmt: skip


@dataclass(frozen=True)
class Suite:
    """Long tests that depend on the same files.

    Attributes:
        about: what the tests ask, for ``--list``.
        under: patterns of the files, besides the test modules, that a failure could come from.
        needs: what the machine must have, in the words of ``tests/needs.py``.
        command: what runs it, if not pytest on the modules that bear its mark.
    """

    about: str
    under: tuple[str, ...]
    needs: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


SUITES = {
    "processors": Suite(
        "every algorithm gives the same bits with new kernels, on an emulated processor, in any order of loading",
        (*COMPUTING, f"{LIBRARY}/plugins.py", "requirements.lock", "tests/faults/every_algorithm.py"),
        ("emulator",),
    ),
    "kills": Suite("the workflow and audits killed at random moments, full disks, two runs at once", WORKFLOW),
    "grid": Suite(
        "dry runs of the whole grid, and what is up to date in copies of results",
        (*WORKFLOW, "params.yaml", "papers/**/*.yaml"),
    ),
    "audits": Suite("DVC's audits of a finished run, in clones and after edits", WORKFLOW),
    "entries": Suite(
        "everything built and edited, a user's own data, another user, a skeleton filled in, a paper of one's own",
        (
            *WORKFLOW,
            *(f"{WORKBENCH}/{room}/**/*" for room in ("exhibits", "site", "verdicts")),
            "papers/*/exhibits/*.py", "CONTRIBUTING.md", "docs/new-algorithm.md", "docs/own-*.md",
        ),
    ),
    "exhibits": Suite(
        "every committed exhibit is what the present code makes of the committed tables",
        (
            *(f"{WORKBENCH}/{name}/**/*.py" for name in ("exhibits", "site", "statistics", "verdicts", "verify")),
            *(f"{LIBRARY}/{name}/**/*.py" for name in ("metrics", "pages")), "papers/*/exhibits/*.py",
            "params.yaml", "papers/**/*.yaml", "papers/**/*.csv", "reports/*/*.csv", "reports/*/*.parquet",
            "reports/scorecard.csv", "requirements.lock", *COMPUTING,
        ),
    ),
    "executors": Suite(
        "the workflow by every executor and batch system, compared to the byte; pools killed or too small",
        (*WORKFLOW, "tests/warm_executor/toy.py", "tests/warm_executor/project/**/*"),
    ),
    "compiled": Suite(
        "the PyTorch methods with networks, losses and optimisers that torch.compile has compiled",
        (f"{LIBRARY}/torch/**/*.py", f"{LIBRARY}/constraints/**/*.py", "requirements.lock"),
    ),
    "site": Suite(
        "the site: its links, pages and explorers, in a browser, on a phone and in the dark",
        (
            "README.md", "CONTRIBUTING.md", "docs/**/*", "papers/**/*", "params.yaml", "reports/*/*.csv",
            "requirements.lock", "tests/browser.py", f"{LIBRARY}/**/*.py", f"{LIBRARY}/pages/templates/*",
            *(f"{WORKBENCH}/{name}/**/*" for name in ("cards", "exhibits", "site", "verdicts")),
        ),
        ("browser",),
    ),
    "promises": Suite(
        "promises about new rows in hundreds of fits, and planted faults that break them",
        (*COMPUTING, f"{LIBRARY}/estimators/**/*.py", "tests/simulations/promise_kept.py"),
    ),
    "papers": Suite("acceptance tests of the papers at their size", COMPUTING, ("data",)),
    "cluster": Suite(
        "the demo on a real Slurm",
        (*WORKFLOW, *COMPUTING, "params.yaml", "tests/cluster/*"),
        ("cluster",),
        ("tests/cluster/run.sh",),
    ),
}  # fmt: skip


def modules(name: str) -> list[str]:
    """Return the test modules that bear the mark of a suite, relative to the root."""
    files = sorted(path for folder in ("tests", "papers") for path in (ROOT / folder).rglob("test_*.py"))
    return [p.relative_to(ROOT).as_posix() for p in files if name in MARK.findall(p.read_text(encoding="utf-8"))]


def fingerprint(name: str) -> str:
    """Return 16 digits that change with the files under a suite or its tests; comments and layout do not count."""
    suite, digest, ignored = SUITES[name], hashlib.sha256(), _ignored()
    paths = {path for pattern in suite.under for path in ROOT.glob(pattern)}
    for path in sorted({*paths, *(ROOT / module for module in modules(name))} - ignored):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + _content(path) + b"\0")
    return digest.hexdigest()[:16]


def _ignored() -> set[Path]:
    """Return the files that git ignores, which builds write beside the source; none outside a repository."""
    command = ["git", "ls-files", "--others", "--ignored", "--exclude-standard", "-z", "docs", "reports", "papers"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return {ROOT / name for name in done.stdout.split("\0") if name}


def _content(path: Path) -> bytes:
    if path.suffix == ".py":
        return ast.dump(ast.parse(path.read_text(encoding="utf-8"))).encode()
    return path.read_bytes()


def _run(name: str, arguments: Sequence[str]) -> int:
    """Run a suite; return the exit status of its command."""
    command = SUITES[name].command
    if not command:
        workers = min((os.cpu_count() or 1) + 1, 8)
        options = ("-m", f"long(suite='{name}')", "-n", str(workers), "--dist", "loadscope")
        command = (sys.executable, "-m", "pytest", *options, *modules(name))
    return subprocess.run([*command, *arguments], cwd=ROOT, check=False).returncode


def _stale() -> Iterator[str]:
    """Yield the suites whose code is not that of their last pass; name the others."""
    passed = read_json(PASSED) if PASSED.exists() else {}
    for name in SUITES:
        if passed.get(name, {}).get("code") == fingerprint(name):
            print(f"{name}: passed with this code ({passed[name]['seconds']} s)", flush=True)
        else:
            yield name


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for and keep what passed; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"one of {', '.join(SUITES)}")
    parser.add_argument("--all", action="store_true", help="also those that have passed with this code")
    parser.add_argument("--list", action="store_true", help="what there is; runs nothing")
    words = list(sys.argv[1:] if arguments is None else arguments)
    split = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:split])
    if unknown := sorted(set(given.suites) - set(SUITES)):
        parser.error(f"no suite {', '.join(unknown)}; there are {', '.join(SUITES)}")
    if given.list:
        for name, suite in SUITES.items():
            print(f"{name}: {suite.about}")
        return 0
    failed = []
    for name in given.suites or (SUITES if given.all else _stale()):
        print(f"\n{name}: {SUITES[name].about}", flush=True)
        code, start = fingerprint(name), time.monotonic()
        if _run(name, words[split + 1 :]):
            failed.append(name)
        elif skipped := [word for word in SUITES[name].needs if not is_demanded(word)]:
            print(f"{name}: not kept as passed, since PARTIALFAIR_REQUIRE does not demand {', '.join(skipped)}")
        elif code == fingerprint(name) and not words[split + 1 :]:
            passed = read_json(PASSED) if PASSED.exists() else {}
            seconds = round(time.monotonic() - start)
            write_json(PASSED, {**passed, name: {"code": code, "seconds": seconds}})
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
