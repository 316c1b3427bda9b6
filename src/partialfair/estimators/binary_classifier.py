"""What the classifiers of two classes share."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin

from partialfair.estimators.inputs import same_rows
from partialfair.estimators.labels import known_labels
from partialfair.estimators.weights import row_weights


class BinaryClassifier(ClassifierMixin):  # type: ignore[misc]
    """Predictions from the scores of ``decision_function``, which may need groups; features may be sparse."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> NDArray[np.float64]:
        """Logistic function of the scores, (n, 2); the constraint can move it away from calibration."""
        positive = expit(self.decision_function(X, sensitive_features=sensitive_features))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Return the labels (n,): ``classes_[1]`` where the score is positive."""
        scores = self.decision_function(X, sensitive_features=sensitive_features)
        return np.asarray(self.classes_[(scores > 0).astype(int)])

    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, sensitive_features: Any = None) -> float:
        """Return the share of rows whose predicted class is ``y``.

        Raises:
            InputError: the rows of two arguments are in another order, by their indexes, or weights or labels that
                ``fit`` would refuse, or did not see.
        """
        same_rows(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        labels = self.classes_[known_labels(y, self.classes_)]
        correct = self.predict(X, sensitive_features=sensitive_features) == labels
        return float(np.average(correct, weights=row_weights(sample_weight, correct.size)))
