"""Columns of the tidy tables of an experiment: metrics.parquet and runs.parquet."""

USABLE = ("ok", "tolerance missed", "not stationary")
"""Statuses of runs whose model can be evaluated; the others have none, or one that says nothing."""

METRIC_COLUMNS = {
    "experiment": str,
    "dataset": str,
    "algorithm": str,
    "constraint": str,
    "interval": str,
    "kappa": float,
    "seed": int,
    "split": str,
    "metric": str,
    "value": float,
    "ci_low": float,
    "ci_high": float,
    "status": str,
    "reason": str,
}
RUN_COLUMNS = {
    "experiment": str,
    "dataset": str,
    "algorithm": str,
    "constraint": str,
    "interval": str,
    "kappa": float,
    "kappa_scale": str,
    "grid": int,
    "seed": int,
    "status": str,
    "reason": str,
    "selected": str,
    "objective": float,
    "max_violation": float,
    "kkt_residual": float,
    "wall_seconds": float,
    "cpu_seconds": float,
    "peak_memory_mib": float,
    "device": str,
    "threads": int,
    "git_revision": str,
    "closure_hash": str,
    "true_violation": float,
    "versions": str,
    "table_sha256": str,
    "metric": str,  # that the constraint bounds, and its value on the training rows
    "train_violation": float,
    "accepted": float,  # value of the smoothed constraints that the method counts as met
    "gradient_mapping": float,  # certificates of different kinds share no column; kkt_residual is the first
    "duality_gap": float,
    "kkt_residual_absolute": float,  # kkt_residual is relative to the loss's gradient at the start; this is a norm
}
ABSOLUTE = "an absolute norm"
"""Unit of a certificate that is relative to nothing."""
CERTIFICATES = {
    "kkt_residual": "KKT residual",  # relative
    "kkt_residual_absolute": "KKT residual, absolute",
    "gradient_mapping": "gradient mapping",
    "duality_gap": "duality gap",
}
"""Columns of certificates with their titles; a run has at most one of them."""
REPEAT_SD, REPEAT_MEAN = "_repeat_sd", "_repeat_mean"
"""Endings of the metrics that are standard deviation and mean over repeats of one fit on other drawn rows."""


def at_share(share: float) -> str:
    """Return the ending of the metrics of the model that a run would have returned after a share of its work."""
    return f"_at_{share:g}_of_the_work"
