"""Models as points: quality against unfairness, with bars over seeds, lines, and published points beside ours."""

from reproduction.exhibits import auc_points, fairness_points, regression_numbers, regression_points
from reproduction.exhibits.exhibit import Kind

KIND = {
    "fairness": Kind.of(
        fairness_points.FairnessPoints, fairness_points.COLUMNS, fairness_points.lines,
        draw=fairness_points.draw,
    ),
    "auc_gap": Kind.of(auc_points.AUCPoints, auc_points.COLUMNS, auc_points.lines, draw=auc_points.draw),
    "risk": Kind.of(
        regression_points.RegressionPoints, regression_points.COLUMNS, regression_points.lines,
        draw=regression_points.draw, reproduce=regression_numbers.reproduce, refuse=regression_numbers.refuse,
    ),
}  # fmt: skip
"""By source: accuracy against 1 - violation, AUC against its gap, risk against the distance of distributions."""
