"""Data on which groups differ in features and in base rate."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray


class Rows(NamedTuple):
    X: pd.DataFrame
    y: NDArray
    group: NDArray


def make(n: int = 1500, seed: int = 0, groups: tuple[str, ...] = ("F", "M")) -> Rows:
    random = np.random.default_rng(seed)
    code = random.integers(0, len(groups), n)
    age = random.normal(40 + 6 * code, 10)
    hours = random.normal(38 + 3 * code, 6)
    degree = (random.random(n) < 0.3).astype(float)
    logit = 0.06 * (age - 44) + 0.1 * (hours - 40) + degree + 0.5 * code - 1.2
    y = np.where(random.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no")
    return Rows(pd.DataFrame({"age": age, "hours": hours, "degree": degree}), y, np.array(groups)[code])


@pytest.fixture(scope="session")
def rows() -> Rows:
    return make()


@pytest.fixture(scope="session")
def make_rows() -> Callable[..., Rows]:
    return make
