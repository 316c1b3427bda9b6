"""The primal objective of demographic-parity post-processing, which optima of the dual are compared with."""

import numpy as np

from partialfair.algorithms.regression.fair_dual import Dual


def regularised_risk(dual: Dual, difference: np.ndarray) -> float:
    """Risk plus entropy over beta of the predictor of D."""
    pi = dual.probabilities(difference)
    entropy = np.where(pi > 0, pi * np.log(np.where(pi > 0, pi, 1.0)), 0.0).sum(axis=1)
    return float(((pi * dual.r).sum(axis=1) + entropy / dual.beta).mean())
