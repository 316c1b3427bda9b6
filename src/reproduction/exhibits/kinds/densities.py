"""Densities of scores, probabilities or predictions by group."""

from reproduction.exhibits import prediction_densities, score_densities
from reproduction.exhibits.exhibit import Kind

KIND = {
    "scores": Kind.of(
        score_densities.ScoreDensities, score_densities.COLUMNS, score_densities.lines,
        draw=score_densities.draw,
    ),
    "probabilities": Kind.of(
        score_densities.ProbabilityDensities, score_densities.PROBABILITY_COLUMNS, score_densities.probability_lines,
        draw=score_densities.draw_probabilities,
    ),
    "predictions": Kind.of(
        prediction_densities.PredictionDensities, prediction_densities.COLUMNS, prediction_densities.lines,
        draw=prediction_densities.draw,
    ),
}  # fmt: skip
"""By source: test scores of one seed, probabilities of all runs together, predictions of regressions."""
