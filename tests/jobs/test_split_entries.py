"""Proportions that an entry states go before what a module draws."""

import pytest

from papers.cross_paper.datasets import four_groups
from reproduction.jobs.split import split


def test_proportions_of_an_entry_go_before_the_rows_that_a_module_draws(tmp_path):
    data = four_groups.load(tmp_path, rows=400)
    data.save(tmp_path / "table.npz")
    sizes = {}
    for name, entry in (("own", {}), ("given", {"split": {"train": 0.5, "validation": 0.25, "test": 0.25}})):
        made = split(tmp_path / "table.npz", 0, tmp_path / f"{name}.npz", {"module": "four_groups"} | entry)
        sizes[name] = [len(part) / data.n_rows for part in (made.train, made.validation, made.test)]
    assert sizes["given"] == pytest.approx([0.5, 0.25, 0.25], abs=1e-2)
    assert sizes["own"] == pytest.approx([0.4, 0.4, 0.2], abs=1e-2)
