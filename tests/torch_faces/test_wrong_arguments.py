"""What a training loop may pass by mistake: an error that names it, where PyTorch would fail late or broadcast."""

import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402
from torch.nn.functional import binary_cross_entropy_with_logits as bce  # noqa: E402

from partialfair.errors import ConfigError, DataError  # noqa: E402
from partialfair.torch import (  # noqa: E402
    Ascent,
    BalancedBatches,
    BatchConstraint,
    Lagrangian,
    MultiplierModel,
    Multipliers,
    Plada,
    Slacks,
    StochasticGhost,
    StochasticIDCA,
    Switching,
    multiplier_model,
)
from tests.torch_faces.loops import Loop, batch_of, gap, mlp, table  # noqa: E402

Call = Callable[[Lagrangian, Tensor, Tensor], Any]
PAIR = {"parity": 2, "loss": 1}


def call(make: Call, constraints: Any = 2, rule: Any = None) -> Any:
    """A call of a Lagrangian with loss and values (2,) of a batch."""
    loop = Loop("ascent")
    multipliers = Multipliers(constraints, rule).follow(loop.optimiser)
    return make(Lagrangian(multipliers), *loop.parts(batch_of(0)))


def held(lagrangian: Lagrangian, loss: Tensor, values: Tensor, **more: Any) -> None:
    with lagrangian.hold(values):
        lagrangian(loss, values if more else values[:1], **more)


def nested(lagrangian: Lagrangian, loss: Tensor, values: Tensor) -> None:
    with lagrangian.hold(values), lagrangian.hold(values):
        pass


def of_two_halves(lagrangian: Lagrangian, loss: Tensor, values: Tensor) -> None:
    for i in (0, 1):
        lagrangian(loss, values[i : i + 1], which=[i]).backward(retain_graph=True)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda L, loss, values: L(loss.expand(5), values), r"the loss has shape \(5,\); pass one number"),
        (lambda L, loss, values: L(None, values), "the loss is a NoneType"),
        (lambda L, loss, values: L(loss, list(values)), r"of type list; pass a tensor .* torch\.stack"),
        (lambda L, loss, values: L(loss, 0.3), "of type float"),
        (lambda L, loss, values: L(loss, values.detach().numpy()), "of type ndarray"),
        (lambda L, loss, values: L(loss, values + 0j), r"of type torch\.complex64"),
        (lambda L, loss, values: L(loss, values.detach()), "values without a graph"),
        (lambda L, loss, values: L(loss, (values > 0).int()), "values without a graph"),
        (lambda L, loss, values: L(loss, values[:1], values), "values has 1 constraint, these multipliers are of 2"),
        (lambda L, loss, values: L(loss, values.repeat(2), values), "values has 4 constraints"),
        (lambda L, loss, values: L(loss, values, again=values[:1]), "values has 1 constraint"),
        (lambda L, loss, values: L(loss, {"a": values}), "not of families; pass one tensor"),
        (held, "values has 1 constraint"),
        (lambda L, loss, values: held(L, loss, values, strict=values), "pass them to hold"),
        (lambda L, loss, values: held(L, loss, values, which=[0, 1]), "pass them to hold"),
        (nested, "hold inside hold"),
        (lambda L, loss, values: L(loss, values, which=[0, 2]), r"which is \[0, 2\]; pass numbers .*, 0 to 1"),
        (lambda L, loss, values: L(loss, values[:1], which=[-1]), "which is .*0 to 1"),
        (lambda L, loss, values: L(loss, values, which=[True, False]), "which is .*0 to 1"),
        (lambda L, loss, values: L(loss, values, which=[0, 0]), "pass the number of a constraint once"),
        (lambda L, loss, values: L(loss, values[:1], which=[0, 1]), "pass as many numbers"),
        (of_two_halves, "micro-batches of one step are of different constraints"),
    ],
)
def test_a_lagrangian_refuses_what_it_would_broadcast_or_ignore(make: Call, said: str) -> None:
    with pytest.raises((ConfigError, DataError), match=said):
        call(make)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (lambda values: values, "pass a mapping from the names"),
        (lambda values: {"parity": values[:1], "loss": values}, "'parity' has 1 constraint, its multipliers are 2"),
        (lambda values: {"parity": values, "loss": 0.1}, "of type float"),
    ],
)
def test_values_of_families_have_their_names_and_sizes(values: Callable[[Tensor], Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        call(lambda lagrangian, loss, vector: lagrangian(loss, values(vector)), PAIR)


def test_a_switching_step_refuses_a_constraint_without_a_graph_and_takes_rates_that_decide() -> None:
    with pytest.raises(DataError, match="values without a graph"):
        call(lambda lagrangian, loss, values: lagrangian(loss, values.detach() + 9), rule=Switching())
    assert call(lambda lagrangian, loss, values: lagrangian(loss, values, values > -9), rule=Switching()).requires_grad


@pytest.mark.parametrize("which", [1, [1], np.array([1]), torch.tensor(1), torch.tensor([1], dtype=torch.int16)])
def test_numbers_of_constraints_may_be_of_any_type(which: Any) -> None:
    loop = Loop("ascent")
    loss, values = loop.parts(batch_of(0))
    loop.lagrangian(loss, values[1:] * 0 + 1, which=which).backward()
    loop.optimiser.step()
    assert list(loop.multipliers.named_multipliers().values()) == pytest.approx([0, 0.2])


@pytest.mark.parametrize("shape", [(2,), (2, 1), (1, 2)])
def test_columns_of_values_are_vectors(shape: tuple[int, ...]) -> None:
    total = call(lambda lagrangian, loss, values: lagrangian(loss[None], values.view(shape)))
    assert torch.equal(total, call(lambda lagrangian, loss, values: lagrangian(loss, values)))


@pytest.mark.parametrize(
    ("scores", "y", "said"),
    [
        ([0.1, 0.2], None, "scores are of type list"),
        (np.zeros(2), None, "scores are of type ndarray"),
        (torch.tensor([1, -1]), None, r"scores are of type torch\.int64"),
        (torch.tensor([True, False]), None, r"scores are of type torch\.bool"),
        (torch.zeros(2), torch.tensor([1, 2]), r"y holds labels like \[2\]; pass 0 and 1, or -1 and 1"),
        (torch.zeros(2), torch.tensor([0.0, 0.25]), r"y holds labels like \[0\.0, 0\.25\]"),
        (torch.zeros(2), torch.tensor([0.0, 1.0]) + 0j, "y holds labels like"),
    ],
)
def test_scores_are_floating_and_labels_are_two(scores: Any, y: Any, said: str) -> None:
    family = "partial_demographic_parity" if y is None else "loss_parity"
    with pytest.raises(DataError, match=said):
        BatchConstraint(2, family)(scores, torch.tensor([0, 1]), y)


@pytest.mark.parametrize("kind", [torch.int64, torch.uint8, torch.bool, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("lowest", [0, -1])
def test_labels_may_be_of_any_type(kind: Any, lowest: int) -> None:
    if lowest < 0 and kind in (torch.uint8, torch.bool):
        kind = torch.int8
    _, group, y = table()
    scores, constraint = torch.linspace(-2, 2, len(y)), BatchConstraint(2, "partial_equalized_odds")
    labels = torch.where(y > 0, 1, lowest).to(kind)
    assert torch.equal(constraint(scores, group, y), constraint(scores[:, None], group[:, None], labels[:, None]))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("penalyt", 2.0, "Ascent has no setting 'penalyt'; it has dual_step, penalty"),
        ("penalty", -1.0, "penalty is -1.0; use 0 or a positive number"),
        ("dual_step", float("nan"), "dual_step is nan"),
        ("dual_first", "no", "dual_first is 'no'; use True or False"),
    ],
)
def test_a_schedule_cannot_assign_what_a_constructor_refuses(name: str, value: Any, said: str) -> None:
    rule = Ascent(penalty=2.0)
    with pytest.raises(ConfigError, match=said):
        setattr(rule, name, value)
    assert rule == Ascent(penalty=2.0)


def test_a_reading_that_needs_signed_gaps_is_refused_later_too() -> None:
    rule = Plada()
    with pytest.raises(ConfigError, match="pass their tolerance"):
        rule.theta_step = "prox_linear"
    assert rule.theta_step == "linearised"
    with pytest.raises(ConfigError, match="steps_per_pass is 0"):
        Switching(steps_per_pass=0)


@pytest.mark.parametrize("number", [np.float32(2), np.float64(2), np.array(2.0), torch.tensor(2.0)])
def test_settings_are_pythons_numbers_in_any_checkpoint(number: Any) -> None:
    multipliers, file = Multipliers(2, Slacks(dual_step=number)), io.BytesIO()
    multipliers.rule.penalty = number
    torch.save(multipliers.state_dict(), file)
    file.seek(0)
    fresh = Multipliers(2, Slacks())
    fresh.load_state_dict(torch.load(file, weights_only=True))
    assert type(fresh.rule.penalty) is float and fresh.rule == Slacks(penalty=2.0, dual_step=2.0)


def test_multipliers_with_the_same_settings_have_schedules_of_their_own() -> None:
    rule = Ascent()
    tight, loose = Multipliers(1, rule), Multipliers(1, rule)
    tight.rule.penalty = 7.0
    assert loose.rule.penalty == rule.penalty == 1.0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Multipliers(2, Ascent), "use settings, for instance Ascent"),
        (lambda: Multipliers(2, "ascent"), "rule is 'ascent'"),
        (lambda: Multipliers(torch.tensor(2)), r"constraints is tensor\(2\)"),
        (lambda: Multipliers(2, equality="yes"), "equality is 'yes'; use True or False"),
        (lambda: Multipliers(2, equality=[0.5, 1.0]), "use True or False"),
        (lambda: Lagrangian(Ascent()), r"Ascent has no multipliers; pass Multipliers\(m, rule\)"),
        (lambda: multiplier_model(torch.optim.SGD(mlp().parameters(), 0.1), 2, torch.zeros(2)), r"a tensor \(m, p\)"),
        (lambda: MultiplierModel(2, torch.eye(3), mlp()), "3 rows; pass one for each of the 2 constraints"),
        (lambda: BalancedBatches(["a", "b"], 1), "group holds .*numpy.unique"),
        (lambda: BalancedBatches(torch.tensor([0, -1]), 1), "group holds"),
        (lambda: BalancedBatches(torch.tensor([0.0, 0.5]), 1), "group holds"),
    ],
)
def test_constructors_refuse_what_they_cannot_use(make: Callable[[], Any], said: str) -> None:
    with pytest.raises((ConfigError, DataError), match=said):
        make()


def test_numbers_of_numpy_are_numbers() -> None:
    assert len(Multipliers(np.int64(2)).names) == 2
    assert Multipliers(2, equality=np.array([True, False])).equality.tolist() == [1, 0]
    assert len(BalancedBatches(np.array([0, 1, 1]), np.int64(1))) == 2


def test_copies_of_idca_follow_no_optimiser() -> None:
    idca = StochasticIDCA(mlp(), gap(), inner_steps=5)
    idca.follow(torch.optim.SGD(idca.trained, 0.1))
    X, group, y = table()
    with pytest.raises(ConfigError, match=r"call follow\(optimiser\) first"):
        copy.deepcopy(idca).backward(X, group, loss=lambda scores: bce(scores, y))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"loss": lambda loss: loss.expand(3)}, r"the loss has shape \(3,\)"),
        ({"loss": torch.Tensor.detach}, "numbers as the loss without a graph"),
        ({"loss": lambda loss: 0.0}, "numbers as the loss without a graph"),
        ({"values": list}, "of type list"),
        ({"values": torch.Tensor.detach}, "constraint values without a graph"),
    ],
)
def test_directions_refuse_what_has_no_derivative(wrong: dict[str, Callable[[Tensor], Any]], said: str) -> None:
    loop, spoilt = Loop("alm"), {"loss": lambda loss: loss, "values": lambda values: values} | wrong
    loss, values = loop.parts(batch_of(0))
    with pytest.raises(DataError, match=said):
        StochasticGhost(loop.network.parameters(), 0.05).full_backward(spoilt["loss"](loss), spoilt["values"](values))
    if "loss" in wrong:
        X, group, y = table()
        idca = StochasticIDCA(loop.network, gap(), inner_steps=5)
        idca.follow(torch.optim.SGD(idca.trained, 0.1))
        with pytest.raises(DataError, match="step 0: .*" + said):
            idca.backward(X, group, loss=lambda scores: wrong["loss"](bce(scores, y)))


def test_directions_refuse_networks_that_they_cannot_train() -> None:
    with pytest.raises(ConfigError, match=r"pass network\.parameters\(\)"):
        StochasticGhost(mlp())
    idca = StochasticIDCA(torch.nn.Linear(5, 2), gap(), inner_steps=5)
    idca.follow(torch.optim.SGD(idca.trained, 0.1))
    X, group, y = table()
    with pytest.raises(DataError, match="scores has 1024 rows"):
        idca.backward(X, group, loss=lambda scores: bce(scores, y))
    with pytest.raises(ConfigError, match=r"inner_steps is 2\.5; use a whole number"):
        StochasticIDCA(mlp(), gap(), inner_steps=2.5)


# --- loops that work --------------------------------------------------------------------------------------------------


def test_parts_of_a_network_may_have_optimisers_of_their_own() -> None:
    """Multipliers follow one of them; the steps are those of one optimiser with all parameters."""
    ends = []
    for parts in (1, 2):
        loop = Loop("ascent")
        layers = [loop.network] if parts == 1 else [loop.network[0], loop.network[2]]
        optimisers = [torch.optim.SGD(layer.parameters(), 0.1) for layer in layers]
        lagrangian = Lagrangian(Multipliers(2, Ascent(dual_step=0.2)).follow(optimisers[0]))
        for k in range(10):
            total = lagrangian(*loop.parts(batch_of(k)))
            loop.network.zero_grad()
            total.backward()
            for optimiser in optimisers:
                optimiser.step()
        assert lagrangian.multipliers.steps == 10
        ends.append(loop.vector)
    assert torch.equal(*ends)


def test_an_accumulation_may_end_with_fewer_micro_batches() -> None:
    loop = Loop("ascent", penalty=0.0)
    for k in range(8):
        (loop.scalar(batch_of(k)) / 3).backward()
        if k % 3 == 2 or k == 7:
            with torch.no_grad():
                last = torch.stack([loop.parts(batch_of(j))[1] for j in range(k - k % 3, k + 1)]).mean(dim=0)
            loop.optimiser.step()
            loop.optimiser.zero_grad()
            assert list(loop.multipliers.named_values().values()) == pytest.approx(last.tolist(), abs=1e-6)
    assert loop.multipliers.steps == 3


def test_a_run_that_stops_within_an_accumulation_goes_on_from_its_last_step() -> None:
    """Gradients are in no checkpoint, nor are the values that belong to them."""
    loop, fresh = Loop("ssl_alm").run(2), Loop("ssl_alm")
    loop.optimiser.zero_grad()
    loop.scalar(batch_of(7)).backward()
    for name in ("network", "optimiser", "multipliers"):
        getattr(fresh, name).load_state_dict(copy.deepcopy(getattr(loop, name).state_dict()))
    loop.multipliers.load_state_dict(loop.multipliers.state_dict())  # forgets the micro-batch, too
    assert torch.equal(loop.run(2, first=2).vector, fresh.run(2, first=2).vector)
    assert torch.equal(loop.duals, fresh.duals)


def test_two_lagrangians_may_share_an_optimiser() -> None:
    """Their steps are those of one with the constraints of both."""
    ends, losses = [], BatchConstraint(2, "loss_parity", kappa=0.001)
    X, group, y = table()
    for together in (False, True):
        loop = Loop("ascent")
        families = {"parity": 2, "loss": 2} if together else 2
        lagrangian = Lagrangian(Multipliers(families, Ascent(dual_step=0.2)).follow(loop.optimiser))
        for _ in range(20):
            scores = loop.network(X)[:, 0]
            loss, values, gaps = bce(scores, y), 1 + loop.gap(scores, group), losses(scores, group, y)
            loop.optimiser.zero_grad()
            if together:
                total = lagrangian(loss, {"parity": values, "loss": gaps})
            else:
                total = loop.lagrangian(lagrangian(loss, gaps), values)
            total.backward()
            loop.optimiser.step()
        assert lagrangian.multipliers.steps == 20
        ends.append(loop.vector)
    torch.testing.assert_close(*ends, rtol=1e-4, atol=1e-6)


def test_a_last_batch_of_one_row_says_nothing_of_the_constraint() -> None:
    loop = Loop("ascent")
    X, group, y = table()
    scores = loop.network(X[:1]).squeeze()
    loop.lagrangian(bce(scores, y[0]), loop.gap(scores, group[:1])).backward()
    loop.optimiser.step()
    assert loop.multipliers.steps == 1 and not any(loop.multipliers.named_multipliers().values())
