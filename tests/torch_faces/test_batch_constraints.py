"""Constraints on batches: the values and derivatives of the linear solvers', and a network trained under them."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from partialfair import plugins  # noqa: E402
from partialfair.audit import audit_scores  # noqa: E402
from partialfair.errors import ConfigError, DataError, PluginError  # noqa: E402
from partialfair.torch import Ascent, BatchConstraint, Lagrangian, Multipliers  # noqa: E402

FAMILIES = (
    "partial_statistical_parity", "partial_demographic_parity", "partial_equal_opportunity", "partial_equalized_odds",
)  # fmt: skip


def batch(n: int = 300, groups: int = 3) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    group = random.integers(0, groups, n)
    group[: 2 * groups] = np.repeat(np.arange(groups), 2)
    y = np.where(random.random(n) < 0.4, 1.0, -1.0)
    y[: 2 * groups] = np.tile([-1.0, 1.0], groups)
    return random.normal(size=n) + 0.5 * group, group, y


@pytest.fixture(autouse=True)
def double() -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize(
    "wrong", [{"width": float("inf")}, {"width": "a"}, {"kappa": "a"}, {"kappa": float("nan")}, {"kappa": True}]
)
def test_settings_that_are_no_finite_numbers_are_refused(wrong: dict[str, Any]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(ConfigError, match=f"{name} is {value!r}; use a"):
        BatchConstraint(2, **wrong)


@pytest.mark.parametrize("constraint", [*FAMILIES, "loss_parity"])
def test_shares_are_counted_in_single_precision_whatever_the_network_computes_in(constraint: str) -> None:
    scores, group, y = (torch.as_tensor(part) for part in batch())
    module = BatchConstraint(3, constraint, kappa=0.05).float()
    half = scores.to(torch.bfloat16)
    expected = module(half.float(), group, y)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(module(half, group, y), expected, rtol=0, atol=0)
        torch.testing.assert_close(module(half.float(), group, y), expected, rtol=0, atol=0)


@pytest.mark.parametrize("constraint", FAMILIES)
@pytest.mark.parametrize("groups", [2, 3])
def test_values_and_derivatives_are_those_of_the_linear_solvers(constraint: str, groups: int) -> None:
    scores, group, y = batch(groups=groups)
    options = {"interval": [(0.1, 0.6)], "kappa": 0.1, "grid": 4}
    program = plugins.load("constraints", constraint).build(group.astype(np.int16), y, **options)
    module = BatchConstraint(groups, constraint, **options)
    assert len(set(module.labels)) == len(module.labels) == len(program.labels)
    assert all(
        label.endswith(theirs.removeprefix("...")) for label, theirs in zip(module.labels, program.labels, strict=True)
    )
    assert np.allclose(module.thetas.detach().numpy(), program.start)
    aux = np.random.default_rng(1).normal(size=program.start.size)
    with torch.no_grad():
        module.thetas.copy_(torch.as_tensor(aux))
    leaf = torch.tensor(scores, requires_grad=True)
    values = module(leaf, torch.as_tensor(group), torch.as_tensor(y))
    np.testing.assert_allclose(values.detach().numpy(), program.values(scores, aux), atol=1e-13)
    weights = np.random.default_rng(2).random(program.n_constraints)
    (values * torch.as_tensor(weights)).sum().backward()
    by_score, by_aux = program.vjp(scores, aux, weights)
    np.testing.assert_allclose(leaf.grad.numpy(), by_score, atol=1e-13)
    if aux.size:
        np.testing.assert_allclose(module.thetas.grad.numpy(), by_aux, atol=1e-13)


@pytest.mark.parametrize("constraint", ["loss_parity", "loss_equal_opportunity", "loss_equalized_odds"])
def test_gaps_of_losses_are_those_of_the_stochastic_methods(constraint: str) -> None:
    scores, group, y = batch()
    program = plugins.load("constraints", constraint).build(group.astype(np.int16), y, interval=[(0, 1)], kappa=0.05)
    module = BatchConstraint(3, constraint, kappa=0.05)
    leaf = torch.tensor(scores, requires_grad=True)
    values = module(leaf, torch.as_tensor(group), torch.as_tensor(y))
    parts = program.parts(scores, np.zeros(0))
    np.testing.assert_allclose(values.detach().numpy(), parts.values, atol=1e-13)
    weights = np.random.default_rng(2).random(len(module.labels))
    (values * torch.as_tensor(weights)).sum().backward()
    by_score = parts.pull_back(weights, -weights)[0]
    np.testing.assert_allclose(leaf.grad.numpy(), by_score, atol=1e-13)
    with pytest.raises(DataError, match="pass the labels y"):
        module(leaf, torch.as_tensor(group))


def test_a_narrow_width_is_the_difference_of_rates() -> None:
    scores, group, y = batch(groups=2)
    module = BatchConstraint(2, "partial_demographic_parity", kappa=0.05, width=1e-9)
    values = module(torch.as_tensor(scores), torch.as_tensor(group)).numpy()
    rates = [np.mean(scores[group == k] > 0) for k in (0, 1)]
    assert values.max() == pytest.approx(abs(rates[0] - rates[1]) - 0.05, abs=1e-6)


def test_a_batch_without_a_group_says_nothing_of_it() -> None:
    scores, group, _ = batch()
    module = BatchConstraint(3, "partial_demographic_parity", kappa=0.01)
    rows = group < 2
    values = module(torch.as_tensor(scores[rows]), torch.as_tensor(group[rows]))
    with_third = torch.tensor(["group 2" in label for label in module.labels])
    assert with_third.sum() == 4 and (values[with_third] == 0).all() and values.max() > 0


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_signed_gaps_are_the_middle_of_opposite_constraints(family: str, groups: int) -> None:
    """One bound on every pair of groups (or, of pSP, on every share), from above and from below."""
    scores, group, y = (torch.as_tensor(part) for part in batch(groups=groups))
    module = BatchConstraint(groups, family, kappa=0.08, interval=[(0.1, 0.6)], kappa_scale="absolute", grid=3)
    values, signed = module(scores, group, y), module.signed(scores, group, y)
    assert len(signed) == len(module.slack) == len(values) // 2
    both = torch.cat([signed - module.slack, -signed - module.slack])
    torch.testing.assert_close(both.sort().values, values.sort().values, rtol=0, atol=1e-12)
    assert (module.slack - (0.04 if module.thetas.numel() else 0.08)).abs().max() < 1e-12


def test_signed_gaps_of_losses_are_differences_of_losses() -> None:
    scores, group, y = (torch.as_tensor(part) for part in batch(groups=2))
    losses = torch.nn.functional.softplus(-y * scores)
    difference = losses[group == 0].mean() - losses[group == 1].mean()
    module = BatchConstraint(2, "loss_parity", kappa=0.05)
    torch.testing.assert_close(module.signed(scores, group, y), difference[None])


def test_constraints_without_an_opposite_have_no_signed_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    module = BatchConstraint(2, "partial_demographic_parity")
    monkeypatch.setattr(module, "constant", module.constant[:, :, :0].sum(dim=2, keepdim=True) + 1.0)
    monkeypatch.setattr(module, "weight", torch.cat([module.weight[:1] * 2, module.weight[1:]]))
    scores, group, _ = batch(groups=2)
    with pytest.raises(ConfigError, match="no pairs of opposite bounds"):
        module.signed(torch.as_tensor(scores), torch.as_tensor(group))


def test_a_network_learns_under_the_constraint() -> None:
    torch.manual_seed(0)
    random = np.random.default_rng(3)
    group = random.integers(0, 2, 1500)
    X = random.normal(size=(1500, 4))
    X[:, 0] += 1.5 * group
    y = np.where(random.random(1500) < 1 / (1 + np.exp(-X[:, 0] - X[:, 1])), 1.0, -1.0)
    gaps = {}
    for kappa in (None, 0.05):
        torch.manual_seed(0)
        network = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
        constraint = BatchConstraint(2, interval=[(0.0, 0.5)], kappa=kappa or 1.0, kappa_scale="absolute", grid=5)
        optimiser = torch.optim.Adam([*network.parameters(), *constraint.parameters()], 0.01)
        rule = Ascent(dual_step=1.0, penalty=10.0) if kappa else Ascent(dual_step=0.0, penalty=0.0)
        lagrangian = Lagrangian(Multipliers(constraint.labels, rule).follow(optimiser))
        rows = torch.as_tensor(np.column_stack([X, group]))
        codes, labels = torch.as_tensor(group), torch.as_tensor(y)
        for _ in range(250):
            chosen = torch.randint(0, 1500, (256,))
            scores = network(rows[chosen]).squeeze(1)
            loss = torch.nn.functional.softplus(-labels[chosen] * scores).mean()
            values = constraint(scores, codes[chosen])
            optimiser.zero_grad()
            lagrangian(loss, values).backward()
            optimiser.step()
        scores = network(rows).squeeze(1).detach().numpy()
        gaps[kappa] = audit_scores(scores, group, y, interval=[(0.0, 0.5)]).metric("rank_gap")
    assert gaps[None] > 0.35 and gaps[0.05] < 0.15


def test_what_cannot_be_used_is_refused() -> None:
    scores, group, y = (torch.as_tensor(part) for part in batch(groups=2))
    with pytest.raises(PluginError, match="did you mean 'partial_demographic_parity'"):
        BatchConstraint(2, "partial_demografic_parity")
    with pytest.raises(ConfigError, match="compares no mean shares or losses of groups"):
        BatchConstraint(2, "auc_gap_group")
    for groups in (0, 1, 2.0, "2", True):
        with pytest.raises(ConfigError, match="n_groups is .*use a whole number of groups, at least 2"):
            BatchConstraint(groups)
    with pytest.raises(ConfigError, match="width is 0"):
        BatchConstraint(2, width=0)
    module = BatchConstraint(2, "partial_equal_opportunity")
    with pytest.raises(DataError, match="pass the labels y"):
        module(scores, group)
    with pytest.raises(DataError, match="300 rows"):
        module(scores, group[:5], y)
    with pytest.raises(DataError, match=r"0\.\.1"):
        module(scores, group + 1, y)


@pytest.mark.parametrize(
    ("group", "y", "words"),
    [
        ([0.0, 1.0, float("nan"), 1.0], None, "group holds numbers that are not whole or NaN"),
        ([0.0, 1.0, 0.5, 1.0], None, "group holds numbers that are not whole or NaN"),
        ([0, 1, 0, 1], [1.0, 0.0, float("nan"), 1.0], "y holds NaN, which is no label"),
        ([0, 1, -1, 1], None, "group codes must lie in 0..1"),
    ],
)
def test_a_row_without_a_group_or_label_is_refused(group: list, y: list | None, words: str) -> None:
    family = "partial_demographic_parity" if y is None else "partial_equal_opportunity"
    labels = None if y is None else torch.tensor(y)
    with pytest.raises(DataError, match=words):
        BatchConstraint(2, family)(torch.arange(4.0), torch.tensor(group), labels)


def test_whole_numbers_of_any_type_are_codes() -> None:
    found = [BatchConstraint(2)(torch.arange(4.0), torch.tensor([0, 1, 0, 1]).to(kind)) for kind in (int, float, bool)]
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])
