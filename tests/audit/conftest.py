"""A scored sample in which groups differ, and the same as a file."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


def make(n: int = 4000, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    sex = random.choice(["F", "M"], n)
    race = random.choice(["A", "B", "C"], n, p=[0.6, 0.396, 0.004])
    score = random.normal(size=n) + 0.5 * (sex == "M") - 0.2 * (race == "B")
    label = (random.random(n) < 1 / (1 + np.exp(-score + 0.8))).astype(int)
    return pd.DataFrame({"s": score - 0.8, "sex": sex, "race": race, "y": label})


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    return make()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Write a text as a file and return its path."""

    def to(text: str, name: str = "scores.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return to


@pytest.fixture
def csv(frame: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    frame.to_csv(path, index=False)
    return path
