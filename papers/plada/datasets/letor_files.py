"""Learning to rank from files in the LETOR format (MSLR-WEB10K and its like), which the user supplies.

    datasets:
      mslr_web10k: {module: letor_files, folder: path/to/MSLR-WEB10K/Fold1}

The folder holds train.txt, vali.txt and test.txt: one document a line, ``relevance qid:7 1:0.5 ... 136:2``. Reading of
the multiplier-model paper, which the PLADA paper follows: a document is positive if its relevance exceeds 1; its group
is whether feature 133 (QualityScore2) exceeds its 40 % quantile among training documents; queries are thinned and kept
as :func:`thinned` says. The data may not be redistributed, so the pipeline holds none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Dataset, Split
from partialfair.errors import DataError
from partialfair.seeding import generator
from reproduction.datasets.spec import DatasetSpec

FEATURES, INPUTS = 136, 125
PAGERANK, QUALITY = 129, 132  # 0-based columns of features 130 and 133
PARTS = ("train", "vali", "test")
CHUNK = 1 << 26  # bytes read at once
QUERY = "query"
GROUP_QUANTILE = 0.4
SMALLEST, EACH_CLASS, EACH_CELL = 20, 10, 4

SPEC = DatasetSpec(
    name="letor_files",
    title="LETOR files",
    groups="0 = QualityScore2 at or below its 40 % quantile, 1 = above",
    label="+1 = relevance above 1",
    interval=((0.0, 1.0),),
    n_attributes=FEATURES,
    licence="MSLR: research use, no redistribution",
    citation="Qin and Liu, Introducing LETOR 4.0 datasets (2013)",
)


@dataclass(frozen=True, eq=False)
class Query:
    """Documents of one query.

    Attributes:
        number: qid.
        features: (n, 136).
        relevance: (n,).
    """

    number: int
    features: NDArray[np.float32]
    relevance: NDArray[np.float64]


def load(raw_dir: Path, folder: str, queries: int = 1000, test_queries: int = 100) -> Dataset:
    """Read the first usable queries of each file.

    Args:
        raw_dir: not used: the files are the user's.
        folder: holds train.txt, vali.txt and test.txt.
        queries: largest number of training queries.
        test_queries: largest number of validation and of test queries.

    Returns:
        Dense rows: 125 features and the number of the query, unique over the parts; ``partition`` 0, 1, 2.

    Raises:
        DataError: a file is missing, is not in the format, or has no usable query.
    """
    limits = dict(zip(PARTS, (queries, test_queries, test_queries), strict=True))
    threshold: float | None = None
    found: list[tuple[int, int, Query, NDArray[np.int64], NDArray[np.bool_]]] = []
    for code, part in enumerate(PARTS):
        source = Path(folder) / f"{part}.txt"
        kept = 0
        pool = list(_first(read(source), 4 * limits[part]))
        if threshold is None:
            threshold = float(np.quantile(np.concatenate([q.features[:, QUALITY] for q in pool]), GROUP_QUANTILE))
        for query in pool:
            group = query.features[:, QUALITY] > threshold
            rows = thinned(query, group, part)
            if rows is not None and kept < limits[part]:
                kept += 1
                found.append((code, kept, query, rows, group[rows]))
        if not kept:
            raise DataError(f"{source}: none of its first {len(pool)} queries has enough documents of each kind")
    names = (*(f"feature {k + 1}" for k in range(INPUTS)), QUERY)
    blocks = [
        np.column_stack([query.features[rows, :INPUTS], np.full(len(rows), 10_000 * (code + 1) + number, np.float32)])
        for code, number, query, rows, _ in found
    ]
    return Dataset(
        X=np.vstack(blocks).astype(np.float32),
        y=np.concatenate([np.where(query.relevance[rows] > 1, 1.0, -1.0) for _, _, query, rows, _ in found]),
        group=np.concatenate([group for *_, group in found]).astype(np.int16),
        feature_names=names,
        group_names=("low quality score", "high quality score"),
        name=SPEC.name,
        numeric=np.arange(INPUTS, dtype=np.int64),
        partition=np.concatenate([np.full(len(rows), code, np.int8) for code, _, _, rows, _ in found]),
    )


def split(data: Dataset, seed: int, **options: object) -> Split:
    """The files' own division; the seed does not matter."""
    del seed, options
    assert data.partition is not None
    return Split(*(np.flatnonzero(data.partition == code) for code in range(3)))


def read(path: Path) -> Iterator[Query]:
    """Yield the queries of a file, which is read piece by piece.

    Raises:
        DataError: the file is missing or not in the format.
    """
    from sklearn.datasets import load_svmlight_file

    if not path.is_file():
        raise DataError(f"{path}: there is no such file; give a folder with train.txt, vali.txt and test.txt")
    size, rest = path.stat().st_size, None
    for offset in range(0, size, CHUNK):
        try:
            X, y, qid = load_svmlight_file(
                str(path),
                n_features=FEATURES,
                dtype=np.float32,
                zero_based=False,
                query_id=True,
                offset=offset,
                length=CHUNK,
            )
        except (ValueError, OverflowError) as error:
            raise DataError(f"{path}: not in the LETOR format with {FEATURES} features ({error})") from error
        if len(qid) != len(y):
            raise DataError(f"{path}: lines without qid; write 'relevance qid:N 1:value ...'")
        dense = X.toarray()
        if rest is not None:
            dense, y, qid = np.vstack([rest[0], dense]), np.concatenate([rest[1], y]), np.concatenate([rest[2], qid])
        ends = np.append(np.flatnonzero(np.diff(qid)) + 1, len(qid))
        starts = np.concatenate([[0], ends[:-1]])
        last = offset + CHUNK >= size
        for start, end in zip(starts, ends, strict=True) if last else zip(starts[:-1], ends[:-1], strict=True):
            yield Query(int(qid[start]), dense[start:end], y[start:end])
        rest = None if last else (dense[starts[-1] :], y[starts[-1] :], qid[starts[-1] :])


def _first(queries: Iterator[Query], n: int) -> Iterator[Query]:
    """The first n queries: many are not usable, so more are read than are wanted."""
    for _, query in zip(range(n), queries, strict=False):
        yield query


def thinned(query: Query, group: NDArray[np.bool_], part: str) -> NDArray[np.int64] | None:
    """Rows of a query that are kept, in order of PageRank; ``None`` if the query is not usable.

    All positive documents stay. A negative one at position p of the order is dropped with probability
    ``linspace(1/2 + a/2, 1/2 - a/2)[p] (0.7 + 0.3 b)``, a and b uniform on (-1, 1).

    Args:
        query: its documents.
        group: (n,) group bit of each.
        part: names the stream together with the query.
    """
    n = len(query.relevance)
    if n < SMALLEST:
        return None
    stream = generator("letor", part, query.number)
    order = np.argsort(-query.features[:, PAGERANK], kind="stable")
    a, b = stream.uniform(-1, 1, 2)
    drop = np.linspace(0.5 + 0.5 * a, 0.5 - 0.5 * a, n) * (0.7 + 0.3 * b)
    positive = query.relevance[order] > 1
    kept = order[positive | (stream.random(n) >= drop)]
    relevant, side = query.relevance[kept] > 1, group[kept]
    if min(relevant.sum(), (~relevant).sum()) < EACH_CLASS:
        return None
    cells = [np.sum((relevant == label) & (side == bit)) for label in (False, True) for bit in (False, True)]
    return kept if min(cells) > EACH_CELL else None
