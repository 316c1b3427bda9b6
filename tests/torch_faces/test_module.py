"""The scikit-learn face of a network under a constraint: skorch's classifier with groups."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from skorch.dataset import ValidSplit  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.functional import binary_cross_entropy_with_logits  # noqa: E402

from partialfair.errors import ConfigError, DataError  # noqa: E402
from partialfair.torch import (  # noqa: E402
    Ascent,
    BalancedBatches,
    BatchConstraint,
    Lagrangian,
    Multipliers,
    PartialFairModule,
    Slacks,
)

DEMOGRAPHIC: dict[str, Any] = {"constraint": "partial_demographic_parity", "kappa": 0.05}


class MLP(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, X: Any) -> Any:
        return self.layers(X)


class TwoInputs(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2, 1), nn.Linear(1, 1)

    def forward(self, left: Any, right: Any) -> Any:
        return (self.first(left) + self.second(right))[:, 0]


def rows(n: int = 1200, minority: float = 0.3) -> tuple[Any, Any, Any]:
    draw = np.random.default_rng(0)
    group = draw.random(n) < minority
    X = draw.normal(size=(n, 3))
    X[:, 0] += 1.5 * group
    y = np.where(X[:, 0] + X[:, 1] + draw.logistic(size=n) > 0.5, "yes", "no")
    return X, y, np.where(group, "b", "a")


def network(seed: int = 0, **settings: Any) -> PartialFairModule:
    torch.manual_seed(seed)
    usual: dict[str, Any] = {"optimizer": torch.optim.Adam, "lr": 0.02, "max_epochs": 20, "verbose": 0, **DEMOGRAPHIC}
    return PartialFairModule(MLP, **usual | settings)


def gap(net: Any, X: Any, group: Any) -> float:
    scores = net.decision_function(X)
    shares = [np.clip(scores[group == name] + 0.5, 0, 1).mean() for name in ("a", "b")]
    return abs(shares[0] - shares[1])


def test_it_keeps_the_constraint_where_a_plain_network_does_not() -> None:
    X, y, group = rows()
    free, fair = network(kappa=2.0), network(rule=Ascent(0.5))
    for net in (free, fair):
        net.fit(X, y, sensitive_features=group)
    assert gap(free, X, group) > 0.25 and gap(fair, X, group) < 0.08
    assert free.score(X, y) > fair.score(X, y) > 0.6
    assert set(fair.predict(X)) == {"yes", "no"} and list(fair.classes_) == ["no", "yes"]
    assert fair.predict_proba(X).shape == (len(X), 2)
    np.testing.assert_array_equal(fair.predict(X) == "yes", fair.decision_function(X) > 0)
    assert set(fair.lagrangian_.multipliers.named_values()) == set(fair.fairness_.labels)


def test_its_steps_are_those_of_a_loop_written_out() -> None:
    X, y, group = rows(300)
    net = network(max_epochs=3, batch_size=40).fit(X, y, sensitive_features=group)

    torch.manual_seed(0)
    module, constraint = MLP(), BatchConstraint(2, "partial_demographic_parity", kappa=0.05)
    optimiser = torch.optim.Adam(module.parameters(), 0.02)
    lagrangian = Lagrangian(Multipliers(constraint.labels).follow(optimiser))
    codes, inputs = torch.as_tensor(group == "b").long(), torch.as_tensor(X, dtype=torch.float32)
    labels = torch.as_tensor(y == "yes").float()
    batches = BalancedBatches(codes, 20)
    for epoch in range(3):
        batches.set_epoch(epoch + 1)
        for chosen in batches:
            scores = module(inputs[chosen])[:, 0]
            losses = binary_cross_entropy_with_logits(scores, labels[chosen], reduction="none")
            optimiser.zero_grad()
            loss = (batches.weights[codes[chosen]] * losses).mean()
            lagrangian(loss, constraint(scores, codes[chosen], labels[chosen])).backward()
            optimiser.step()
    wanted = module(inputs)[:, 0].detach().numpy()
    np.testing.assert_allclose(net.decision_function(X), wanted, atol=1e-6)
    np.testing.assert_allclose(net.lagrangian_.multipliers.dual, lagrangian.multipliers.dual, atol=1e-6)


def test_partial_fit_goes_on_where_fit_ended() -> None:
    X, y, group = rows(400)
    whole = network(max_epochs=6).fit(X, y, sensitive_features=group)
    parts = network(max_epochs=2)
    for _ in range(3):
        parts.partial_fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(whole.decision_function(X), parts.decision_function(X))
    assert whole.lagrangian_.multipliers.steps == parts.lagrangian_.multipliers.steps > 0


def test_rows_of_one_group_may_come_first_if_all_names_are_said() -> None:
    X, y, group = rows(400)
    first = group == "a"
    net = network(max_epochs=2)
    net.partial_fit(X[first], y[first], classes=["no", "yes"], sensitive_features=group[first], groups=["a", "b"])
    net.partial_fit(X, y, sensitive_features=group)
    assert net.groups_ == ("a", "b") and np.isfinite(net.decision_function(X)).all()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_a_copy_goes_on_like_the_original(copied: Any) -> None:
    X, y, group = rows(400)
    net = network(max_epochs=2).fit(X, y, sensitive_features=group)
    other = copied(net)
    before = other.lagrangian_.multipliers.steps
    for one in (net, other):
        one.partial_fit(X, y, sensitive_features=group)
    assert other.lagrangian_.multipliers.steps == net.lagrangian_.multipliers.steps == 2 * before
    np.testing.assert_array_equal(net.decision_function(X), other.decision_function(X))


def test_fit_begins_anew_and_warm_start_does_not() -> None:
    X, y, group = rows(300)
    again, warm = network(max_epochs=2), network(max_epochs=2, warm_start=True)
    for net in (again, warm):
        net.fit(X, y, sensitive_features=group)
        first = net.lagrangian_.multipliers.steps
        net.fit(X, y, sensitive_features=group)
        assert net.lagrangian_.multipliers.steps == (2 * first if net is warm else first)
    renamed = np.where(group == "a", "left", "right")
    again.fit(X, np.where(y == "yes", 1, 0), sensitive_features=renamed)
    assert again.groups_ == ("left", "right") and list(again.classes_) == [0, 1]


def test_scikit_learn_searches_and_validates_it() -> None:
    X, y, group = rows(300)
    net = network(max_epochs=2)
    search = GridSearchCV(net, {"kappa": [0.02, 0.5], "module__width": [4]}, cv=2)
    search.fit(X, y, sensitive_features=group)
    assert search.best_params_["module__width"] == 4 and search.best_estimator_.fairness_ is not None
    scores = cross_val_score(network(max_epochs=2), X, y, cv=2, params={"sensitive_features": group})
    assert np.isfinite(scores).all()
    copied = clone(network(rule=Slacks(penalty=3.0), kappa=0.3))
    assert copied.get_params()["kappa"] == 0.3 and copied.rule == Slacks(penalty=3.0)


def test_tables_columns_of_groups_and_networks_of_several_inputs() -> None:
    X, y, group = rows(300)
    frame, columns = pd.DataFrame(X, columns=list("pqr")), pd.DataFrame({"sex": group, "old": X[:, 2] > 0})
    net = network(max_epochs=2).fit(frame, pd.Series(y), sensitive_features=columns)
    assert len(net.groups_) == 4 and len(net.fairness_.labels) == 12
    np.testing.assert_array_equal(net.decision_function(frame), net.decision_function(X))
    torch.manual_seed(0)
    several = PartialFairModule(TwoInputs, max_epochs=2, verbose=0, **DEMOGRAPHIC)
    inputs = {"left": X[:, :2], "right": X[:, 2:]}
    several.fit(inputs, y, sensitive_features=group)
    assert several.predict(inputs).shape == (300,)


def test_the_log_shows_the_mean_loss_of_all_rows_and_validation_works() -> None:
    X, y, group = rows(2000, minority=0.1)
    net = network(max_epochs=30, kappa=2.0, train_split=ValidSplit(5, stratified=True)).fit(
        X, y, sensitive_features=group
    )
    wanted = log_loss(y, net.predict_proba(X))
    assert net.history[-1]["train_loss"] == pytest.approx(wanted, abs=0.05)
    assert net.history[-1]["valid_loss"] == pytest.approx(wanted, abs=0.05)
    assert 0.5 < net.history[-1]["valid_acc"] < 1


def test_thresholds_are_trained_and_stored_beside_the_network(tmp_path: Any) -> None:
    X, y, group = rows(300)
    net = network(constraint="partial_statistical_parity", interval=[(0.0, 0.5)], kappa=0.1, max_epochs=2)
    net.fit(X, y, sensitive_features=group)
    assert not torch.equal(net.fairness_.thetas, BatchConstraint(2, interval=[(0.0, 0.5)]).thetas)
    net.save_params(f_params=tmp_path / "net.pt", f_fairness=tmp_path / "thetas.pt")
    other = network(1, constraint="partial_statistical_parity", interval=[(0.0, 0.5)], kappa=0.1, max_epochs=0)
    other.fit(X, y, sensitive_features=group)
    other.load_params(f_params=tmp_path / "net.pt", f_fairness=tmp_path / "thetas.pt")
    np.testing.assert_array_equal(net.decision_function(X), other.decision_function(X))
    assert torch.equal(net.fairness_.thetas, other.fairness_.thetas)


def test_lbfgs_and_unbalanced_batches() -> None:
    X, y, group = rows(300)
    net = network(optimizer=torch.optim.LBFGS, lr=0.5, batch_size=-1, balanced=False, max_epochs=3)
    assert np.isfinite(net.fit(X, y, sensitive_features=group).decision_function(X)).all()
    assert net.lagrangian_.multipliers.steps == 3


@pytest.mark.parametrize(
    "change, text",
    [
        ({"sensitive_features": None}, "sensitive_features is missing; pass the group of every row"),
        ({"sensitive_features": np.repeat("a", 300)}, "all rows are of one group, 'a'"),
        ({"sensitive_features": np.repeat(["a", "b"], 10)}, "sensitive_features has 20 rows, y has 300"),
        ({"y": np.repeat("yes", 300)}, "y has 1 classes"),
        ({"y": np.repeat([0.0, 1.0, 2.0], 100)}, "y has 3 classes"),
        ({"y": np.repeat([0.0, 1.0, np.nan], 100)}, "y has no value in row 200"),
    ],
)
def test_rows_that_cannot_be_used_are_refused_before_anything_is_trained(change: Any, text: str) -> None:
    X, y, group = rows(300)
    given = {"y": y, "sensitive_features": group} | change
    net = network()
    with pytest.raises(DataError, match=text):
        net.fit(X, **given)
    assert not hasattr(net, "module_")


def test_later_rows_of_unknown_groups_or_labels_are_refused() -> None:
    X, y, group = rows(300)
    net = network(max_epochs=1).fit(X, y, sensitive_features=group)
    steps = net.lagrangian_.multipliers.steps
    with pytest.raises(DataError, match="'c'"):
        net.partial_fit(X, y, sensitive_features=np.where(group == "a", "a", "c"))
    with pytest.raises(DataError, match="perhaps"):
        net.partial_fit(X, np.where(y == "yes", "yes", "perhaps"), sensitive_features=group)
    assert net.lagrangian_.multipliers.steps == steps


def test_settings_of_the_constraint_are_checked() -> None:
    X, y, group = rows(300)
    with pytest.raises(ConfigError, match="kappa"):
        network(kappa=float("nan")).fit(X, y, sensitive_features=group)


def test_without_skorch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins
    import sys

    import partialfair.torch as face

    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "skorch":
            raise ModuleNotFoundError("No module named 'skorch'", name="skorch")
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "partialfair.torch.module")
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ConfigError, match=r"pip install 'partialfair\[torch\]'"):
        _ = face.PartialFairModule


def test_inputs_are_those_of_the_first_fit() -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(60, 3)), columns=["a", "b", "c"])
    y, groups = (X["a"] > 0).astype(int), ["f", "m"] * 30
    model = PartialFairModule(MLP, max_epochs=1, verbose=0).fit(X, y, sensitive_features=groups)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.decision_function(X), model.decision_function(X.to_numpy()[:, ::-1][:, ::-1]))
    with pytest.raises(DataError, match=r"X: the columns are c, b, a, and were a, b, c in the first fit"):
        model.predict(X[["c", "b", "a"]])
    with pytest.raises(DataError, match=r"X: two columns are called 'a'"):
        model.predict(X[["a", "b", "a"]])
    model.fit(X[["c", "b", "a"]], y, sensitive_features=groups)
    assert model.feature_names_in_.tolist() == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda X: X.mask(X > 2), "X: column 'a' has no value in row"),
        (lambda X: X.assign(b="text"), "X: column 'b': 'text' in row 0 is not a finite number"),
        (lambda X: np.where(X > 2, np.nan, X), r"X: row \d+ has a missing or infinite number"),
        (lambda X: np.ma.array(X, mask=X > 2), r"X: the value in row \d+ is masked"),
        (lambda X: sparse.csr_array(X.to_numpy()), r"X: a csr_array of SciPy is no array .* pass X.toarray\(\)"),
        (lambda X: X.to_numpy().astype(str), "X: values of type .* cannot be read as numbers"),
    ],
)
def test_inputs_that_are_no_numbers_are_refused(spoil: Any, told: str) -> None:
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    X.iloc[7, 0] = 5.0
    y, groups = (X["a"] > 0).astype(int), ["f", "m"] * 30
    fitted = PartialFairModule(MLP, max_epochs=1, verbose=0).fit(X, y, sensitive_features=groups)
    for call in (fitted.predict, lambda X: clone(fitted).fit(X, y, sensitive_features=groups)):
        with pytest.raises(DataError, match=told):
            call(spoil(X))


def test_labels_that_sort_in_two_ways_are_warned_of() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    model = PartialFairModule(MLP, max_epochs=1, verbose=0)
    with pytest.warns(UserWarning, match="'no' is the positive label, as it sorts behind 'Yes'"):
        model.fit(X, np.where(X[:, 0] > 0, "Yes", "no"), sensitive_features=["f", "m"] * 30)
