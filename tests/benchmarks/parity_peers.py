"""error-parity and OxonFair on the splits of :mod:`tests.benchmarks.bench_tight_parity`, with the group.

Both choose thresholds per group over the logistic regression that ThresholdOptimizer has there. They are no
dependencies of this project, whose locked environment they would change. Install them elsewhere, and name the folder::

    pip install --target PEERS error-parity oxonfair
    python -m tests.benchmarks.parity_peers PEERS

Every fit is a row of ``reports/parity_peers.csv``; those that are there are not fitted again.
"""

import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from tests.benchmarks.bench_tight_parity import FIRST_SEED, Halves
from tests.benchmarks.common import seconds
from tests.benchmarks.kept import Kept
from tests.benchmarks.parity_cells import BOUNDS, COLUMNS, ERROR_PARITY, KEYS, OXONFAIR, PEERS_FILE, SPLITS
from tests.benchmarks.tables import WHOLE

Vector = NDArray[np.float64]
Decide = Callable[[Any], Vector]


def error_parity(model: Any, rows: Any, bound: float) -> Decide:
    """Randomised thresholds on the groups' ROC curves, by a linear programme; expected decisions."""
    from error_parity import RelaxedThresholdOptimizer

    method = RelaxedThresholdOptimizer(
        predictor=lambda X: model.predict_proba(X)[:, 1], constraint="demographic_parity", tolerance=bound
    )
    method.fit(X=rows.X, y=rows.y, group=rows.group)

    def decide(part: Any) -> Vector:
        decisions = np.zeros(len(part.y))
        for code, classifier in method._realized_classifier.group_to_clf.items():
            member = part.group == code
            decisions[member] = expected(classifier, part.X[member])
        return decisions

    return decide


def expected(classifier: Any, X: Vector) -> Vector:
    """Probabilities (n,) of a positive decision, of a classifier that draws lots."""
    if hasattr(classifier, "probabilities"):
        pairs = zip(classifier.probabilities, classifier.classifiers, strict=True)
        return np.asarray(sum(share * expected(part, X) for share, part in pairs))
    if hasattr(classifier, "target_fpr"):  # on the diagonal of the ROC curve, whatever the row
        return np.full(len(X), float(classifier.target_fpr))
    return np.asarray(classifier(X), np.float64)


def oxonfair(model: Any, rows: Any, bound: float) -> Decide:
    """One threshold per group, by search on a grid: the most accurate ones within the bound."""
    import oxonfair
    from oxonfair import group_metrics

    method = oxonfair.FairPredictor(model, oxonfair.DataDict(rows.y, rows.X, rows.group))
    method.fit(group_metrics.accuracy, group_metrics.demographic_parity, bound)
    return lambda part: np.asarray(method.predict(oxonfair.DataDict(part.y, part.X, part.group)), np.float64)


PEERS = {ERROR_PARITY: error_parity, OXONFAIR: oxonfair}


def measure(kept: Kept) -> None:
    """Fit what is not in the file, one split after the other; seconds are with those of the logistic regression."""
    for split in range(SPLITS):
        for name in WHOLE:
            wanted = [(name, "aware", split, method, bound) for method in PEERS for bound in BOUNDS]
            if not (missing := kept.missing(wanted)):
                continue
            halves = Halves.of(WHOLE[name](), FIRST_SEED + split, aware=True)
            train, test = halves.train_rows, halves.test_rows
            model = LogisticRegression(solver="newton-cholesky", max_iter=1000)
            spent_on_model, _ = seconds(partial(model.fit, train.X, train.y))
            for key in missing:
                fit, bound = PEERS[str(key[3])], float(key[4])
                spent, decide = seconds(partial(fit, model, train, bound))
                kept.add(
                    dict(zip(KEYS, key, strict=True))
                    | {"accuracy": test.accuracy(decide(test)), "gap": test.gap(decide(test))}
                    | {"train_gap": train.gap(decide(train)), "seconds": spent_on_model + spent}
                )


if __name__ == "__main__":
    sys.path.append(str(Path(sys.argv[1]).resolve()))  # behind the locked packages, which stay as they are
    warnings.simplefilter("ignore")
    measure(Kept(PEERS_FILE, COLUMNS, KEYS))
