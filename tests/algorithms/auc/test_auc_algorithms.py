"""The algorithms of AUC fairness: selection, models at several tolerances, and their numbers on real data."""

import math

import numpy as np
import pytest
from scipy import sparse

from papers.auc_fairness.algorithms.auc_common import AUCRows, AUCSettings, Quality, choose
from partialfair import plugins
from partialfair.algorithms.auc.level_set import LevelSetBudget, Rows, marked_steps, solve
from partialfair.algorithms.auc.quadratic_auc import QuadraticAUC, SetMoments
from partialfair.algorithms.contract import Task
from partialfair.algorithms.tuning import Choice
from partialfair.data.auc_sets import PRESETS, cell_counts, cells_of
from partialfair.errors import ConfigError, InfeasibleError
from partialfair.metrics.on_request.auc_gap import signed_gap
from partialfair.models.features import Standardiser
from partialfair.models.score_levels import level_of
from partialfair.models.stored import load_model
from reproduction.datasets import simulated
from reproduction.datasets.splits import make_split

QUICK = {
    "sfls": {"steps": 300, "calls": 2, "marks": 4, "kappa_train": [0.1, 1.0], "constants": [0.1]},
    "iqrc": {"steps": 60, "calls": 2, "marks": 4, "kappa_train": [0.1, 1.0], "constants": [0.3], "hidden": 3},
    "proxy_lagrangian": {"steps": 300, "marks": 2},
    "correlation_penalty": {"steps": 300, "marks": 2, "penalties": [0.1]},
    "auc_post_processing": {"scale_step": 0.5, "shift_step": 0.5},
    "exact_surrogate": {"slacks": 8},
    "mean_gap_line": {"points": 7},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return simulated.load(tmp_path_factory.mktemp("raw"), rows=1200)


def make_task(data, kappa=0.1, constraint="auc_gap_inter_group"):
    split = make_split(data, 0)
    parts = data.take(split.train), data.take(split.validation)
    return Task(*parts, constraint, [[0.0, 1.0]], kappa, report=lambda line: None)


def fitted(name, task, **options):
    algorithm = plugins.load("algorithms", name).ALGORITHM
    return algorithm.fit(task, algorithm.settings(**(QUICK.get(name, {}) | options)))


@pytest.mark.parametrize("name", QUICK)
def test_what_is_within_kappa_on_validation_rows_is_so_exactly(name, data, tmp_path):
    """The record of the choice is that of the stored model, at every tolerance; training rows decide nothing."""
    task = make_task(data, constraint="auc_gap_group")
    fit = fitted(name, task, kappas=[0.02, 0.3])
    fit.model.save(tmp_path / "model.npz")
    stored = load_model(tmp_path / "model.npz")
    whole = {key: model for key, model in stored.levels.items() if level_of(key)[1] == 1}
    assert set(whole) == {"0.02", "0.3"} and stored.usable and stored.uses_group
    rows = task.validation
    for kappa, model in ((0.1, stored), *((float(key), model) for key, model in whole.items())):
        record = fit.chosen[f"kappa={kappa:g}"]
        delta = signed_gap(model.scores(rows.X, rows.group), rows.y, rows.group, PRESETS["group"], protected=0)
        assert delta == pytest.approx(record["validation_delta"], abs=1e-4)
        assert record["infeasible_on_val"] == (abs(record["validation_delta"]) > kappa)


@pytest.mark.parametrize("model", ["linear", "network"])
@pytest.mark.parametrize("name", ["sfls", "iqrc", "proxy_lagrangian", "correlation_penalty", "auc_post_processing"])
def test_models_after_a_share_of_the_work_are_those_of_the_candidates_that_there_are_by_then(name, model, data):
    """After half of the steps the stored model is what the whole rule chooses where the later candidates are struck."""
    if (name, model) in (("sfls", "network"), ("iqrc", "linear")):
        return
    task = make_task(data, constraint="auc_gap_group")
    options = {} if name in ("sfls", "iqrc") else {"model": model, "steps": 300, "marks": 5, "hidden": 3}
    options |= {"by_steps": True} if name == "auc_post_processing" else {}
    algorithm = plugins.load("algorithms", name).ALGORITHM
    settings = algorithm.settings(**(QUICK[name] | options | {"kappas": [0.3]}))
    fit = algorithm.fit(task, settings)
    assert {level_of(key) for key in fit.model.levels if "@" in key} >= {(0.1, 0.5), (0.3, 0.5), (0.1, 0.25)}
    pool = algorithm.pool(AUCRows.from_task(task, settings), settings, [0.1, 0.3])
    early, allowed = pool.after(0.5)
    if allowed is not None:
        assert 0 < allowed.sum() < allowed.size
    expected = early.model(choose(early.quality, 0.3, allowed).index).scores(task.train.X, task.train.group)
    assert np.array_equal(fit.model.levels["0.3@0.5"].scores(task.train.X, task.train.group), expected)


def test_an_inner_model_by_steps_is_chosen_on_validation_rows_as_the_rivals_are(data):
    """Stopped early it ranks validation rows no worse than any mark of its path; in closed form nothing is tuned."""
    task = make_task(data, constraint="auc_gap_group")
    for name in ("auc_unconstrained", "auc_post_processing"):
        algorithm = plugins.load("algorithms", name).ALGORITHM
        options = QUICK.get(name, {}) | {"steps": 400, "marks": 6, "constants": [0.1, 1.0]}
        closed, tuned = (algorithm.settings(**options, by_steps=by_steps) for by_steps in (False, True))
        rows = AUCRows.from_task(task, tuned)
        assert algorithm.pool(rows, closed, [0.1]).after(0.5) is None
        assert algorithm.pool(rows, tuned, [0.1]).after(0.5) is not None
    unconstrained = plugins.load("algorithms", "auc_unconstrained").ALGORITHM
    pool = unconstrained.pool(rows, unconstrained.settings(steps=400, marks=6, by_steps=True), [np.inf])
    assert pool.quality.auc[choose(pool.quality, np.inf).index] == pool.quality.auc.max()


def test_two_fits_are_equal(data):
    task = make_task(data)
    for name in ("sfls", "iqrc", "proxy_lagrangian"):
        one, two = (fitted(name, task).model.scores(task.train.X, task.train.group) for _ in range(2))
        assert np.array_equal(one, two), name


def test_networks_in_place_of_linear_models(data, tmp_path):
    task = make_task(data, constraint="auc_gap_group")
    for name in ("proxy_lagrangian", "correlation_penalty", "auc_post_processing"):
        fit = fitted(name, task, model="network", hidden=3, steps=120, marks=2, constants=[0.3], kappas=[0.3])
        fit.model.save(tmp_path / f"{name}.npz")
        stored = load_model(tmp_path / f"{name}.npz")
        scores = fit.model.scores(task.train.X, task.train.group)
        assert np.array_equal(stored.scores(task.train.X, task.train.group), scores), name
    free = fitted("auc_unconstrained", make_task(data, math.inf), model="network", hidden=3, steps=120, marks=2)
    assert free.evaluated_point.objective() < 0.6


def test_the_choice():
    quality = Quality(np.array([0.7, 0.9, 0.8, np.nan]), np.array([0.01, 0.2, -0.05, 0.0]))
    assert choose(quality, 0.3) == Choice(1, True)
    assert choose(quality, 0.05) == Choice(2, True)
    assert choose(quality, 0.005) == Choice(0, False)
    assert choose(quality, 0.3, np.array([True, False, False, True])) == Choice(0, True)


def test_same_mode_takes_its_own_training_tolerance_alone(data):
    fit = fitted("sfls", make_task(data), kappas=[0.3], mode="same")
    assert all(fit.chosen[f"kappa={kappa}"]["run"].startswith(f"kappa_train={kappa} ") for kappa in ("0.1", "0.3"))


def test_a_loose_tolerance_gives_the_unconstrained_fit(data):
    task = make_task(data, 1.0)
    exact = fitted("exact_surrogate", task, largest=10.0)
    free = fitted("auc_unconstrained", make_task(data, math.inf))
    found = [fit.chosen[key]["validation_auc"] for fit, key in ((exact, "kappa=1"), (free, "kappa=inf"))]
    assert found[0] >= found[1] - 1e-4
    post = fitted("auc_post_processing", task)
    assert post.chosen["kappa=1"]["validation_auc"] >= found[1]


def test_what_does_not_apply_says_why(data):
    for name, constraint, word in (
        ("sfls", "partial_statistical_parity", "gaps between AUCs"),
        ("correlation_penalty", "auc_gap_inter_group", "correlation"),
        ("auc_post_processing", "auc_gap_intra_group", "within groups"),
    ):
        assert word in plugins.load("algorithms", name).ALGORITHM.applies_to(constraint, data)
    with pytest.raises(InfeasibleError, match="needs kappa_train > 2 c1 c2"):
        fitted("sfls", make_task(data), c1=1.0)
    with pytest.raises(ConfigError, match="no group code"):
        fitted("mean_gap_line", make_task(data), protected=5)


# --- real data: known answers of the exact problem, and the level-set method's course -----------------------------

# dataset, protected group, gap -> [slack, f0, training AUC, training delta]; None is the unconstrained model
ANCHORS = {
    ("a9a", 0, "group"): [
        (None, 0.1782, 0.9022, -0.2467),
        (0.3, 0.2078, 0.8866, -0.0391),
        (0.1, 0.2726, 0.8800, -0.0086),
    ],
    ("a9a", 0, "inter_group"): [(None, 0.1782, 0.9022, -0.1731), (0.3, 0.2188, 0.8933, -0.0365)],
    ("a9a", 0, "intra_group"): [(None, 0.1782, 0.9022, 0.0520), (0.3, 0.1974, 0.8924, 0.0525)],
    ("compas", 1, "group"): [(None, 0.375125, 0.7251, -0.1350), (0.1, 0.3911, 0.7201, 0.0023)],
    ("compas", 1, "inter_group"): [(None, 0.375125, 0.7251, -0.2501)],
    ("bank", 1, "group"): [(None, 0.1559, 0.9328, -0.3199), (0.1, 0.2278, 0.9214, -0.0247)],
}


def whole(dataset, name, protected):
    """All published training rows, as the algorithms see them."""
    table = dataset(name)
    if table.partition is not None:
        table = table.take(np.flatnonzero(table.partition == 0))
    task = Task(table, table, "auc_gap_group", [[0.0, 1.0]], 0.1)
    return AUCRows.from_task(task, AUCSettings(protected=protected)).inputs, cells_of(table.y, table.group, protected)


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "protected"), [("a9a", 0), ("compas", 1), ("bank", 1)])
def test_exact_solutions_on_real_data(name, protected, dataset):
    X, cells = whole(dataset, name, protected)
    for (where, _, constraint), answers in ANCHORS.items():
        if where != name:
            continue
        own = QuadraticAUC(SetMoments.from_rows(X, cells, PRESETS[constraint]))
        for slack, f0, auc, delta in answers:
            w = own.unconstrained() if slack is None else own.solve(slack)
            quality = Quality.of_scores((X @ w)[None], cells, PRESETS[constraint])
            assert own.values(w)[0] == pytest.approx(f0, abs=3e-4)
            assert (quality.auc[0], quality.delta[0]) == pytest.approx((auc, delta), abs=5e-4)
        if (name, constraint) == ("compas", "group"):
            for r, value in ((0.5, -0.07208), (0.45, -0.04297), (0.4, -0.00699)):
                assert own.level(r, 0.1) == pytest.approx(value, abs=1e-5)


@pytest.mark.real_data
def test_course_of_the_level_set_method_on_compas(dataset):
    """Levels, bounds and objectives of eight calls of 50,000 steps; every averaged point is feasible."""
    table = dataset("compas")
    train = table.take(make_split(table, 0).train)
    scaler = Standardiser.fit(train.X, train.numeric)
    X = train.X.astype(float)
    X[:, train.numeric] = scaler.values(train.X)
    X = sparse.csr_array(np.column_stack([X, train.group == 1]))
    cells = cells_of(train.y, train.group, 1)
    own = QuadraticAUC(SetMoments.from_rows(X, cells, PRESETS["group"]))
    exact = own.values(own.solve(0.1))[0]
    assert cell_counts(cells).min() > 0
    budget = LevelSetBudget(steps=50_000, calls=8, skip=0.0)
    found = solve(Rows(X, cells, PRESETS["group"]), [1.1], [0.3], np.random.default_rng(0), budget)
    values = np.array([own.values(call.mean[:, 0]) for call in found.calls])
    level, upper = (np.array([getattr(call, name)[0] for call in found.calls]) for name in ("level", "upper"))
    shift = (exact - 0.3899) * np.linspace(0, 1, 8)  # the training rows differ with the split
    known = np.array([0.5, 0.4654, 0.441, 0.425, 0.4144, 0.4078, 0.4037, 0.4014])
    assert level == pytest.approx(known + shift, abs=4e-3)
    assert upper == pytest.approx([-0.0692, -0.0486, -0.0325, -0.0210, -0.0133, -0.0081, -0.0047, -0.0030], abs=4e-3)
    assert np.all(values[:, 1:].max(axis=1) < 1.1) and np.all(np.diff(values[:, 0]) < 0)
    assert 0 <= values[-1, 0] - exact <= 0.012
    assert 0 <= upper[0] - own.level(0.5, 0.1) <= 0.006


def test_scores_that_rank_like_chance_are_refused_while_there_are_others():
    """A constant score meets every tolerance; it is taken only where nothing better was found at all."""
    quality = Quality(np.array([0.51, 0.80, 0.90]), np.array([0.0, 0.05, 0.3]), chance=0.52)
    assert choose(quality, 0.01) == Choice(1, False)
    assert choose(quality, 0.1) == Choice(1, True)
    assert choose(Quality(np.array([0.51, 0.5]), np.array([0.2, 0.0]), chance=0.52), 0.01) == Choice(1, True)


def test_chance_is_what_random_scores_exceed_once_in_a_thousand_times():
    random = np.random.default_rng(0)
    cells = random.integers(0, 4, 300)
    found = Quality.of_scores(random.normal(size=(4000, 300)), cells, PRESETS["group"])
    assert 0.0 < np.mean(found.auc > found.chance) < 0.003
    assert np.std(found.auc) == pytest.approx((found.chance - 0.5) / 3.09, rel=0.05)


def test_marks_are_even_in_the_length_of_the_path():
    """Steps of size 1/sqrt(t) cover equal lengths between marks; the end is a mark."""
    marks = marked_steps(10_000, 50)
    lengths = np.diff(np.sqrt(np.concatenate([[0], marks])))
    assert marks[-1] == 10_000 and len(marks) == 50 and np.ptp(lengths[5:]) < 0.1 * lengths.mean()
    assert marked_steps(3, 50).tolist() == [1, 2, 3]


def test_algorithm_1_inside_lowers_the_level_and_ends_with_its_tolerance(data):
    """More calls per outer iteration see more of the path; a tolerance above every U leaves one call."""
    task = make_task(data, constraint="auc_gap_group")
    one, all_, cut = (
        fitted("iqrc", task, levels=levels, tolerance=tolerance, steps=800, constants=[1.0]).chosen["candidates"]
        for levels, tolerance in ((1, 1e-4), (3, 1e-4), (3, 1e9))
    )
    assert all_ > one == cut


def test_what_the_theorems_speak_of_is_measured_with_the_exact_level_set_function(data):
    """A longer call has the smaller error; its bound is never below the exact function by more than rounding."""
    task = make_task(data, constraint="auc_gap_group")
    errors = []
    for steps in (100, 6000):
        found = fitted("sfls", task, steps=steps, calls=1, kappa_train=[0.1], constants=[0.1]).chosen
        errors.append(found["oracle_error"])
    assert errors[0] > errors[1] > -1e-6
    path = fitted("sfls", task, steps=6000, calls=3, kappa_train=[0.1], constants=[0.1]).chosen
    assert path["largest_excess"] <= 1e-9
