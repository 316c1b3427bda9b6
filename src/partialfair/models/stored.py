"""Trained score models on disk: plain arrays, loaded without executing code; and the checks that all of them share."""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, get_type_hints

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Matrix
from partialfair.data.files import UNREADABLE, atomic_path
from partialfair.errors import DataError

Arrays = dict[str, NDArray[Any]]
NOT_STORED = {"stored": False}
"""Metadata of a field that is no part of the file."""
MODULES = {"sigmoid_network": "mlp_score"}
"""Kinds that are read by another module than the one of their name."""


class ScoreModel(Protocol):
    """What a stored model can do, whatever it is made of."""

    @property
    def status(self) -> str:
        """State "ok", or why there is no usable model."""
        ...

    @property
    def usable(self) -> bool:
        """Tell whether the model can score rows."""
        ...

    @property
    def uses_group(self) -> bool:
        """Tell whether the score depends on the group."""
        ...

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Return the scores (n,) of raw features (n, d) and group codes (n,)."""
        ...

    def arrays(self) -> Arrays:
        """Plain arrays; the entry ``kind`` names the module of this package that reads them."""
        ...

    def save(self, path: str | Path) -> None:
        """Write the arrays, atomically."""
        ...


class StoredModel:
    """Base of the stored models: dataclasses whose fields are written as arrays, one entry each, in their order.

    A field that is a dataclass is written field by field, a mapping of arrays under a prefix. A module binds ``MODEL``
    to the class that reads its kind.

    Attributes:
        compressed: whether the file is.
    """

    compressed: ClassVar[bool] = False

    @property
    def kind(self) -> str:
        """Entry of the file: the name of the module that reads it, see :data:`MODULES` for exceptions."""
        return type(self).__module__.rpartition(".")[2]

    def arrays(self) -> Arrays:
        """Return what ``save`` writes, by name."""
        return {"kind": np.array(self.kind), **_entries(self)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the model whose arrays these are."""
        return cls(**_values(cls, arrays))

    def fault(self) -> str:
        """Say why a model cannot score, though its file is whole; empty if it can, or says itself that it is none."""
        return ""

    def save(self, path: str | Path) -> None:
        """Write the model as an ``.npz`` file of plain arrays, atomically."""
        write = np.savez_compressed if self.compressed else np.savez
        with atomic_path(path) as temporary, open(temporary, "wb") as stream:
            write(stream, **self.arrays())  # type: ignore[arg-type]


def load_model(path: str | Path) -> Any:
    """Read a model written by the ``save`` of any :class:`StoredModel`.

    Raises:
        DataError: the file is missing, truncated or not a model, or its model cannot score.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            model = model_of(dict(stored))
    except UNREADABLE as error:
        raise DataError(f"{path}: not a readable model ({error}); delete the file and train again") from error
    fault = model.fault()
    if fault:
        raise DataError(f"{path}: {fault}; delete the file and train again")
    return model


def model_of(arrays: Arrays) -> Any:
    """Return the model of whatever kind whose arrays these are.

    Raises:
        ValueError: no module of this package reads the kind.
        KeyError: an array is missing.
    """
    kind = str(arrays["kind"])
    name = f"{__package__}.{MODULES.get(kind, kind)}"
    is_module = kind.isidentifier() and importlib.util.find_spec(name) is not None
    model = getattr(importlib.import_module(name), "MODEL", None) if is_module else None
    if model is None:
        raise ValueError(f"unknown kind of model {kind!r}")
    return model.from_arrays(arrays)


def check_features(X: Matrix, n_features: int) -> None:
    """Refuse rows of another width.

    Raises:
        DataError: with both numbers.
    """
    if X.shape[1] != n_features:
        raise DataError(f"X has {X.shape[1]} features, the model was trained on {n_features}")


def group_codes(
    group: NDArray[np.integer] | None, n_rows: int, names: tuple[str, ...], uses_group: bool
) -> NDArray[np.int64]:
    """Return the codes (n,) of the rows' groups; zeros where none are given and none are needed.

    Raises:
        DataError: groups missing or out of range.
    """
    if group is None and uses_group:
        raise DataError("this model's scores depend on the group; pass the group codes of the rows")
    codes = np.zeros(n_rows, np.int64) if group is None else np.asarray(group, np.int64)
    if codes.size and (codes.min() < 0 or codes.max() >= len(names)):
        raise DataError(f"group codes must lie in 0..{len(names) - 1} ({', '.join(names)})")
    return codes


def check_usable(model: ScoreModel) -> None:
    """Refuse a model without parameters.

    Raises:
        DataError: with its status.
    """
    if not model.usable:
        raise DataError(f"this model has no parameters (status {model.status!r}); train it again")


def _tuple(array: NDArray[Any]) -> tuple[Any, ...]:
    return tuple(array.tolist())


_CODECS: dict[Any, tuple[Callable[[Any], NDArray[Any]], Callable[[NDArray[Any]], Any]]] = {
    bool: (np.array, bool),
    str: (np.array, str),
    float: (np.array, float),
    tuple[str, ...]: (lambda value: np.array(value, np.str_), _tuple),
    tuple[int, ...]: (lambda value: np.array(value, np.int64), _tuple),
    tuple[float, float]: (np.array, _tuple),
}
"""How fields of these types are written and read; all other fields are arrays."""


@cache
def _stored(cls: Any) -> dict[str, Any]:
    """Type of each stored field, in order."""
    hints = get_type_hints(cls)
    return {entry.name: hints[entry.name] for entry in fields(cls) if entry.metadata != NOT_STORED}


def _entries(model: Any) -> Arrays:
    """Return the arrays of a dataclass by name."""
    entries: Arrays = {}
    for name, hint in _stored(model.__class__).items():
        value = getattr(model, name)
        if is_dataclass(hint):
            entries |= _entries(value)
        elif isinstance(value, dict):
            entries |= {f"{name}/{key}": array for key, array in value.items()}
        else:
            entries[name] = _CODECS[hint][0](value) if hint in _CODECS else value
    return entries


def _values(cls: Any, arrays: Arrays) -> dict[str, Any]:
    """Arguments of a dataclass, from its arrays."""
    values: dict[str, Any] = {}
    for name, hint in _stored(cls).items():
        if is_dataclass(hint):
            values[name] = hint(**_values(hint, arrays))  # type: ignore[operator]
        elif getattr(hint, "__origin__", None) is dict:
            prefix = f"{name}/"
            values[name] = {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}
        else:
            values[name] = _CODECS[hint][1](arrays[name]) if hint in _CODECS else arrays[name]
    return values
