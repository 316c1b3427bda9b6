"""Models as points: quality against unfairness, with bars over seeds, lines, and published points beside ours."""

from reproduction.exhibits import auc_points, fairness_points, regression_numbers, regression_points
from reproduction.exhibits.exhibit import ExhibitKind

FROM_TABLES = ("fairness", "risk")
KIND = {
    "fairness": ExhibitKind.from_lines(
        fairness_points.FairnessPoints, fairness_points.COLUMNS, fairness_points.csv_lines,
        draw=fairness_points.draw,
    ),
    "auc_gap": ExhibitKind.from_lines(
        auc_points.AUCPoints, auc_points.COLUMNS, auc_points.csv_lines, draw=auc_points.draw,
    ),
    "risk": ExhibitKind.from_lines(
        regression_points.RegressionPoints, regression_points.COLUMNS, regression_points.csv_lines,
        draw=regression_points.draw, reproduce=regression_numbers.reproduce, refuse=regression_numbers.refuse,
    ),
}  # fmt: skip
"""By source: accuracy against 1 - violation, AUC against its gap, risk against the distance of distributions."""
