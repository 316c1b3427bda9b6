"""What the classifiers of two classes share."""

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin


class BinaryClassifier(ClassifierMixin):  # type: ignore[misc]
    """A classifier of two classes that may need groups at prediction; features may be sparse."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, sensitive_features: Any = None) -> float:
        """Share of rows whose predicted class is ``y``."""
        from sklearn.metrics import accuracy_score

        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))
