"""Surrogates of the indicator and their splits."""

import numpy as np
import pytest
from scipy.special import expit

from partialfair.constraints.surrogates import SURROGATES, make, value
from partialfair.errors import ConfigError

X = np.linspace(-6, 6, 4001)
FORMULAS = {"clipped_linear": lambda x: np.clip(x + 0.5, 0, 1), "logistic": lambda x: expit(4 * x)}


def check_surrogate(surrogate, formula):
    """What every surrogate must do; used on the real ones and on a broken one."""
    s = surrogate.sharpness
    assert np.abs(value(surrogate, X) - formula(s * X)).max() < 1e-12
    assert np.abs(value(surrogate, X) + value(surrogate, -X) - 1).max() < 1e-12, "sigma(-x) is not 1 - sigma(x)"
    for part in (surrogate.upper, surrogate.lower):
        values, slopes = part(X)
        assert np.all(values >= -1e-15)
        assert np.all(np.diff(values, 2) >= -1e-12), "a part is not convex"
        assert np.all(slopes >= 0), "a part is not non-decreasing"
        inside = np.abs(X[1:-1, None] * s - (-0.5, 0.0, 0.5)).min(axis=1) > 0.01
        numeric = (values[2:] - values[:-2]) / (X[2:] - X[:-2])
        assert np.abs(numeric - slopes[1:-1])[inside].max() < 1e-4 * s**3
    assert np.diff(value(surrogate, np.array([-1e-6, 1e-6])))[0] / 2e-6 == pytest.approx(s, rel=1e-6)


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("name", SURROGATES)
def test_every_surrogate_is_a_difference_of_convex_functions(name, sharpness):
    check_surrogate(make({"name": name, "sharpness": sharpness}), FORMULAS[name])


def test_a_surrogate_without_a_convex_split_is_caught():
    class Broken(type(make("logistic"))):
        def upper(self, x):
            return self._sigma(x)

        def lower(self, x):
            return np.zeros_like(x), np.zeros_like(x)

    with pytest.raises(AssertionError, match="not convex"):
        check_surrogate(Broken(), FORMULAS["logistic"])


def test_the_stated_curvature_of_the_sigmoid_is_its_largest():
    s = 1.7
    second = np.diff(value(make({"name": "logistic", "sharpness": s}), X), 2) / (X[1] - X[0]) ** 2
    assert np.abs(second).max() == pytest.approx(8 * s**2 / (3 * np.sqrt(3)), rel=1e-4)


@pytest.mark.parametrize("name", SURROGATES)
def test_a_sharp_surrogate_is_the_indicator(name):
    away = X[np.abs(X) > 0.01]
    assert np.abs(value(make({"name": name, "sharpness": 1e4}), away) - (away > 0)).max() < 1e-8


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("logistc", "did you mean 'logistic'"),
        ({"name": "logistic", "sharpnes": 2}, "'sharpnes'.*did you mean 'sharpness'"),
        ({"name": "logistic", "sharpness": 0}, "sharpness of surrogate 'logistic' is 0"),
        ({"name": "logistic", "sharpness": "steep"}, "is 'steep'"),
    ],
)
def test_unusable_choices_are_refused(choice, words):
    with pytest.raises(ConfigError, match=words):
        make(choice)
