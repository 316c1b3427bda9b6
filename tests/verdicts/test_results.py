"""A constraint is shown by the metrics that its module declares, and by no other."""

from types import SimpleNamespace

import numpy as np
import pytest

from partialfair import plugins
from partialfair.errors import PluginError
from partialfair.metrics import get
from reproduction.jobs.scorecard import headline
from reproduction.verdicts.results import Convention, convention
from reproduction.verdicts.run_scores import Rows, _measured


@pytest.mark.parametrize("name", plugins.names("constraints"))
def test_every_constraint_names_its_metrics(name):
    module, shown = plugins.load("constraints", name), convention(name)
    assert (shown.absolute, shown.relative) == (module.VIOLATION["absolute"], module.VIOLATION["relative"])
    assert shown.title in (getattr(module, "SHORT", None), module.TITLE)
    assert {get(shown.absolute).direction, get(shown.relative).direction} == {"violation"}


def test_of_others_than_parity_of_scores():
    assert convention("partial_demographic_parity") == Convention("pDP", "dp_gap", "dp")
    assert convention("loss_parity") == Convention("loss parity", "loss_gap", "loss_gap")


@pytest.mark.parametrize(
    "module", [{}, {"TITLE": "x", "VIOLATION": {"absolute": "sp"}}, {"VIOLATION": {"absolute": "sp", "relative": "sp"}}]
)
def test_one_that_declares_none_is_refused(monkeypatch, module):
    monkeypatch.setattr(plugins, "load", lambda folder, name: SimpleNamespace(**module))
    with pytest.raises(PluginError, match="constraints/mine.py: .* declare TITLE and VIOLATION"):
        convention("mine")


def test_headline_names_the_metric_of_the_constraint(project):
    root, config = project
    names = {
        name
        for experiment, datasets in headline(config, root, []).items()
        if experiment != "verdicts"
        for algorithms in datasets.values()
        for kappas in algorithms.values()
        for numbers in kappas.values()
        for name in numbers
    }
    expected = {f"{convention(one.constraint).title} fairness" for one in config.experiments.values()}
    assert names == {"accuracy"} | expected


def test_rows_without_one_of_the_groups_of_a_run_have_no_violation():
    random = np.random.default_rng(0)
    rows = Rows(np.repeat([0, 1], 50), random.choice([-1.0, 1.0], 100), random.normal(size=100))
    assert np.isfinite(_measured(rows, 2, "sp", [[0.1, 0.6]]))
    assert np.isnan(_measured(rows, 3, "sp", [[0.1, 0.6]]))
    assert np.isnan(_measured(rows, 3, "sp", [[[0.1, 0.6]]] * 3))
