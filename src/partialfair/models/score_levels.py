"""Several score models of one training job, one per tolerance, in one file; and scores moved group by group."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Matrix
from partialfair.models.stored import Arrays, StoredModel, model_of

SHARE = "@"
"""Stands between a tolerance and a share of the work in the key of a level."""


def level_key(kappa: float, share: float) -> str:
    """The key of the model for a tolerance after a share of the work: ``0.1@0.25``."""
    return f"{kappa:g}{SHARE}{share:g}"


def level_of(key: str) -> tuple[float, float]:
    """Tolerance and share of the work of a level; the whole work where the key names none."""
    kappa, _, share = key.partition(SHARE)
    return float(kappa), float(share or 1.0)


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
        """Return the scores (n,) of raw features (n, d) and group codes (n,)."""
        assert group is not None
        scores = np.asarray(self.inner.scores(X, group), np.float64)
        if self.squash:
            scores = 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
        return np.asarray(self.scale[group] * scores + self.shift[group])


@dataclass(frozen=True, eq=False)
class ScoreLevels(StoredModel):
    """Models by tolerance, of which one stands for the job; the evaluation measures all of them.

    Attributes:
        main: the job's own model.
        levels: the models of further tolerances, written as in paths ("0.1"), and those that there were after a share
            of the work (:func:`level_key`).
    """

    main: Any
    levels: Mapping[str, Any]

    @property
    def status(self) -> str:
        """State of the job's own model."""
        return str(_innermost(self.main).status)

    @property
    def usable(self) -> bool:
        """Tell whether the job's own model can score rows."""
        return bool(_innermost(self.main).usable)

    @property
    def uses_group(self) -> bool:
        """Tell whether the score depends on the group."""
        return isinstance(self.main, GroupAffine) or bool(self.main.uses_group)

    @property
    def group_names(self) -> tuple[str, ...]:
        """Return the names of the groups."""
        return tuple(_innermost(self.main).group_names)

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Return the scores (n,) of the job's own model."""
        return np.asarray(self.main.scores(X, group))

    def arrays(self) -> Arrays:
        """Return what ``save`` writes, by name: each model's own arrays under a prefix."""
        content: dict[str, Any] = {"levels": list(self.levels)}
        arrays: Arrays = {}
        for index, model in enumerate([self.main, *self.levels.values()]):
            arrays |= {f"{index}/{name}": values for name, values in _innermost(model).arrays().items()}
            if isinstance(model, GroupAffine):
                arrays |= {f"{index}/affine/scale": model.scale, f"{index}/affine/shift": model.shift}
                content[f"squash {index}"] = model.squash
        return {"kind": np.array(self.kind), "content": np.array(json.dumps(content, sort_keys=True)), **arrays}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the models whose arrays these are."""
        content = json.loads(str(arrays["content"]))
        models = [_level_model(arrays, index, content) for index in range(1 + len(content["levels"]))]
        return cls(models[0], dict(zip(content["levels"], models[1:], strict=True)))


MODEL = ScoreLevels


def _level_model(arrays: Arrays, index: int, content: dict[str, Any]) -> Any:
    """Return the model stored under a place's prefix, with its affine map by group if it has one."""
    prefix = f"{index}/"
    stored = {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
    scale, shift = stored.pop("affine/scale", None), stored.pop("affine/shift", None)
    inner = model_of(stored)
    if scale is None or shift is None:
        return inner
    return GroupAffine(inner, scale, shift, bool(content[f"squash {index}"]))


def _innermost(model: Any) -> Any:
    return model.inner if isinstance(model, GroupAffine) else model
