"""Several score models of one training job, one per tolerance, in one file; and scores moved group by group."""

import importlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.models.store import LinearScore, ScoreModel
from partialfair.tables.dataset import Matrix
from partialfair.tables.files import atomic_path

KIND = "score_levels"


@dataclass(frozen=True, eq=False)
class GroupAffine:
    """``scale_g h(x) + shift_g`` for a row of group g, of another model's score h, or of its logistic function.

    Attributes:
        inner: the other model.
        scale, shift: (G,).
        squash: whether h goes through ``1 / (1 + exp(-h))`` first.
    """

    inner: Any
    scale: NDArray[np.float64]
    shift: NDArray[np.float64]
    squash: bool = False

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Scores (n,) of raw features (n, d) and group codes (n,)."""
        assert group is not None
        found = np.asarray(self.inner.scores(X, group), np.float64)
        if self.squash:
            found = 1 / (1 + np.exp(-np.clip(found, -500, 500)))
        return np.asarray(self.scale[group] * found + self.shift[group])


@dataclass(frozen=True, eq=False)
class ScoreLevels:
    """Models by tolerance, of which one stands for the job; the evaluation measures all of them.

    Attributes:
        main: the job's own model.
        levels: the models of further tolerances, written as in paths ("0.1").
    """

    main: Any
    levels: Mapping[str, Any]

    @property
    def status(self) -> str:
        """State of the job's own model."""
        return str(_innermost(self.main).status)

    @property
    def usable(self) -> bool:
        """Whether the job's own model can score rows."""
        return bool(_innermost(self.main).usable)

    @property
    def uses_group(self) -> bool:
        """Whether the score depends on the group."""
        return isinstance(self.main, GroupAffine) or bool(self.main.uses_group)

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups."""
        return tuple(_innermost(self.main).group_names)

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Scores (n,) of the job's own model."""
        return np.asarray(self.main.scores(X, group))

    def save(self, path: str | Path) -> None:
        """Write plain arrays, atomically: each model's own under a prefix."""
        content: dict[str, Any] = {"levels": list(self.levels)}
        arrays: dict[str, NDArray[Any]] = {}
        for place, model in enumerate([self.main, *self.levels.values()]):
            inner = _innermost(model)
            arrays |= {f"{place}/{name}": values for name, values in _arrays(inner).items()}
            if isinstance(model, GroupAffine):
                arrays |= {f"{place}/affine/scale": model.scale, f"{place}/affine/shift": model.shift}
                content[f"squash {place}"] = model.squash
        with atomic_path(path) as temporary, open(temporary, "wb") as stream:
            np.savez(
                stream,
                kind=np.array(KIND),
                content=np.array(json.dumps(content, sort_keys=True)),
                **arrays,  # type: ignore[arg-type]
            )


def from_arrays(arrays: dict[str, NDArray[Any]]) -> ScoreLevels:
    """The models whose arrays ``save`` wrote."""
    content = json.loads(str(arrays["content"]))
    found = [_model(arrays, place, content) for place in range(1 + len(content["levels"]))]
    return ScoreLevels(found[0], dict(zip(content["levels"], found[1:], strict=True)))


def _model(arrays: dict[str, NDArray[Any]], place: int, content: dict[str, Any]) -> Any:
    """One of the models."""
    prefix = f"{place}/"
    own = {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
    scale, shift = own.pop("affine/scale", None), own.pop("affine/shift", None)
    kind = str(own["kind"])
    if kind == "linear":
        inner: Any = LinearScore.from_arrays(own)
    else:
        inner = importlib.import_module(f"partialfair.models.{kind}").from_arrays(own)
    if scale is None or shift is None:
        return inner
    return GroupAffine(inner, scale, shift, bool(content[f"squash {place}"]))


def _innermost(model: Any) -> Any:
    return model.inner if isinstance(model, GroupAffine) else model


def _arrays(model: ScoreModel) -> dict[str, NDArray[Any]]:
    """The arrays that a model's own ``save`` writes."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.npz")
        with np.load(Path(folder) / "model.npz", allow_pickle=False) as stored:
            return dict(stored)
