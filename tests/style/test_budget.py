"""A house over its budget may not grow; one below it may, up to the budget."""

from pathlib import Path

import pytest

from tests.style import budget

STORED = {"library": {"budget": 10, "lines": 4}, "papers": {"budget": 10, "lines": 12}}


@pytest.mark.parametrize(
    ("house", "count", "refused"), [("library", 10, 0), ("library", 11, 1), ("papers", 12, 0), ("papers", 13, 1)]
)
def test_a_house_may_have_its_budget_or_what_it_had(house: str, count: int, refused: int):
    found = budget.excess({house: count}, STORED)
    assert len(found) == refused
    assert not refused or found[0].startswith(f"{house}: {count} lines, 1 more than")


def test_every_module_counts_in_one_house(tmp_path: Path):
    for name, text in {
        "src/partialfair/a/b.py": "1\n",
        "src/reproduction/c.py": "1\n2\n",
        "papers/p/algorithms/d.py": "1\n2\n3\n",
        "papers/p/tests/test_e.py": "1\n2\n3\n4\n",
        "tests/f/test_g.py": "1\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert budget.lines(tmp_path) == {"library": 1, "workbench": 2, "papers": 3, "tests": 5}
