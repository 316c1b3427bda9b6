"""Counts the lines of each house; a house over its budget may not grow.

    python -m tests.style.budget [--record]

``budget.json`` beside this file has the budgets, and of a house over its budget the lines that it has. ``--record``
lowers those to what they are now; who adds a plug-in raises them by hand. The exit status is 1 if a house has grown
beyond what is stored.
"""

import sys
from pathlib import Path

from partialfair.data.files import read_json, write_json

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_name("budget.json")
HOUSES = {
    "library": ("src/partialfair/**/*.py",),
    "workbench": ("src/reproduction/**/*.py",),
    "papers": ("papers/*/[!t]*/**/*.py", "papers/*/*.py"),
    "tests": ("tests/**/*.py", "papers/*/tests/**/*.py"),
}


def lines(root: Path = ROOT) -> dict[str, int]:
    """Return the lines of the Python files of each house, all of them counted."""
    files = {house: {path for pattern in patterns for path in root.glob(pattern)} for house, patterns in HOUSES.items()}
    return {house: sum(path.read_bytes().count(b"\n") for path in paths) for house, paths in files.items()}


def excess(now: dict[str, int], stored: dict[str, dict[str, int]]) -> list[str]:
    """Return a sentence for each house that has more lines than its budget and than it had."""
    limits = {house: max(entry["budget"], entry["lines"]) for house, entry in stored.items()}
    return [
        f"{house}: {count:,} lines, {count - limits[house]:,} more than the {limits[house]:,} it may have; remove as "
        "many, or, for a plug-in and its test alone, raise `lines` in tests/style/budget.json by theirs"
        for house, count in now.items()
        if count > limits[house]
    ]


def main(arguments: list[str]) -> int:
    """Print what each house has; return the exit status."""
    now, stored = lines(), read_json(STORED)
    for house, count in now.items():
        print(f"{house:<10} {count:>7,} lines, budget {stored[house]['budget']:,}")
    if "--record" in arguments:
        lowered = {house: {**entry, "lines": min(entry["lines"], now[house])} for house, entry in stored.items()}
        write_json(STORED, lowered)
        return 0
    for sentence in (wrong := excess(now, stored)):
        print(sentence, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
