"""Labels that a person passes to a classifier: read, and of two classes."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from partialfair.data import column_entries, intake, lookalikes, missing_words
from partialfair.data.groups import text_of
from partialfair.estimators.inputs import InputError, value_errors


def plain_labels(y: Any) -> Any:
    """Labels as scikit-learn reads them: Python objects that all are numbers or truth values become an array of these.

    A column that once had missing values holds such objects, which scikit-learn takes for a target of unknown type.
    Anything else, ``None`` too, is returned as it is.

    Raises:
        InputError: a label is missing or no text, number or truth value, or two labels look alike.
    """
    if y is None:
        return y
    rows = isinstance(y, list | tuple) and any(isinstance(row, list | tuple) for row in y)
    with value_errors():
        entries, missing = column_entries.read(np.asarray(y) if rows else y, "y")
    if entries.ndim == 2 and entries.shape[1] == 1:
        entries, missing = np.asarray(entries)[:, 0], missing[:, 0]
    if entries.ndim != 1:
        return y  # scikit-learn says what is wrong with it
    if missing.any():
        raise InputError(
            f"y has {int(missing.sum())} missing labels of {missing.size}; drop these rows (the first is row "
            f"{int(missing.argmax())})"
        )
    kind = getattr(entries.dtype, "kind", "O")
    if kind in "biufc":  # complex numbers scikit-learn refuses in words of its own
        return y
    with value_errors():
        levels = intake.levels("y", entries, "y", missing_words.MISSING_WORDS["label"])
        missing_words.refuse_missing(levels.missing, "y", entries, "drop such rows, or write the label in another way")
        intake.check_labels(levels.values, "y")
    if kind == "T":  # variable texts of NumPy, which scikit-learn does not know
        return entries.astype(object)
    if {*map(type, levels.values)} == {Decimal}:
        return np.asarray(entries, np.float64)
    dtype = getattr(y, "dtype", None)
    if dtype is not None and not isinstance(dtype, np.dtype):  # of pandas, which converts its own types
        return y
    import pandas as pd

    plain = pd.Series(np.asarray(entries, object)).infer_objects().to_numpy()
    return plain if plain.dtype.kind in "biuf" else y


def weights_of_both(weights: NDArray[np.float64], positive: NDArray[np.bool_], classes: NDArray[Any]) -> None:
    """Refuse weights (n,) under which only one of the two classes counts.

    Raises:
        InputError: naming the class whose rows all have weight zero.
    """
    for label, rows in zip(classes.tolist(), (~positive, positive), strict=True):
        if not weights[rows].sum() > 0:
            raise InputError(
                f"all rows of class {label!r} have weight zero (sample_weight, class_weight); a classifier needs rows "
                "of two classes"
            )


def weights_of_groups(weights: NDArray[np.float64], codes: NDArray[Any], names: Sequence[str]) -> None:
    """Refuse weights (n,) under which nothing determines the coefficients of a group, by codes (n,).

    Raises:
        InputError: naming the group whose rows all have weight zero.
    """
    for code in np.flatnonzero(~(np.bincount(codes, weights, len(names)) > 0)).tolist():
        raise InputError(
            f"all rows of group {names[code]!r} have weight zero (sample_weight, class_weight), and its score has "
            "coefficients of its own; give the group weight, or use uses_group=False"
        )


def binary_labels(y: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the two labels (2,) in order, and which rows (n,) have the second; warn of texts that sort in two ways.

    Raises:
        InputError: fewer or more than two labels.
    """
    y = plain_labels(y)
    check_classification_targets(y)
    classes, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    if len(classes) < 2:
        which = f"one class, {classes[0]!s}" if len(classes) else "no rows"
        raise InputError(f"y has {which}; a classifier needs rows of two classes")
    if len(classes) > 2:
        raise InputError(
            f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y has "
            f"{len(classes)} classes; merge them into two"
        )
    intake.warn_of_order(classes.tolist(), stacklevel=4)
    return classes, codes == 1


def known_labels(y: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places (n,) of labels among the two of ``fit``; an equal number or text is the same label.

    Raises:
        InputError: a label that is none of them.
    """
    labels = column_or_1d(plain_labels(y), warn=True)
    if labels.dtype.kind in "biuf" and classes.dtype.kind in "biuf":
        labels, classes = labels + 0, classes + 0  # truth values are 0 and 1
    names = [text_of(label) for label in classes.tolist()]
    with value_errors():
        column = intake.levels("y", labels, "y")
        matched = lookalikes.levels_matched(column.texts, names, "y")
    for code, text in enumerate(column.texts):
        if text not in matched:
            raise InputError(
                f"y: the label {text!r} in row {int(np.argmax(column.codes == code))} is none of those of fit "
                f"({', '.join(map(repr, names))}); leave such rows out"
            )
    return np.array([names.index(matched[text]) for text in column.texts], np.int64)[column.codes]


def same_classes(model: Any, classes: NDArray[Any]) -> None:
    """Refuse a fitted classifier of other labels, whose scores would be read as those of ``classes[1]``.

    A classifier that does not tell its labels (no ``classes_``) is taken at its word.

    Args:
        model: the fitted classifier.
        classes: (2,) labels of y.

    Raises:
        InputError: the labels differ, or are more than two.
    """
    fitted = getattr(model, "classes_", None)
    if fitted is None or np.ravel(fitted).tolist() == classes.tolist():
        return
    expected, passed = (", ".join(map(repr, np.ravel(labels).tolist())) for labels in (fitted, classes))
    raise InputError(
        f"estimator was fitted on the labels {expected}, y has {passed}; pass a classifier of two classes, and y with "
        "the labels that it was fitted on"
    )
