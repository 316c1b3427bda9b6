"""Parsers never fail otherwise than in a sentence, whatever they are given; metrics keep their laws."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partialfair.audit import audit_file
from partialfair.data.intervals import Interval
from partialfair.errors import PartialFairError
from partialfair.metrics import evaluate_all
from reproduction.grid.checks import check_settings
from reproduction.grid.config import load_config
from reproduction.verify.runs import _farthest
from tests.faults.lab import params

QUICK = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text("0123456789.-+|e naif", max_size=9)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=8,
)
RANKS = st.floats(0, 1)


@QUICK
@given(value=VALUES | st.lists(st.tuples(RANKS, RANKS), min_size=1, max_size=3))
def test_an_interval_is_read_back_from_its_text_or_refused(value: Any) -> None:
    try:
        read = Interval.of(value)
    except PartialFairError as error:
        assert str(error).startswith("interval: ")
        return
    assert Interval.of(str(read)) == read == Interval.of(read.lists())


def keys(block: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a nested configuration."""
    found = [path] if path else []
    items = block.items() if isinstance(block, dict) else enumerate(block) if isinstance(block, list) else ()
    for key, inner in items:
        found += keys(inner, (*path, key))
    return found


PLACES = keys(params())


@QUICK
@given(place=st.sampled_from(PLACES), value=VALUES, remove=st.booleans())
def test_params_are_read_or_refused_in_a_sentence(
    place: tuple[Any, ...], value: Any, remove: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content: Any = params()
    block = content
    for key in place[:-1]:
        block = block[key]
    if remove:
        del block[place[-1]]
    else:
        block[place[-1]] = value
    path = tmp_path_factory.getbasetemp() / "params.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    try:
        config = load_config(path)
        check_settings(config)
    except PartialFairError as error:
        assert all("params.yaml: " in line for line in str(error).splitlines()), "a sentence for each fault"
        return
    assert all(job.path.parts[:2] == ("data", "runs") and ".." not in job.path.parts for job in config.jobs())


@QUICK
@given(
    text=st.text('abs,;"\n\r\t|0123.-éx\x00', max_size=60), start=st.sampled_from(("", "s,g,y\n", "s;g;y\n", "\ufeff"))
)
def test_score_files_are_audited_or_refused_in_a_sentence(
    text: str, start: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = Path(tmp_path_factory.getbasetemp() / "scores.csv")
    path.write_text(start + text, encoding="utf-8", newline="")
    try:
        audit_file(path, score="s", group="g", label="y", confidence_intervals=False, min_group_size=2)
    except PartialFairError as error:
        assert len(str(error)) > 20


CELLS = st.sampled_from(
    ("0.5", "-3", "1e3", "1e309", "a", "c", "1", "0", "", " ", "nan", "1,5", '"', '"a"', "x;y", "é\n")
)


@QUICK
@given(
    scores=st.lists(st.floats(-9, 9, allow_subnormal=False), min_size=12, max_size=20),
    spoilt=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 2), CELLS), max_size=2),
)
def test_a_score_file_with_some_wrong_cells_is_audited_or_refused_in_a_sentence(
    scores: list[float], spoilt: list[tuple[int, int, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [[repr(score), "ab"[n % 2], "0011"[n % 4]] for n, score in enumerate(scores)]
    for row, column, text in spoilt:
        rows[row][column] = text
    path = Path(tmp_path_factory.getbasetemp() / "nearly.csv")
    path.write_text("\n".join(["s,g,y", *map(",".join, rows), ""]), encoding="utf-8", newline="")
    try:
        found = audit_file(path, score="s", group="g", label="y", confidence_intervals=False, min_group_size=2)
    except PartialFairError as error:
        assert spoilt and len(str(error)) > 20
    else:
        assert found.rows == len(scores) and (spoilt or found.metric("rank_gap") is not None)


@QUICK
@given(data=st.binary(max_size=80), suffix=st.sampled_from((".csv", ".parquet")))
def test_bytes_are_no_score_file(data: bytes, suffix: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = Path(tmp_path_factory.getbasetemp() / f"bytes{suffix}")
    path.write_bytes(data)
    with pytest.raises(PartialFairError):
        audit_file(path, score="s", group="g")


@QUICK
@given(seed=st.integers(0, 10**6), rows=st.integers(40, 120), ties=st.booleans(), low=RANKS, length=st.floats(0.2, 1))
def test_laws_of_the_metrics(seed: int, rows: int, ties: bool, low: float, length: float) -> None:
    rng = np.random.default_rng(seed)
    group = np.arange(rows) % 2
    y = np.where(rng.random(rows) < 0.5, 1.0, -1.0)
    y[:4] = (1, 1, -1, -1)
    scores = np.round(rng.normal(size=rows), 1 if ties else 12).astype(np.float32)
    low = min(low, 0.8)
    interval = [[low, min(1.0, low + length)]]
    values, missing = evaluate_all(scores, y, group, interval)
    again, _ = evaluate_all(scores, y, group, interval)
    assert values == again or all(
        a == b or (a != a and b != b) for a, b in zip(values.values(), again.values(), strict=True)
    )
    for name, value in values.items():
        assert (value is None) == (name in missing), name
        if value is not None and np.isfinite(value):
            assert -1e-9 <= value <= 1 + 1e-9, (name, value)
    order = rng.permutation(rows)
    shuffled, _ = evaluate_all(scores[order], y[order], group[order], interval)
    swapped, _ = evaluate_all(scores, y, 1 - group, interval)
    for name, value in values.items():
        if value is not None and not ties:
            assert shuffled[name] == pytest.approx(value, abs=1e-9), f"{name} depends on the order of rows"
            assert swapped[name] == pytest.approx(value, abs=1e-9), f"{name} depends on which group is called first"


@pytest.mark.parametrize(("one", "other", "apart"), [(0.9, 0.9, 0), (math.nan, 0.9, math.inf), (None, 0.9, math.inf)])
def test_what_cannot_be_compared_is_infinitely_far(one: float | None, other: float, apart: float) -> None:
    sides = [{"splits": {"test": {"accuracy": value, "sp": math.nan}}} for value in (one, other)]
    assert _farthest(*sides)[1] == _farthest(*sides[::-1])[1] == apart
