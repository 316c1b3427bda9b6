"""Dataframes of any library, read through the exchange protocols."""

from typing import Any

from partialfair.errors import DataError


def to_pandas(table: Any) -> Any:
    """Return a dataframe that follows an exchange protocol as a pandas one; anything else unchanged.

    The Arrow stream protocol is preferred (polars, pyarrow, pandas 3); the older ``__dataframe__`` is second.

    Raises:
        DataError: the rows have not been computed yet, as in polars' LazyFrame.
    """
    import pandas as pd

    if isinstance(table, pd.DataFrame | pd.Series):
        return table
    if hasattr(table, "collect_schema") and callable(getattr(table, "collect", None)):
        raise DataError(f"a {type(table).__name__} has no rows yet; pass what its collect() returns")
    if hasattr(table, "__arrow_c_stream__") and hasattr(table, "columns"):
        return pd.DataFrame.from_arrow(table)
    if hasattr(table, "__dataframe__"):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas announces its end; it is all that some libraries offer
            return pd.api.interchange.from_dataframe(table, allow_copy=True)
    return table
