"""A deterministic toy problem with a known solution: ``(x - 1)^2 / 2`` subject to ``|x| <= .25``, from x = 1."""

import numpy as np

SLACK = 0.25
START = np.ones((1, 1))


class Toy:
    """What the stochastic methods ask of a problem; rows play no part. ``sign`` exchanges the two constraints."""

    n_constraints = 2
    pair_slack = SLACK

    def __init__(self, sign=1.0, slack=SLACK):
        self.sign, self.pair_slack = sign, slack

    def gradient(self, x, rows):
        return x - 1

    def constraints(self, x, rows):
        values = np.hstack([self.sign * x, -self.sign * x]) - self.pair_slack
        return values, lambda v: self.sign * (v[:, :1] - v[:, 1:])


def walk(method, steps, problem=None):
    """Points after every step, and the last state."""
    problem = problem or Toy()
    state, points = method.start(problem, START), []
    for k in range(steps):
        method.step(problem, None, state, k)
        points.append(float(state["x"][0, 0]))
    return points, state
