"""Toy problem with known answers: ``F = ||theta - target||^2 / 2``, ``h = theta``, a box."""

from dataclasses import dataclass

import numpy as np

from papers.plada.algorithms.gap_problem import GapState


@dataclass(frozen=True, eq=False)
class Toy:
    target: np.ndarray
    eps: np.ndarray
    box: float = 5.0

    @property
    def size(self):
        return len(self.target)

    def state(self, theta):
        return GapState(theta, 0.5 * np.sum((theta - self.target[:, None]) ** 2, axis=0), theta.copy())

    def gradients(self, state):
        d, batch = state.theta.shape
        return state.theta - self.target[:, None], np.repeat(np.eye(d)[:, :, None], batch, axis=2)

    def combined(self, state, loss, gaps):
        return loss * (state.theta - self.target[:, None]) + gaps

    def project(self, theta):
        return np.clip(theta, -self.box, self.box)


def toy(target=2.0, eps=1.0):
    return Toy(np.atleast_1d(np.asarray(target, float)), np.atleast_1d(np.asarray(eps, float)))
