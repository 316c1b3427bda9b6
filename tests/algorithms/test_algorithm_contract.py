"""Every algorithm found keeps the contract; a plug-in that breaks it is caught."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import expit

from partialfair import plugins
from partialfair.algorithms.contract import Fit, Task
from partialfair.algorithms.solution import Certificate, Solution
from partialfair.datasets import simulated
from partialfair.datasets.splits import make_split
from partialfair.jobs.train import attempt, attempt_together, validated

QUICK = {
    "plada": {"iterations": 50},
    "plada_ranking": {"epochs": 1, "variants": {"small": {"eta": 0.02}}},
    "multiplier_ranking": {"epochs": 1},
    "plada_network": {"epochs": 20, "hidden": [8, 8]},
    "multiplier_model": {"epochs": 20, "hidden": [8, 8]},
    **{name: {"iterations": 60, "points": 6} for name in ("ssg_gaps", "ipp_ssg", "ipp_conex")},
    "regularization": {"steps": [1e-3, 2e-3, 5e-3, 1e-2], "tuning_steps": 100, "total_steps": 300},
    "idca": {"inner_steps": [20], "tolerances": [0.01], "tuning_rounds": 5, "rounds": [5, 10]},
    "stochastic_ghost": {"steps": 10, "records": 2},
    **{name: {"steps": 200, "records": 4} for name in ("sgd", "sgd_fairret", "ssl_alm", "stochastic_alm")},
    "stochastic_switching": {"steps": 200, "records": 4},
    "deep_unconstrained": {"epochs": 2},
    "deep_idca": {"epochs": 1, "rounds": 2, "inner_steps": 10},
}
QUICK |= {
    "sfls": {"steps": 200, "calls": 2},
    "iqrc": {"steps": 50, "calls": 2, "kappa_train": [0.1], "constants": [0.3]},
    "proxy_lagrangian": {"steps": 200},
    "correlation_penalty": {"steps": 200},
    "auc_post_processing": {"scale_step": 0.5, "shift_step": 0.5},
}


REGRESSION = ("dp_postproc", "plug_in_regression", "regression_reduction")
"""Algorithms for real-valued labels, which ``test_dp_algorithms`` tests."""
PAIRWISE = ("plada_ranking", "multiplier_ranking")
"""Algorithms whose objective is a loss of pairs of rows."""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return simulated.load(tmp_path_factory.mktemp("raw"), rows=1500)


def first_applicable(algorithm, data):
    """A constraint family that the algorithm takes; those it refuses come with a reason."""
    for family in plugins.names("constraints"):
        applies, reason = algorithm.applies_to(family, data)
        if applies:
            return family
        assert reason, "a combination that does not apply must say why"
    raise AssertionError("the algorithm applies to no constraint family")


def make_task(data, kappa, constraint="partial_statistical_parity", **options):
    split = make_split(data, 0)
    return Task(
        train=data.take(split.train),
        validation=data.take(split.validation),
        constraint=constraint,
        interval=[[0.1, 0.4]],
        kappa=kappa,
        kappa_scale="absolute",
        report=lambda line: None,
        **options,
    )


def check_contract(name, algorithm, data):
    """What every algorithm must do; used on the real ones and on a broken one."""
    assert isinstance(algorithm.needs_gpu, bool) and isinstance(algorithm.constrained, bool)
    applies, _ = algorithm.applies_to("partial_statistical_parity", data)
    family = "partial_statistical_parity" if applies else first_applicable(algorithm, data)
    settings = validated(algorithm, name, QUICK.get(name, {}))
    task = make_task(data, 0.1 if algorithm.constrained else math.inf, family)
    fit, status, _ = attempt(algorithm, task, settings)
    assert isinstance(fit, Fit) and status == "ok"
    scores = fit.model.scores(task.validation.X, task.validation.group)
    assert scores.shape == (task.validation.n_rows,) and np.isfinite(scores).all()
    certificate = fit.solution.certificate
    assert isinstance(certificate, Certificate) and np.isfinite(certificate.objective)
    if name not in PAIRWISE:
        loss = training_loss(name, algorithm, task, fit)
        assert certificate.objective == pytest.approx(loss, abs=1e-5), "the certificate is not that of the model"
    assert fit.histories.get(fit.chosen)
    again = attempt(algorithm, make_task(data, task.kappa, family), settings)[0]
    repeated = again.model.scores(task.validation.X, task.validation.group)
    assert np.array_equal(repeated, scores), "two fits with the same seed differ"
    if hasattr(algorithm, "fit_together"):
        others = [make_task(data, kappa, family) for kappa in (0.05, 0.2)]
        beside = attempt_together(algorithm, [others[0], task, others[1]], settings)[1][0]
        assert np.array_equal(beside.solution.params, fit.solution.params), "other tasks beside it change a fit"
        assert beside.selected == fit.selected and beside.solution.certificate.objective == certificate.objective


def training_loss(name, algorithm, task, fit):
    """The loss that the algorithm says it minimises, from the scores of its model alone."""
    scores, y = fit.model.scores(task.train.X, task.train.group), task.train.y
    if getattr(algorithm, "loss", "logistic") == "logistic":
        return np.logaddexp(0, -y * scores).mean()
    scores = expit(scores) if name == "iqrc" else scores  # the network is trained with a sigmoid output
    positive, negative = scores[y > 0], scores[y < 0]
    return 0.5 * np.mean((1 - (positive[:, None] - negative)) ** 2)


@pytest.mark.parametrize("name", [name for name in plugins.names("algorithms") if name not in REGRESSION])
def test_algorithm_keeps_the_contract(name, data):
    if plugins.load("algorithms", name).ALGORITHM.needs_gpu:
        pytest.importorskip("torch")
    check_contract(name, plugins.load("algorithms", name).ALGORITHM, data)


def test_a_broken_algorithm_fails_the_contract(data):
    honest = plugins.load("algorithms", "unconstrained").ALGORITHM

    class Flattering(type(honest)):
        def fit(self, task, settings):
            fit = super().fit(task, settings)
            certificate = dataclasses.replace(fit.solution.certificate, objective=0.0)
            return dataclasses.replace(fit, solution=dataclasses.replace(fit.solution, certificate=certificate))

    with pytest.raises(AssertionError, match="not that of the model"):
        check_contract("unconstrained", Flattering(), data)


def test_regression_data_and_single_groups_do_not_apply(data):
    regression = dataclasses.replace(data, task="regression")
    alone = dataclasses.replace(data, group=np.zeros_like(data.group), group_names=("all",))
    algorithm = plugins.load("algorithms", "alm").ALGORITHM
    for table, word in ((regression, "real-valued"), (alone, "one group")):
        task = dataclasses.replace(make_task(data, 0.1), train=table)
        fit, status, reason = attempt(algorithm, task, algorithm.settings_model())
        assert fit is None and status == "not_applicable" and word in reason


def test_an_infeasible_fit_is_a_result_with_a_reason(data):
    algorithm = plugins.load("algorithms", "alm").ALGORITHM
    settings = algorithm.settings_model(rounds=1, inner_iterations=1, tolerance=1e-12)
    fit, status, reason = attempt(algorithm, make_task(data, 0.01), settings)
    assert status == "infeasible" and "raise kappa" in reason
    assert isinstance(fit.solution, Solution)


def test_validation_rows_do_not_change_what_is_not_tuned(data):
    task = make_task(data, 0.1)
    other = dataclasses.replace(task, validation=data.take(make_split(data, 0).test))
    algorithm = plugins.load("algorithms", "alm").ALGORITHM
    weights = [algorithm.fit(t, algorithm.settings_model()).model.weights for t in (task, other)]
    assert np.array_equal(*weights)
