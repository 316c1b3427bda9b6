"""Masked arrays of NumPy, whose mask is lost where a plain array is made of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from partialfair.errors import DataError


def refuse_masked(values: Any, subject: str) -> None:
    """Refuse masked entries of one column, or of a mapping of columns by name.

    Raises:
        DataError: naming ``subject``, the column if there are several, and the row of the first masked entry.
    """
    named = values.items() if isinstance(values, Mapping) else ((None, values),)
    for name, column in named:
        if np.ma.is_masked(column):
            row = int(np.argwhere(np.ma.getmaskarray(column))[0][0])
            where = subject if name is None else f"{subject}: column {name!r}"
            raise DataError(f"{where}: the value in row {row} is masked; drop such rows")
