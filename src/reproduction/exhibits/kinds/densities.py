"""Densities of scores, probabilities or predictions by group."""

from reproduction.exhibits import prediction_densities, score_densities
from reproduction.exhibits.exhibit import ExhibitKind

KIND = {
    "scores": ExhibitKind.from_lines(
        score_densities.ScoreDensities, score_densities.COLUMNS, score_densities.csv_lines,
        draw=score_densities.draw,
    ),
    "probabilities": ExhibitKind.from_lines(
        score_densities.ProbabilityDensities, score_densities.PROBABILITY_COLUMNS, score_densities.probability_lines,
        draw=score_densities.draw_probabilities,
    ),
    "predictions": ExhibitKind.from_lines(
        prediction_densities.PredictionDensities, prediction_densities.COLUMNS, prediction_densities.csv_lines,
        draw=prediction_densities.draw,
    ),
}  # fmt: skip
"""By source: test scores of one seed, probabilities of all runs together, predictions of regressions."""
