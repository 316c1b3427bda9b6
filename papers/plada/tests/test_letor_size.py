"""Files of the size of MSLR-WEB10K: time of reading grows as the size does, memory does not grow with it."""

import os
import resource
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from papers.plada.datasets import letor_files, letor_generated

DOCUMENTS = 120  # mean number per query, as in MSLR-WEB10K; a fold has 6,000 training queries


def written(path: Path, queries: int, block: int = 25) -> Path:
    """A file of generated queries, the same ones again under new numbers: formatting is slower than reading."""
    scratch = path.with_suffix(".block")
    with open(scratch, "w", encoding="ascii") as stream:
        letor_generated.write(stream, "train", block, DOCUMENTS)
    lines = [line.split(b" ", 2) for line in scratch.read_bytes().splitlines()]
    numbers = {qid: k for k, qid in enumerate(dict.fromkeys(qid for _, qid, _ in lines))}
    with open(path, "wb") as out:
        for first in range(0, queries, len(numbers)):
            out.writelines(b"%s qid:%d %s\n" % (y, first + numbers[qid] + 1, rest) for y, qid, rest in lines)
    return path


def read_through(path: Path) -> tuple[int, int, float]:
    """Queries and documents of a file, and the processor seconds that reading takes."""
    began, queries, documents = time.process_time(), 0, 0
    for query in letor_files.read(path):
        queries, documents = queries + 1, documents + len(query.relevance)
        assert query.features.shape == (len(query.relevance), 136)
    return queries, documents, time.process_time() - began


def peak_of(path: Path) -> int:
    """Largest number of bytes that reading holds at once."""
    tracemalloc.start()
    read_through(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_time_grows_as_the_size_does_and_memory_as_that_of_a_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letor_files, "CHUNK", 1 << 18)
    small, large = written(tmp_path / "small.txt", 20, 20), written(tmp_path / "large.txt", 80, 20)
    read_through(small)
    found = {path: [read_through(path) for _ in range(3)] for path in (small, large)}
    assert found[small][0][0] == 20 and found[large][0][:2] == tuple(4 * n for n in found[small][0][:2])
    seconds = {path: min(one[2] for one in many) for path, many in found.items()}
    assert seconds[large] / seconds[small] <= 1.6 * os.path.getsize(large) / os.path.getsize(small)
    peaks = peak_of(written(tmp_path / "few.txt", 6, 6)), peak_of(written(tmp_path / "more.txt", 24, 6))
    assert peaks[1] <= 1.25 * peaks[0] and peaks[1] <= 16 * letor_files.CHUNK


@pytest.mark.long(suite="papers")
def test_a_fold_of_the_size_of_mslr_web10k(tmp_path: Path) -> None:
    """6,000 queries with 720,000 documents take no more memory than a quarter of them, and four times the time."""
    whole, part = written(tmp_path / "train.txt", 6000), written(tmp_path / "part.txt", 1500)
    assert os.path.getsize(whole) > 5e8 and os.path.getsize(part) > 3 * letor_files.CHUNK
    seconds = read_through(part)[2]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB
    queries, documents, spent = read_through(whole)
    assert queries == 6000 and documents > 600_000
    assert spent <= 1.6 * seconds * os.path.getsize(whole) / os.path.getsize(part)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert grown <= 2 * letor_files.CHUNK
    for other in ("vali", "test"):
        written(tmp_path / f"{other}.txt", 400)
    data = letor_files.load(tmp_path, str(tmp_path))
    assert len(np.unique(data.X[data.partition == 0, -1])) == 1000
