"""Files in the LETOR format."""

import numpy as np
import pytest

from papers.plada.datasets import letor_files, letor_generated
from partialfair.errors import DataError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("letor")
    for part, n in zip(letor_files.PARTS, (16, 8, 8), strict=True):
        with open(path / f"{part}.txt", "w", encoding="ascii") as stream:
            letor_generated.write(stream, part, n, 90)
    return path


def test_reading_and_splitting(folder, tmp_path):
    data = letor_files.load(tmp_path, str(folder), queries=4, test_queries=2)
    parts = letor_files.split(data, 7)
    queries = data.X[:, -1]
    counts = [len(np.unique(queries[rows])) for rows in (parts.train, parts.validation, parts.test)]
    assert counts == [4, 2, 2] and data.n_features == 126
    for number in np.unique(queries):
        rows = queries == number
        for label in (-1, 1):
            assert (data.y[rows] == label).sum() >= 10
            assert min((data.group[rows & (data.y == label)] == bit).sum() for bit in (0, 1)) > 4
    again = letor_files.load(tmp_path, str(folder), queries=4, test_queries=2)
    assert np.array_equal(again.X, data.X)


def test_pieces_give_the_same_queries(folder, monkeypatch):
    whole = list(letor_files.read(folder / "train.txt"))
    monkeypatch.setattr(letor_files, "CHUNK", 40_000)
    pieces = list(letor_files.read(folder / "train.txt"))
    assert [q.number for q in pieces] == [q.number for q in whole]
    assert all(np.array_equal(a.features, b.features) for a, b in zip(whole, pieces, strict=True))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2 qid:1 1:0.5 999:1\n", "not in the LETOR format"),
        ("2 qid:1 1:0.5\n", "none of its first"),
        (None, "no such file"),
    ],
)
def test_unusable_files(text, words, tmp_path):
    if text is not None:
        (tmp_path / "train.txt").write_text(text, encoding="ascii")
    with pytest.raises(DataError, match=words):
        letor_files.load(tmp_path, str(tmp_path))
