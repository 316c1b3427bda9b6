"""Values of runs by seed, and where the scorecard says that a line is a question of this project."""

from collections.abc import Mapping

from partialfair.verdicts.results import Results, Setting

SECTION = "a question of this project"


def by_seed(results: Results, setting: Setting, metric: str, split: str = "test") -> dict[int, float]:
    """Values of a metric by seed; seeds without a value are left out."""
    return {seed: value for seed, value in results.values(setting, metric, split).items() if value == value}


def differences(first: Mapping[int, float], second: Mapping[int, float]) -> list[float]:
    """``first - second`` of the seeds that both have."""
    return [first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())]
