"""A project folder with invented results, shared by the tests of this folder, which only read it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

FAILING = frozenset(
    {("psp", "a9a", "idca", 0.01, seed) for seed in (0, 1, 2)} | {("psp", "law_school", "idca", 0.08, 1)}
)


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """(root, config) of the invented project, its figure drawn."""
    import synthetic

    from reproduction.jobs.report import render_exhibit

    root = tmp_path_factory.mktemp("project")
    config = synthetic.project(root, failing=FAILING)
    render_exhibit(config, "figure1", root=root)
    return root, config
