"""Batches with equally many rows of every group."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from partialfair.errors import ConfigError  # noqa: E402
from partialfair.torch import BalancedBatches  # noqa: E402


def codes() -> Any:
    return torch.as_tensor(np.random.default_rng(0).choice([0, 1, 3], size=500, p=[0.8, 0.15, 0.05]))


def test_every_batch_has_as_many_rows_of_each_group() -> None:
    group = codes()
    batches = list(BalancedBatches(group, 8))
    assert len(batches) == len(BalancedBatches(group, 8)) == int((group == 0).sum()) // 8
    for batch in batches:
        assert torch.bincount(group[batch], minlength=4).tolist() == [8, 8, 0, 8]


def test_rows_of_a_group_come_once_before_any_comes_again() -> None:
    group = codes()
    rows = torch.tensor([row for batch in BalancedBatches(group, 8) for row in batch])
    counts = torch.bincount(rows, minlength=500)
    for code in (0, 1, 3):
        of_group = counts[group == code]
        assert of_group.max() - of_group.min() <= 1
    assert counts[group == 0].max() == 1 and counts[group == 3].min() > 5


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    sampler = BalancedBatches(codes(), 8)
    first = list(sampler)
    assert first == list(sampler) == list(BalancedBatches(codes(), 8))
    sampler.set_epoch(1)
    assert first != list(sampler) and first != list(BalancedBatches(codes(), 8, seed=1))


def test_replicas_have_batches_of_their_own() -> None:
    group = codes()
    parts = [list(BalancedBatches(group, 8, replicas=2, rank=rank)) for rank in (0, 1)]
    whole = list(BalancedBatches(group, 8, batches=2 * len(parts[0])))
    assert len(parts[0]) == len(parts[1]) and [batch for pair in zip(*parts, strict=True) for batch in pair] == whole


def test_weights_make_the_mean_over_a_batch_that_over_all_rows() -> None:
    group, values = codes(), torch.randn(500, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    sampler = BalancedBatches(group, 10, batches=4000)
    means = [(sampler.weights[group[batch]] * values[batch]).mean() for batch in sampler]
    assert float(torch.stack(means).mean()) == pytest.approx(float(values.mean()), abs=0.01)
    assert float(sampler.weights.sum()) == pytest.approx(3)


def test_a_data_loader_takes_it() -> None:
    group = codes()
    loader = DataLoader(TensorDataset(group), batch_sampler=BalancedBatches(group, 4, batches=3))
    assert [batch[0].numel() for batch in loader] == [12, 12, 12]


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, "a"])
@pytest.mark.parametrize("name", ["per_group", "batches"])
def test_numbers_that_cannot_be_used_are_refused(name: str, wrong: Any) -> None:
    with pytest.raises(ConfigError, match=f"{name} is {wrong!r}; use a positive whole number"):
        BalancedBatches(codes(), **{"per_group": 4} | {name: wrong})
    with pytest.raises(ConfigError, match="rows is 0"):
        BalancedBatches(torch.zeros(0), 4)
