"""The papers whose results this project reproduces, by the name that experiments give them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """How a paper is called on the page."""

    title: str
    year: str = ""


PAPERS: Mapping[str, Paper] = {
    "partial_fairness": Paper(
        "Enforcing Fair Predicted Scores on Intervals of Percentiles by Difference-of-Convex Constraints", "2026"
    ),
    "auc_fairness": Paper("Stochastic Methods for AUC Optimization subject to AUC-based Fairness Constraints", "2023"),
    "plada": Paper(
        "A Modified Proximal-Perturbed Lagrangian for Non-Convex Non-Smooth Representatives of Fairness Constraints"
    ),
    "stochastic_benchmark": Paper(
        "Benchmarking Stochastic Approximation Algorithms for Fairness-Constrained Training of Deep Neural Networks"
    ),
    "dp_postprocessing": Paper("Regression under demographic parity constraints via unlabeled post-processing", "2024"),
}


def paper(name: str) -> Paper:
    """Return a paper; one that is not listed is called by its name."""
    return PAPERS.get(name, Paper(name.replace("_", " ")))
