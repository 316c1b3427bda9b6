"""What docs/cluster.md says of the whole grid on 1 to 1,000 nodes is what the simulation gives."""

from dataclasses import replace

import pytest

from tests.cluster.simulation import COLLECT, EVALUATE, POOLS, Way, recorded, simulate, table
from tests.workflow.project import ROOT

FREE = Way("free", 10**6, 0.0, 0.0, 0.0, 0.0)


def test_the_page_has_the_table_of_the_simulation() -> None:
    runs = recorded(ROOT / "reports")
    assert len(runs) > 13_000
    page = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
    assert "\n".join(table(runs)) in page


def test_known_answers() -> None:
    one = [("demo", 10.0)]
    assert simulate(one, 1, FREE) == pytest.approx(
        (10 + EVALUATE + COLLECT, (10 + EVALUATE) / (10 + EVALUATE + COLLECT))
    )
    four = one * 4
    assert simulate(four, 1, FREE)[0] == pytest.approx(4 * (10 + EVALUATE) + COLLECT)
    assert simulate(four, 4, FREE)[0] == pytest.approx(10 + EVALUATE + COLLECT)
    assert simulate(four, 4, replace(FREE, at_once=2))[0] == pytest.approx(2 * (10 + EVALUATE) + COLLECT)
    # Four jobs are handed out one after another: the last one begins three seconds after the first.
    slow = replace(FREE, start=5.0, dispatch=1.0)
    assert simulate(four, 4, slow)[0] >= 5 + 4 + 10 + EVALUATE + COLLECT


@pytest.mark.parametrize("cores", [1, 3, 50])
def test_no_schedule_beats_its_bounds(cores: int) -> None:
    runs = [(f"e{number % 3}", 0.1 * (number % 17)) for number in range(200)]
    work = sum(seconds + EVALUATE for _, seconds in runs)
    seconds, share = simulate(runs, cores, POOLS)
    assert seconds >= max(work / cores, max(spent for _, spent in runs) + EVALUATE) and 0 < share <= 1
    assert simulate(runs, 2 * cores, POOLS)[0] <= seconds
