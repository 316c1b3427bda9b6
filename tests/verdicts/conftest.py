"""The invented project of ``tests/reporting``, which these tests only read, and the grid on which claims are tested."""

import sys
from pathlib import Path

import pytest
import yaml

from reproduction.grid.config import load_config

sys.path.insert(0, str(Path(__file__).parents[1] / "reporting"))

import synthetic

from tests.reporting.conftest import FAILING, project  # noqa: F401
from tests.verdicts.planted import BASELINES, SEEDS


@pytest.fixture
def config(tmp_path):
    return _grid(tmp_path / "params.yaml", SEEDS)


@pytest.fixture
def six(tmp_path):
    """The same with six seeds, the fewest at which dominance decides."""
    return _grid(tmp_path / "six.yaml", range(6))


def _grid(path, seeds):
    content = synthetic.params() | {"seeds": list(seeds)}
    for name in ("psp", "pdp"):
        content["experiments"][name] = synthetic.experiment(
            content["experiments"][name]["constraint"], algorithms=["idca", *BASELINES]
        )
    for length in (0.1, 0.3, 0.5):
        content["experiments"][f"length{int(10 * length)}"] = synthetic.experiment(
            interval=[[0.0, length]], algorithms=["idca"]
        )
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return load_config(path)
