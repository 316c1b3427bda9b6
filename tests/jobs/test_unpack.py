"""The data that travel with the project are the published bytes, and a damaged copy writes nothing."""

import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

from partialfair import plugins
from partialfair.errors import DataError
from reproduction.datasets.sources import MIRROR_VARIABLE
from reproduction.jobs.prepare import verify
from reproduction.jobs.unpack import unpack

ROOT = Path(__file__).parents[2]
RAW = ROOT / "data/raw"
SHIPPED = {
    "a9a": ["a9a/a9a", "a9a/a9a.t"],
    "adult": ["adult/adult.data", "adult/adult.test"],
    "bank": ["bank/bank-additional-full.csv"],
}


def packed(folder: Path, name: str, content: bytes | None = None) -> Path:
    """Put a compressed copy, the project's or another, below a raw root of its own."""
    copy = folder / f"{name}.xz"
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes((RAW / f"{name}.xz").read_bytes() if content is None else content)
    return copy


def test_the_table_above_names_every_copy():
    assert sorted(f"{name}.xz" for names in SHIPPED.values() for name in names) == sorted(
        path.relative_to(RAW).as_posix() for path in RAW.rglob("*.xz")
    )
    said = (RAW / "PROVENANCE.md").read_text(encoding="utf-8")
    assert all(f"`{name}.xz`" in said for names in SHIPPED.values() for name in names)


@pytest.mark.parametrize("dataset", SHIPPED)
def test_copies_are_the_published_bytes_of_a_dataset_that_may_be_passed_on(dataset: str, tmp_path: Path):
    for name in SHIPPED[dataset]:
        packed(tmp_path, name)
    written = unpack([dataset], tmp_path)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in written) == SHIPPED[dataset]
    assert sorted(verify(dataset, tmp_path)) == sorted(written)  # all that its module needs
    assert "CC BY 4.0" in plugins.load("datasets", dataset).SPEC.licence
    times = {path: path.stat().st_mtime_ns for path in written}
    assert unpack([dataset], tmp_path) == {}
    assert {path: path.stat().st_mtime_ns for path in written} == times


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lzma.compress(b"age;job\n"), "bank-additional-full.csv is declared with 74adfc578bf7"),
        ((RAW / "bank/bank-additional-full.csv.xz").read_bytes()[:-100], "cannot be unpacked"),
        (b"version https://git-lfs.github.com/spec/v1\n", "cannot be unpacked"),
    ],
    ids=["other content", "cut", "no archive"],
)
def test_a_damaged_copy_is_named_and_writes_nothing(content: bytes, words: str, tmp_path: Path):
    copy = packed(tmp_path, "bank/bank-additional-full.csv", content)
    with pytest.raises(DataError, match=words) as caught:
        unpack(["bank"], tmp_path)
    for part in (str(copy), "nothing was written", f"git checkout -- {copy}"):
        assert part in str(caught.value)
    assert list(copy.parent.iterdir()) == [copy]


def fetch(folder: Path, *arguments: str) -> tuple[int, str, str]:
    environment = {name: value for name, value in os.environ.items() if name != MIRROR_VARIABLE}
    command = [sys.executable, "-m", "partialfair", "data", "fetch", *arguments, "--offline", "--raw", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment | {"PYTHONPATH": "src"}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_fetch_unpacks_without_a_network_and_names_the_addresses_of_the_rest(tmp_path: Path):
    packed(tmp_path, "bank/bank-additional-full.csv")
    status, said, faults = fetch(tmp_path, "law_school", "bank", "a9a", "acs_income")
    assert status == 2 and said == (
        f"{tmp_path}/bank/bank-additional-full.csv: unpacked from {tmp_path}/bank/bank-additional-full.csv.xz\n"
    )
    for name, file in (("law_school", "law_school_clean.csv"), ("a9a", "a9a"), ("a9a", "a9a.t")):
        spec = plugins.load("datasets", name).SPEC
        url = next(entry.url for entry in spec.files if entry.name == file)
        assert f"{tmp_path}/{name}/{file}: its address is {url}\n" in faults
    assert (
        "ACSIncome_2018_union.parquet: not in the DVC cache nor in a mirror, and it has no download address" in faults
    )
    assert "`source: pums`" in faults
