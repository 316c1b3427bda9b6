"""Stochastic methods on a toy problem with known iterates, on small data, and on the real table."""

import numpy as np
import pytest
from toy_stochastic import Toy, walk

from papers.stochastic_benchmark.algorithms import stochastic_run
from papers.stochastic_benchmark.algorithms.sgd import PlainSteps, SGDSettings
from papers.stochastic_benchmark.algorithms.ssl_alm import SmoothedSteps, SSLALMSettings
from papers.stochastic_benchmark.algorithms.stochastic_ghost import GhostSettings, GhostSteps
from papers.stochastic_benchmark.algorithms.stochastic_problem import StochasticPoint, StochasticProblem
from papers.stochastic_benchmark.algorithms.stochastic_run import Plan, run
from papers.stochastic_benchmark.algorithms.stochastic_switching import StochasticSwitchingSettings, SwitchingSteps
from partialfair.algorithms.ghost_subproblem import level_weight
from partialfair.constraints.family import built
from partialfair.constraints.stratum_means import sampled
from partialfair.data.checkpoint import Checkpoint
from partialfair.models.stacked import StackedLinear, StackedMLP
from partialfair.seeding import generator


def smoothed(**options):
    return SmoothedSteps(SSLALMSettings(**options))


def ghost(**options):
    return GhostSteps(GhostSettings(**options))


def switching(**options):
    return SwitchingSteps(StochasticSwitchingSettings(**options))


def sgd(step_size, batch=8):
    return PlainSteps(SGDSettings(step_size=step_size, batch=batch))


SMOOTHED, PLAIN = smoothed(), smoothed(proximal=0.0)


# --- the toy problem -----------------------------------------------------------------------------------------------


def test_ssl_alm_takes_the_known_steps_to_the_solution():
    points, state = walk(SMOOTHED, 3)
    np.testing.assert_allclose(points, [0.979, 0.95820881, 0.93743339], atol=5e-9)
    np.testing.assert_allclose(state["dual"][0], [0.10936044, -0.18239148], atol=5e-9)
    assert state["slack"][0, 1] == pytest.approx(0.03950381, abs=5e-9)
    points, state = walk(SMOOTHED, 5000)
    assert points[-1] == pytest.approx(0.25, abs=1e-6)
    np.testing.assert_allclose(state["dual"][0], [0.75, 0], atol=1e-5)


def test_slacks_of_the_first_steps():
    assert [walk(SMOOTHED, k)[1]["slack"][0, 1] for k in (1, 2)] == pytest.approx([0.013125, 0.02625419], abs=5e-9)


def test_alm_takes_the_known_steps_to_the_same_solution():
    points, _ = walk(PLAIN, 3)
    np.testing.assert_allclose(points, [0.979, 0.95778881, 0.93640335], atol=5e-9)
    points, state = walk(PLAIN, 5000)
    assert points[-1] == pytest.approx(0.25, abs=1e-6)
    np.testing.assert_allclose(state["dual"][0], [0.75, 0], atol=1e-5)


@pytest.mark.parametrize(
    ("mixing", "radius", "first", "after_475"),
    [(0.5, 0.8, [0.98125, 0.96301445, 0.945278], 0.25027848), (0.8, 0.5, [0.98, 0.96005, 0.94014975], 0.25000253)],
)
def test_ghost_takes_the_known_steps(mixing, radius, first, after_475):
    method = ghost(mixing=mixing, radius=radius, full_batch=True)
    points, _ = walk(method, 475)
    np.testing.assert_allclose(points[:3], first, atol=1e-8)
    assert points[-1] == pytest.approx(after_475, abs=1e-8)
    assert walk(method, 2000)[0][-1] == pytest.approx(0.25, abs=1e-5)


def test_ghosts_step_rule():
    state = walk(ghost(full_batch=True), 475)[1]
    assert float(state["alpha"]) == pytest.approx(0.02286281, abs=1e-8)
    assert float(walk(ghost(full_batch=True), 476)[1]["alpha"]) == pytest.approx(0.02283667, abs=1e-8)


@pytest.mark.parametrize(("steps", "low", "high"), [((0.5, 0.05), 0.2002, 0.6250), ((0.02, 0.02), 0.2302, 0.2646)])
def test_switching_with_constant_steps_does_not_converge(steps, low, high):
    method = switching(objective_step=steps[0], constraint_step=steps[1])
    points, _ = walk(method, 4000)
    if steps[0] == 0.5:
        np.testing.assert_allclose(points[:16], [*(1 - 0.05 * np.arange(1, 16)), 0.625], atol=1e-12)
    tail = points[2000:]
    assert min(tail) >= low - 1e-3 and max(tail) <= high + 1e-3
    assert max(tail) - min(tail) > 0.02


def test_multipliers_too_large_are_set_to_zero():
    method = smoothed(dual_bound=0.05)
    assert not walk(method, 2)[1]["dual"].any()


def test_exchanging_the_groups_exchanges_the_multipliers_and_nothing_else():
    for method in (SMOOTHED, PLAIN, switching(), ghost(full_batch=True)):
        points, state = walk(method, 200)
        mirrored, other = walk(method, 200, Toy(sign=-1.0))
        np.testing.assert_allclose(points, mirrored, rtol=1e-12)
        if "dual" in state:
            np.testing.assert_allclose(state["dual"][0], other["dual"][0, ::-1], atol=1e-12)


def test_without_proximal_term_smoothing_plays_no_part():
    assert walk(smoothed(proximal=0, smoothing=0.1), 50)[0] == walk(smoothed(proximal=0, smoothing=0.9), 50)[0]


# --- the multilevel estimator --------------------------------------------------------------------------------------


@pytest.mark.parametrize("renormalised", [False, True])
def test_multilevel_estimate_of_a_square(renormalised):
    # Samples Bernoulli(1/2), direction = (mean of the batch)^2; the estimate is nearly unbiased for 1/4.
    p, largest, draws, rng = 0.4, 12, 400_000, np.random.default_rng(5)
    levels = rng.geometric(p, draws) - 1
    while (levels > largest).any():
        wrong = levels > largest
        levels[wrong] = rng.geometric(p, wrong.sum()) - 1
    half = 2.0**levels
    even, odd = rng.binomial(half.astype(int), 0.5) / half, rng.binomial(half.astype(int), 0.5) / half
    single = rng.binomial(1, 0.5, draws).astype(float)
    weight = np.array([level_weight(level, p, largest if renormalised else None) for level in range(largest + 1)])
    estimate = single**2 + (((even + odd) / 2) ** 2 - (even**2 + odd**2) / 2) / weight[levels]
    expected = 0.2500305 if renormalised else 0.2497036
    assert abs(estimate.mean() - expected) < 4 * estimate.std() / draws**0.5
    assert estimate.var() == pytest.approx(0.34, abs=0.03)
    if renormalised:
        assert sum(level_weight(level, p, largest) for level in range(largest + 1)) == pytest.approx(1)


# --- small data ----------------------------------------------------------------------------------------------------


def small_problem(n=400, hidden=(6, 4), slack=0.01, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    group = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, 5)) + 0.5 * group[:, None]
    y = np.where(X[:, 0] + 0.7 * group + rng.normal(size=n) > 0.3, 1.0, -1.0)
    means = sampled(built("loss_parity", group, y, interval=[(0.0, 1.0)], kappa=slack))
    score = StackedMLP(5, hidden) if hidden else StackedLinear(5)
    return StochasticProblem(score, X.astype(dtype), (y > 0).astype(dtype), means)


def starts(problem, seeds, dtype=np.float64):
    return np.stack([problem.score.initial(generator("initialisation", seed)) for seed in seeds]).astype(dtype)


METHODS = {
    "sgd": sgd(0.05),
    "ssl_alm": SMOOTHED,
    "alm": PLAIN,
    "cyclic": smoothed(cyclic=True),
    "switching": switching(objective_step=0.1, constraint_step=0.05),
    "ghost": ghost(),
}


@pytest.mark.parametrize("name", METHODS)
def test_seeds_together_give_what_each_gives_alone(name):
    problem, seeds, plan = small_problem(dtype=np.float32), [0, 1, 7], Plan(steps=100, records=4, average=0.2)
    together = run(METHODS[name], problem, starts(problem, seeds, np.float32), seeds, plan)
    for place, seed in enumerate(seeds):
        alone = run(METHODS[name], problem, starts(problem, [seed], np.float32), [seed], plan)
        np.testing.assert_array_equal(together.path[:, place], alone.path[:, 0])
        np.testing.assert_array_equal(together.point[place], alone.point[0])
        np.testing.assert_array_equal(together.rows[:, place], alone.rows[:, 0])


@pytest.mark.parametrize("name", METHODS)
def test_a_resumed_run_ends_as_an_uninterrupted_one(name, tmp_path, monkeypatch):
    problem, seeds, plan = small_problem(), [0, 3], Plan(steps=200, records=10, average=0.3, sampled_from=50)
    whole = run(METHODS[name], problem, starts(problem, seeds), seeds, plan)
    monkeypatch.setattr(stochastic_run, "SAVE_EVERY", 0.0)
    checkpoint = Checkpoint(tmp_path / "checkpoint.npz", "key")

    class StopError(Exception):
        pass

    def stop_halfway(line):
        if "step 120/" in line:
            raise StopError

    with pytest.raises(StopError):
        run(METHODS[name], problem, starts(problem, seeds), seeds, plan, checkpoint, stop_halfway)
    assert checkpoint.load() is not None
    lines = []
    resumed = run(METHODS[name], problem, starts(problem, seeds), seeds, plan, checkpoint, lines.append)
    assert "step 120/" in lines[0], "it took up the state"
    for part in ("point", "last", "path", "loss", "constraints", "rows", "steps"):
        np.testing.assert_array_equal(getattr(resumed, part), getattr(whole, part))


def test_without_a_constraint_ghost_is_sgd_and_switching_is_sgd():
    problem = small_problem(slack=1e6, dtype=np.float32)
    x, seeds, plan = starts(problem, [0, 1], np.float32), [0, 1], Plan(steps=60, records=3)
    plain = run(sgd(0.1, 16), problem, x, seeds, plan)
    switched = run(switching(objective_step=0.1), problem, x, seeds, plan)
    np.testing.assert_array_equal(plain.path, switched.path)
    method = ghost()
    streams = method.streams(problem, seeds)
    state = method.start(problem, x)
    for k in range(20):
        before, alpha = state["x"].copy(), 0.05 if k == 0 else state["alpha"] * (1 - 0.05 * state["alpha"])
        method.step(problem, streams, state, k)
        single = problem.gradient(before, np.stack([draw.objective[:1] for draw in streams.drawn_at(k)]))
        np.testing.assert_allclose(state["x"], before - np.float32(alpha) * single, atol=1e-6)


def test_ssl_alm_without_duals_and_penalty_is_sgd():
    problem = small_problem()
    x, seeds, plan = starts(problem, [0]), [0], Plan(steps=50, records=2)
    method = SmoothedSteps(SSLALMSettings.model_construct(proximal=0, penalty=0, dual_step=0, step_size=0.05))
    np.testing.assert_allclose(
        run(method, problem, x, seeds, plan).last, run(sgd(0.05), problem, x, seeds, plan).last, atol=1e-12
    )


def test_duplicated_data_leave_all_row_quantities_unchanged():
    problem = small_problem()
    twice = StochasticProblem(
        problem.score,
        np.concatenate([problem.X] * 2),
        np.concatenate([problem.positive] * 2),
        type(problem.means)(
            problem.means.matrix, problem.means.slack, np.concatenate([problem.means.row_stratum] * 2), ("", "")
        ),
    )
    x = starts(problem, [0, 1])
    one, two = problem.evaluate(x), twice.evaluate(x)
    np.testing.assert_allclose(one.loss, two.loss, rtol=1e-12)
    np.testing.assert_allclose(one.constraints, two.constraints, atol=1e-14)
    np.testing.assert_allclose(problem.gradient(x, None), twice.gradient(x, None), atol=1e-14)


def test_the_average_and_the_sampled_point():
    problem, x = small_problem(), starts(small_problem(), [0, 1])
    every = run(sgd(0.05), problem, x, [0, 1], Plan(steps=100, records=100))
    mean = run(sgd(0.05), problem, x, [0, 1], Plan(steps=100, records=4, average=0.25))
    np.testing.assert_allclose(mean.point, every.path[-25:].mean(axis=0), atol=1e-12)
    np.testing.assert_array_equal(mean.last, every.last)
    drawn = run(sgd(0.05), problem, x, [0, 1], Plan(steps=100, records=4, sampled_from=40)).point
    for r in range(2):
        assert (np.abs(every.path[41:, r] - drawn[r]).max(axis=1) == 0).sum() == 1


def test_points_are_sampled_by_the_length_of_their_steps():
    # Steps of length 3 and 1 in turn: the chance of the former is three times that of the latter.
    counts = np.zeros(40)
    plan = Plan(steps=40, records=1, sampled_from=0)
    uniform = np.random.default_rng(0).random((4000, 40))
    state = {"x": np.zeros((4000, 1)), "sampled": np.zeros((4000, 1)), "length": np.zeros(4000)}
    for k in range(plan.steps):
        state["x"] = np.full((4000, 1), float(k))
        state["taken"] = np.full(4000, 3.0 if k % 2 == 0 else 1.0)
        stochastic_run._sample(state, uniform[:, k])
    counts = np.bincount(state["sampled"][:, 0].astype(int), minlength=40)
    assert counts[::2].sum() / 4000 == pytest.approx(0.75, abs=0.03)
    assert counts.min() > 5


def test_full_batch_methods_reach_one_kkt_point():
    problem = small_problem(n=120, hidden=(), slack=0.01)
    x = np.zeros((1, 5))
    points = []
    for method, steps in (
        (smoothed(proximal=0, step_size=0.8, dual_step=0.8, full_batch=True), 1200),
        (smoothed(proximal=2, step_size=0.4, dual_step=0.4, full_batch=True), 3000),
        (ghost(step_size=1.0, decay=0, full_batch=True), 400),
    ):
        found = run(method, problem, x, [0], Plan(steps=steps, records=1))
        reached = StochasticPoint(problem, found.last[0])
        assert reached.certificate().value < 1e-5 and reached.violation() < 1e-6
        points.append(found.last[0])
    np.testing.assert_allclose(points[1], points[0], atol=1e-4)
    np.testing.assert_allclose(points[2], points[0], atol=1e-4)


def test_numbers_that_overflow_are_noticed():
    problem = small_problem()
    with np.errstate(all="ignore"):
        found = run(sgd(1e200), problem, starts(problem, [0]), [0], Plan(steps=50, records=2))
    assert not found.finite[0]


def test_the_last_step_may_read_all_rows_and_leave_the_multipliers():
    problem, seeds = small_problem(), [0, 1]
    settings = SSLALMSettings(steps=5, records=5, whole_last_step=True)
    found = run(SmoothedSteps(settings), problem, starts(problem, seeds), seeds, settings)
    before = run(
        SmoothedSteps(SSLALMSettings(steps=4, records=4)),
        problem,
        starts(problem, seeds),
        seeds,
        settings.model_copy(update={"steps": 4, "records": 4}),
    )
    np.testing.assert_array_equal(found.path[4], before.point)
    np.testing.assert_array_equal(found.state["dual"], before.state["dual"])
    state = {name: values.copy() for name, values in before.state.items()}
    SmoothedSteps(settings).step(problem, SmoothedSteps(settings).streams(problem, [5, 6]), state, 4)
    np.testing.assert_array_equal(found.point, state["x"])
    rows = len(problem.X) + sum(len(stratum) for stratum in problem.strata)
    np.testing.assert_array_equal(found.rows[-1] - found.rows[-2], rows)


def test_switching_reads_the_same_batches_in_every_pass_if_asked():
    problem = small_problem()
    for cyclic in (False, True):
        _, first, _ = switching(cyclic=cyclic, group_batch=1).streams(problem, [0])
        shorter = min(len(rows) for rows in problem.strata)
        place = int(np.argmin([len(rows) for rows in problem.strata]))
        passes = [[int(first.drawn_at(k)[0, place, 0]) for k in range(n * shorter, (n + 1) * shorter)] for n in (0, 1)]
        assert (passes[0] == passes[1]) == cyclic
