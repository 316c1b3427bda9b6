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
        """Scores (n,) of raw features (n, d) and group codes (n,)."""
        assert group is not None
        found = np.asarray(self.inner.scores(X, group), np.float64)
        if self.squash:
            found = 1 / (1 + np.exp(-np.clip(found, -500, 500)))
        return np.asarray(self.scale[group] * found + self.shift[group])


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

    def arrays(self) -> Arrays:
        """What ``save`` writes, by name: each model's own arrays under a prefix."""
        content: dict[str, Any] = {"levels": list(self.levels)}
        found: Arrays = {}
        for place, model in enumerate([self.main, *self.levels.values()]):
            found |= {f"{place}/{name}": values for name, values in _innermost(model).arrays().items()}
            if isinstance(model, GroupAffine):
                found |= {f"{place}/affine/scale": model.scale, f"{place}/affine/shift": model.shift}
                content[f"squash {place}"] = model.squash
        return {"kind": np.array(self.kind), "content": np.array(json.dumps(content, sort_keys=True)), **found}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The models whose arrays these are."""
        content = json.loads(str(arrays["content"]))
        found = [_part(arrays, place, content) for place in range(1 + len(content["levels"]))]
        return cls(found[0], dict(zip(content["levels"], found[1:], strict=True)))


MODEL = ScoreLevels


def _part(arrays: Arrays, place: int, content: dict[str, Any]) -> Any:
    """The model stored under a place's prefix, with its affine map by group if it has one."""
    prefix = f"{place}/"
    own = {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
    scale, shift = own.pop("affine/scale", None), own.pop("affine/shift", None)
    inner = model_of(own)
    if scale is None or shift is None:
        return inner
    return GroupAffine(inner, scale, shift, bool(content[f"squash {place}"]))


def _innermost(model: Any) -> Any:
    return model.inner if isinstance(model, GroupAffine) else model
