"""Put one deliberate fault after the other into a copy of the source, and see whether the tests named for it notice.

    python -m tests.mutation.run [--only PATTERN] [--anew] [--list]

A fault is killed if a test fails, or does not end in ten times what the tests take without it. What was found is kept
in ``results.json`` beside this file and not run again until the mutant, the code of its file or that of its tests
changes. The exit status is 1 if the score is below .95 or a mutant survives that the list does not say so of.
"""

import argparse
import ast
import fcntl
import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from partialfair.data.files import write_json
from tests.mutation.catalogue import ROOT, Mutant, mutants

WORK = ROOT / ".cache" / "mutation"
RESULTS = Path(__file__).with_name("results.json")
WANTED = 0.95
COPIED = ("src", "papers", "tests")
PATIENCE, LEAST_SECONDS = 10, 120
FAILED = (1, 2)
"""What pytest returns where tests fail, and where a module cannot be imported."""


class Bench:
    """A copy of the project in which tests run: source and tests are copied, all else is linked.

    Args:
        root: the repository.
        work: folder of the copy, the compiled code and the results. The copy has a fixed place there, so that kernels
            are compiled once.
    """

    def __init__(self, root: Path = ROOT, work: Path = WORK) -> None:
        self.root, self.work, self.copy = root, work, work / "project"
        self.seconds: dict[tuple[str, ...], float] = {}
        shutil.rmtree(self.copy, ignore_errors=True)
        self.copy.mkdir(parents=True)
        for entry in root.iterdir():
            if entry.name in COPIED:
                shutil.copytree(entry, self.copy / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
            elif entry.name not in (".git", ".cache", work.name):
                (self.copy / entry.name).symlink_to(entry.absolute())

    def run(self, tests: Sequence[str], limit: float | None = None) -> tuple[int | None, str]:
        """Status of pytest on the copy, ``None`` if it did not end, and the end of what it printed."""
        own = {
            "PYTHONPATH": str(self.copy / "src"), "PYTHONPYCACHEPREFIX": str(self.work / "pyc"),
            "NUMBA_CACHE_DIR": str(self.work / "kernels"),
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests]
        try:
            done = subprocess.run(
                command, cwd=self.copy, env=os.environ | own, capture_output=True, text=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stdout[-3000:] + done.stderr[-1000:]

    def without_fault(self, tests: tuple[str, ...]) -> float:
        """Seconds that tests take on the sound source; ends the program if they do not pass there."""
        if tests not in self.seconds:
            began = time.monotonic()
            status, printed = self.run(tests)
            if status != 0:
                sys.exit(f"{printed}\n{' '.join(tests)}: do not pass on the sound source; correct them first")
            self.seconds[tests] = time.monotonic() - began
        return self.seconds[tests]

    def survives(self, mutant: Mutant) -> bool:
        """Whether the tests of a mutant pass with it."""
        limit = max(LEAST_SECONDS, PATIENCE * self.without_fault(mutant.tests))
        with self._with(mutant):
            status, printed = self.run(mutant.tests, limit)
        if status is not None and status != 0 and status not in FAILED:
            sys.exit(f"{printed}\n{mutant.name}: pytest ended with status {status}")
        return status == 0

    @contextmanager
    def _with(self, mutant: Mutant) -> Iterator[None]:
        """The mutant in the copy, and out again; compiled code of either state is not left for the other."""
        place = self.copy / mutant.file
        sound, stamp = place.read_bytes(), place.stat()
        self._forget(place)
        place.write_text(mutant.applied(sound.decode()), encoding="utf-8")
        try:
            yield
        finally:
            place.write_bytes(sound)
            os.utime(place, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
            self._forget(place)

    def _forget(self, place: Path) -> None:
        folder = self.work / "pyc" / place.parent.relative_to("/")
        for path in folder.glob(f"{place.stem}.*.pyc"):
            path.unlink()


def code_of(source: str) -> str:
    """Return a module's code without comments, docstrings and layout, on which no result depends."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_text(one)] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


class Results:
    """What was found before, by name, with a checksum of the mutant, of its file and of its tests."""

    def __init__(self, root: Path = ROOT, path: Path = RESULTS) -> None:
        self.root, self.path = root, path

    def find(self, mutant: Mutant) -> bool | None:
        """Whether the mutant survived; ``None`` if it was not run, or something has changed that it depends on."""
        found = self._load().get(mutant.name)
        return found["survived"] if found and found["of"] == self.checksum(mutant) else None

    def store(self, mutant: Mutant, survived: bool) -> None:
        """Keep one result, in the order of names."""
        every = self._load() | {mutant.name: {"of": self.checksum(mutant), "survived": survived}}
        write_json(self.path, dict(sorted(every.items())))

    def checksum(self, mutant: Mutant) -> str:
        """Of what a result directly depends on."""
        read = hashlib.sha256(repr((mutant.name, mutant.old, mutant.new, mutant.tests)).encode())
        for name in (mutant.file, *(test.partition("::")[0] for test in mutant.tests)):
            read.update(code_of((self.root / name).read_text(encoding="utf-8")).encode())
        return read.hexdigest()[:16]

    def _load(self) -> dict[str, Any]:
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}


def carry_out(
    chosen: Sequence[Mutant], root: Path = ROOT, work: Path = WORK, kept: Path = RESULTS, anew: bool = False
) -> list[Mutant]:
    """Run mutants, print what becomes of each, and return those that survive."""
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        results, bench, survivors = Results(root, kept), Bench(root, work), []
        for number, mutant in enumerate(chosen, start=1):
            known = None if anew else results.find(mutant)
            began = time.monotonic()
            survived = bench.survives(mutant) if known is None else known
            if known is None:
                results.store(mutant, survived)
            took = "known" if known is not None else f"{time.monotonic() - began:.0f} s"
            print(f"{number}/{len(chosen)} {'SURVIVED' if survived else 'killed'} {mutant.name} ({took})", flush=True)
            survivors += [mutant] * survived
    return survivors


def score(chosen: Sequence[Mutant], survivors: Sequence[Mutant]) -> int:
    """Print the score and the survivors with their reasons; return the exit status."""
    share = 1 - len(survivors) / len(chosen)
    print(f"\n{len(chosen) - len(survivors)} of {len(chosen)} mutants killed: {share:.3f} (wanted: {WANTED})")
    for mutant in survivors:
        print(f"survived: {mutant.name} in {mutant.file}: {mutant.survives or 'NO REASON IS GIVEN'}")
    return int(share < WANTED or not all(mutant.survives for mutant in survivors))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the mutants that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="*", help="pattern of names such as 'verdicts/*' or '*slack*'")
    parser.add_argument("--anew", action="store_true", help="run those as well whose result is known")
    parser.add_argument("--list", action="store_true", help="print names and files, run nothing")
    options = parser.parse_args(arguments)
    chosen = [one for one in mutants() if fnmatch.fnmatch(one.name, options.only)]
    if not chosen:
        parser.error(f"no mutant is called {options.only}; --list prints all")
    if options.list:
        print("\n".join(f"{one.name} ({one.file})" for one in chosen))
        return 0
    return score(chosen, carry_out(chosen, anew=options.anew))


if __name__ == "__main__":
    sys.exit(main())
