"""End-to-end bands on the splits of the DP post-processing paper, and what stored models give back."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from papers.cross_paper.datasets import four_groups
from papers.dp_postprocessing.algorithms import dp_postproc, plug_in_regression, regression_reduction
from partialfair.algorithms.contract import Task
from partialfair.algorithms.measure import measure
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError, InfeasibleError
from partialfair.metrics import get
from partialfair.models.stored import load_model
from reproduction.datasets.stratified_splits import stratified_split

Get = Callable[..., Dataset]
FULL = ((0.0, 1.0),)
RANGES = {"law_school_gpa": (0.0, 1.0), "adult_age": (0.17, 0.9), "communities_crime": (0.01, 1.0)}
STEPS = {"law_school_gpa": 5000, "adult_age": 10_000, "communities_crime": 15_000}


def task_of(data: Dataset, seed: int, protocol: str, eps: float) -> tuple[Task, Dataset]:
    parts = stratified_split(data, seed, protocol)
    train, rest, test = (data.take(getattr(parts, name)) for name in ("train", "validation", "test"))
    task = Task(train, rest, "distribution_parity", [[0, 1]], eps, seed=seed, report=lambda line: None)
    return task, test


def numbers(model: Any, test: Dataset) -> list[float]:
    found = model.predictions(test.X)
    return [get(name)(found, test.y, test.group, FULL) for name in ("risk", "ks_group_0")]


def base_settings(**options: Any) -> Any:
    return plug_in_regression.PlugInSettings(ranges=RANGES, **options)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "risk", "within", "binned"),
    [
        ("law_school_gpa", 0.0091875279, 1e-8, (0.230625, 0.0439286)),
        ("adult_age", 0.0151096209, 1e-8, (0.1449318, 0.0754846)),
        ("communities_crime", 0.01949, 5e-5, (0.4607, 0.1750)),
    ],
)
def test_base_model_has_the_published_risk(
    name: str, risk: float, within: float, binned: tuple[float, float], dataset: Get
) -> None:
    rows = []
    for seed in range(1, 11):
        task, test = task_of(dataset(name), seed, "released", np.inf)
        found = plug_in_regression.ALGORITHM.fit(task, base_settings()).model.predictions(test.X)
        rows.append([get(metric)(found, test.y, test.group, FULL) for metric in ("risk", "ks_binned_0", "ks_binned_1")])
    mean = np.mean(rows, axis=0)
    assert mean[0] == pytest.approx(risk, abs=within)
    assert mean[1:] == pytest.approx(binned, abs=1e-6 if within < 1e-6 else 1e-4)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "bands"),
    [
        ("communities_crime", {2.0**-5: (0.0250, 0.0270, 0.29, 0.335), 2.0**-6: (0.0320, 0.0345, 0.135, 0.175),
                               2.0**-16: (0.0405, 0.0435, 0.070, 0.105)}),
        ("law_school_gpa", {2.0**-5: (0.01160, 0.01178, 0.055, 0.080), 2.0**-8: (0.0116, 0.0123, 0.035, 0.070)}),
        ("adult_age", {2.0**-6: (0.0168, 0.0171, 0.055, 0.068), 2.0**-16: (0.0174, 0.0182, 0.018, 0.030)}),
    ],
)  # fmt: skip
def test_released_optimiser_lies_in_the_published_bands(name: str, bands: dict[float, tuple], dataset: Get) -> None:
    levels = list(bands)
    settings = dp_postproc.DPPostprocSettings(
        optimiser="sgd3_acsa2", steps=STEPS, shares="frequencies", ranges=RANGES, levels=levels[1:]
    )
    rows = []
    for seed in range(1, 11):
        task, test = task_of(dataset(name), seed, "released", levels[0])
        model = dp_postproc.ALGORITHM.fit(task, settings).model
        rows.append([numbers(one, test) for one in (model, *model.levels.values())])
    for (low, high, least, most), (risk, unfairness) in zip(bands.values(), np.mean(rows, axis=0), strict=True):
        assert low <= risk <= high and least <= unfairness <= most


EXACT = {
    "law_school_gpa": {-2: (0.010809, 0.1841), -5: (0.010831, 0.1707), -8: (0.011046, 0.0428), -16: (0.011145, 0.0310)},
    "communities_crime": {
        -2: (0.022121, 0.4733), -5: (0.022535, 0.4703), -8: (0.037126, 0.1252), -16: (0.045157, 0.0793)
    },
    "adult_age": {-2: (0.016615, 0.1189), -5: (0.016615, 0.1189), -8: (0.017694, 0.0457), -16: (0.017682, 0.0211)},
}  # fmt: skip


@pytest.mark.real_data
@pytest.mark.parametrize("name", EXACT)
def test_exact_solutions_on_the_printed_split(name: str, dataset: Get) -> None:
    expected = {2.0**power: pair for power, pair in EXACT[name].items()}
    levels = list(expected)
    settings = dp_postproc.DPPostprocSettings(ranges=RANGES, levels=levels[1:])
    rows = []
    for seed in range(1, 11):
        task, test = task_of(dataset(name), seed, "paper", levels[0])
        fit = dp_postproc.ALGORITHM.fit(task, settings)
        rows.append([numbers(one, test) for one in (fit.model, *fit.model.levels.values())])
        found = measure(dp_postproc.ALGORITHM, task, fit)
        assert found.status == "ok" and found.certificate is not None
        assert found.certificate.kind == "gradient_mapping" and found.certificate.value <= found.certificate.small
        assert max(records[-1].violation for records in fit.trace.candidates.values()) <= 1e-7
    for (risk, unfairness), found in zip(expected.values(), np.mean(rows, axis=0), strict=True):
        assert found[0] == pytest.approx(risk, rel=0.002) and found[1] == pytest.approx(unfairness, abs=0.002)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "rows", "expected"),
    [
        ("communities_crime", "labeled", ((0.01919, 0.505), (0.02792, 0.281), (0.03972, 0.118))),
        ("law_school_gpa", "train", ((0.01150, 0.236), (0.01151, 0.232), (0.01212, 0.108))),
        ("adult_age", "train", ((0.01585, 0.148), (0.01585, 0.148), (0.01667, 0.073))),
    ],
)
def test_reduction_gives_the_measured_numbers(name: str, rows: Any, expected: tuple, dataset: Get) -> None:
    settings = regression_reduction.ReductionSettings(rows=rows, levels=[0.25, 0.0625])
    found = []
    for seed in range(1, 11):
        task, test = task_of(dataset(name), seed, "reduction", 0.5)
        model = regression_reduction.ALGORITHM.fit(task, settings).model
        found.append([numbers(one, test) for one in (model, *model.levels.values())])
    for (risk, unfairness), mean in zip(expected, np.mean(found, axis=0), strict=True):
        assert mean[0] == pytest.approx(risk, rel=0.01) and mean[1] == pytest.approx(unfairness, abs=0.006)


def small() -> Dataset:
    data = four_groups.load(rows=400)
    return Dataset(
        data.X, data.y, (data.group >= 2).astype(np.int16), data.feature_names, ("low", "high"), "small",
        data.numeric, task="regression",
    )  # fmt: skip


def test_labels_and_groups_of_unlabeled_rows_are_not_read() -> None:
    from dataclasses import replace

    task, test = task_of(small(), 1, "paper", 0.01)
    rest = task.validation
    blind = replace(task, validation=replace(rest, y=np.zeros(rest.n_rows), group=np.zeros(rest.n_rows, np.int16)))
    settings = dp_postproc.DPPostprocSettings()
    models = [dp_postproc.ALGORITHM.fit(one, settings).model for one in (task, blind)]
    assert np.array_equal(models[0].difference, models[1].difference)
    assert numbers(models[0], test) == numbers(models[1], test)


def test_label_frequencies_contradict_tiny_tolerances_and_calibrated_shares_do_not() -> None:
    task, _ = task_of(small(), 2, "released", 1e-9)
    with pytest.raises(InfeasibleError, match="calibrated shares"):
        dp_postproc.ALGORITHM.fit(task, dp_postproc.DPPostprocSettings(shares="frequencies"))
    fit = dp_postproc.ALGORITHM.fit(task, dp_postproc.DPPostprocSettings())
    assert measure(dp_postproc.ALGORITHM, task, fit).status == "ok"


def test_stored_models_give_the_same_predictions(tmp_path: Path) -> None:
    task, test = task_of(small(), 1, "paper", 0.1)
    low, high = float(task.train.y.min()), float(task.train.y.max())
    spread = {"small": (min(low, -0.7), max(high, 0.7))}
    fits = [
        dp_postproc.ALGORITHM.fit(
            task, dp_postproc.DPPostprocSettings(optimiser="sgd3_acsa2", steps=400, record_every=100, levels=[0.01])
        ),
        plug_in_regression.ALGORITHM.fit(task, base_settings()),
        regression_reduction.ALGORITHM.fit(
            task, regression_reduction.ReductionSettings(levels=[0.05], ranges=spread, intercept=True)
        ),
    ]
    for place, fit in enumerate(fits):
        fit.model.save(tmp_path / f"{place}.npz")
        again = load_model(tmp_path / f"{place}.npz")
        assert np.array_equal(again.predictions(test.X).values, fit.model.predictions(test.X).values)
        levels, stored = getattr(fit.model, "levels", {}), getattr(again, "levels", {})
        assert list(levels) == list(stored)
        for name in levels:
            assert np.array_equal(levels[name].predictions(test.X).values, stored[name].predictions(test.X).values)
    traced = load_model(tmp_path / "0.npz")
    counts = [count for count, _ in traced.on_the_way(test.X)]
    assert counts == sorted(counts) and counts[0] == 100 and traced.traced


def test_algorithms_refuse_what_they_cannot_do() -> None:
    data = small()
    classes = Dataset(
        data.X, np.sign(data.y), data.group, data.feature_names, data.group_names, "classes", data.numeric
    )
    for plugin in (dp_postproc.ALGORITHM, regression_reduction.ALGORITHM):
        assert plugin.applies_to("distribution_parity", classes)
        assert plugin.applies_to("partial_equal_opportunity", data)
        assert plugin.applies_to("distribution_parity", data) is None


def test_each_certificate_has_a_kind_of_its_own() -> None:
    task, _ = task_of(small(), 1, "paper", 0.1)
    reduction = regression_reduction.ReductionSettings(ranges={"small": (-2.0, 2.0)})
    kinds = []
    for plugin, settings in (
        (dp_postproc.ALGORITHM, dp_postproc.DPPostprocSettings()),
        (regression_reduction.ALGORITHM, reduction),
        (plug_in_regression.ALGORITHM, base_settings()),
    ):
        found = measure(plugin, task, plugin.fit(task, settings)).certificate
        kinds.append(None if found is None else found.kind)
    assert kinds == ["gradient_mapping", "duality_gap", None]


def test_repeats_are_other_draws_and_leave_the_result_alone() -> None:
    task, test = task_of(small(), 1, "paper", 0.01)
    options = {"optimiser": "sgd", "steps": 300, "levels": [0.1]}
    alone = dp_postproc.ALGORITHM.fit(task, dp_postproc.DPPostprocSettings(**options)).model
    model = dp_postproc.ALGORITHM.fit(task, dp_postproc.DPPostprocSettings(**options, repeats=3)).model
    assert np.array_equal(alone.difference, model.difference) and not alone.repeats
    assert list(model.repeats) == ["0.01", "0.1"]
    points = {one.difference.tobytes() for others in model.repeats.values() for one in others}
    assert len(points | {model.difference.tobytes()}) == 7
    assert all(np.isfinite(numbers(one, test)).all() for others in model.repeats.values() for one in others)
    exact = dp_postproc.ALGORITHM.fit(task, dp_postproc.DPPostprocSettings(repeats=3)).model
    assert not exact.repeats


def test_a_perturbed_reduction_answers_nearly_the_same() -> None:
    task, test = task_of(small(), 1, "paper", 0.5)
    options = {"ranges": {"small": (-2.0, 2.0)}}
    plain, again, large = (
        regression_reduction.ALGORITHM.fit(task, regression_reduction.ReductionSettings(**options, perturbation=size))
        for size in (0.0, 1e-9, 0.3)
    )
    risks = [numbers(fit.model, test)[0] for fit in (plain, again, large)]
    assert not np.array_equal(plain.model.hypotheses, again.model.hypotheses)
    assert risks[1] == pytest.approx(risks[0], rel=0.05) and abs(risks[2] - risks[0]) > abs(risks[1] - risks[0])


LOADED_WHILE_TIMED = """
import sys, time
import numpy as np
from partialfair.algorithms.contract import Task
from papers.dp_postprocessing.algorithms import plug_in_regression
from papers.cross_paper.datasets import four_groups

data = four_groups.load(rows=200)
task = Task(data, data, "distribution_parity", [[0, 1]], np.inf, seed=0, report=lambda line: None)
loaded, clock = [], time.process_time
time.process_time = lambda: loaded.append(set(sys.modules)) or clock()
plug_in_regression.ALGORITHM.fit(task, plug_in_regression.PlugInSettings())
began, ended = loaded
assert "sklearn.linear_model" in ended
print(sorted(ended - began))
"""


def test_the_time_of_the_base_models_is_without_imports() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED_WHILE_TIMED], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_fewer_unlabeled_rows_are_the_first_of_them() -> None:
    data = four_groups.load(Path())
    task, _ = task_of(data, 1, "paper", 0.01)
    settings = dp_postproc.DPPostprocSettings(unlabeled=100, rescale=False)
    assert dp_postproc.unlabeled_rows(task, settings).n_rows == 100
    np.testing.assert_array_equal(dp_postproc.unlabeled_rows(task, settings).X, task.validation.X[:100])
    assert dp_postproc.prepare(task, settings).dual.n_rows == 100
    with pytest.raises(ConfigError, match="unlabeled: 10000000 rows .* give at most as many"):
        dp_postproc.unlabeled_rows(task, settings.model_copy(update={"unlabeled": 10_000_000}))
