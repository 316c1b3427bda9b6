"""Dataframes of any library as pandas ones, whichever pandas is installed."""

from typing import Any

from partialfair.data import frames


def to_pandas(table: Any) -> Any:
    """Return a dataframe that follows an exchange protocol as a pandas one; anything else unchanged.

    As :func:`partialfair.data.frames.to_pandas`; before version 3, pandas does not read the Arrow stream protocol, and
    pyarrow reads it in its place.

    Raises:
        DataError: the rows have not been computed yet, as in polars' LazyFrame.
    """
    import pandas as pd

    is_arrow = hasattr(table, "__arrow_c_stream__") and hasattr(table, "columns")
    if is_arrow and not isinstance(table, pd.DataFrame | pd.Series) and not hasattr(pd.DataFrame, "from_arrow"):
        import pyarrow

        return pyarrow.table(table).to_pandas()
    return frames.to_pandas(table)
