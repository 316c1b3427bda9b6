"""Results planted on a common frontier, and claims about them."""

import math

import numpy as np
import pandas as pd
import synthetic

from reproduction.exhibits.exhibit import Context
from reproduction.verdicts import claim_tests
from reproduction.verdicts.claim import Claim
from reproduction.verdicts.results import Results
from tests.workflow.project import ROOT

SEEDS = range(5)
BASELINES = ["group_auc", "inter_group"]
TOLERANCE = {"accuracy": 0.01, "fairness": {"default": 0.05}}


def accuracy(fairness):
    """Accuracy along a common frontier, from the unconstrained model at a fairness of .6 on."""
    return 0.85 - 0.1 * (fairness - 0.6)


def context(config, shift=lambda job, fairness: 0.0, kept=lambda job: True, noise=1e-4, start=0.6, **options):
    """Results on the common frontier, shifted by ``shift``; jobs that are not ``kept`` failed.

    The unconstrained model has the fairness ``start``, and the accuracy of the frontier at .6.
    """
    rng, rows = np.random.default_rng(1), []
    for job in config.jobs():
        kappas = synthetic.KAPPAS[job.dataset]
        fairness = start if math.isinf(job.kappa) else 0.65 + 0.06 * kappas.index(job.kappa)
        # The unconstrained model of a seed is one and the same everywhere.
        jitter = noise * (np.random.default_rng(job.seed) if math.isinf(job.kappa) else rng).normal()
        right = (
            accuracy(0.6 if math.isinf(job.kappa) else fairness)
            + jitter
            + (0 if math.isinf(job.kappa) else shift(job, fairness))
        )
        key = {"experiment": job.experiment, "dataset": job.dataset, "algorithm": job.algorithm}
        key |= {"kappa": job.kappa, "seed": job.seed, "split": "test"}
        good = kept(job)
        for metric, value in {
            "accuracy": right, "rank_gap": 1 - fairness, "dp_gap": 1 - fairness, "sp": 0.9, "dp": 0.9,
        }.items():  # fmt: skip
            ending = {"status": "ok", "reason": None} if good else {"status": "failed", "reason": "it diverged"}
            rows.append(key | ending | {"metric": metric, "value": value if good else math.nan})
    results = Results(pd.DataFrame(rows), pd.DataFrame())
    return Context(config, "claims", {"tolerance": TOLERANCE, "title": "Claims"} | options, results, ROOT, None)


def entry(test="better", **more):
    made = {
        "id": "x", "section": "7.2", "sentence": "It is better", "test": test, "method": "idca",
        "experiments": ["psp"], "metric": "accuracy",
    }  # fmt: skip
    if test in ("bound", "monotone", "rate") and "nulls" not in more:
        made["without_nulls"] = "planted"
    return Claim.model_validate(made | more)


def decided(context, *claims):
    """Lines of the scorecard, of which every claim has at least one."""
    found = list(claim_tests.lines(context, claims))
    assert len(found) >= len(claims) > 0
    return found


def words(context, *claims):
    """Verdicts, without repetition."""
    return {line.verdict for line in decided(context, *claims)}


def gain(by, **fields):
    """Accuracy that is larger by a number for jobs with these attributes."""
    return lambda job, _: by * all(getattr(job, name) == value for name, value in fields.items())
