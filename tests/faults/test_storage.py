"""Disks that are full or read-only, damaged files, a clock that goes back, two runs at once, too little memory."""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.lab import JOB, KERNELS, LIMIT, RUN, SPLIT, TABLE, Lab, kill, make_lab

pytestmark = pytest.mark.slow

MIB = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 12 MiB; skipped where this user may not mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mounting a small disk is not possible here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def copy(finished: Lab, folder: Path) -> Lab:
    shutil.copytree(finished.folder, folder)
    return Lab(folder)


def fill(folder: Path) -> None:
    """Use up a disk to its last byte."""
    with open(folder / "filler", "wb", buffering=0) as stream:
        for size in (MIB, 4096, 1):
            try:
                while stream.write(b"\0" * size):
                    pass
            except OSError:
                continue


def empty(folder: Path) -> None:
    (folder / "filler").unlink()


def told(done: subprocess.CompletedProcess[str], *fragments: str) -> None:
    """The command failed with a sentence that says what to do."""
    assert done.returncode != 0
    assert "Traceback" not in done.stdout, done.stdout[-3000:]
    for fragment in fragments:
        assert fragment in done.stdout, done.stdout[-3000:]


def test_a_full_disk_stops_a_job_and_loses_nothing(finished: Lab, disk: Path) -> None:
    lab = copy(finished, disk / "lab")
    model = lab.path(f"{RUN}/model.npz")
    before = lab.results()
    fill(disk)
    for done in (lab.train(), lab.cli("data", "prepare", "loans"), lab.cli("collect", "demo")):
        told(done, "the disk is full", "free space there and run the same command again")
    assert lab.results() == before and not lab.leftovers()
    empty(disk)
    model.unlink()
    assert lab.train().returncode == 0
    assert model.read_bytes() == before[f"{RUN}/model.npz"]


@pytest.mark.long(suite="kills")
def test_a_full_disk_stops_the_workflow_which_then_goes_on(finished: Lab, disk: Path) -> None:
    lab = make_lab(disk / "lab")
    assert lab.snakemake("splits").returncode == 0
    fill(disk)
    told(lab.snakemake(), "free", "run the same command again")
    empty(disk)
    # Once more, while jobs are at work.
    running = lab.start(*lab.workflow())
    while running.poll() is None and not lab.path("logs/train").exists():
        time.sleep(0.02)
    fill(disk)
    output, _ = running.communicate(timeout=LIMIT)
    assert running.returncode != 0, output[-3000:]
    assert "disk is full" in output or "No space left on device" in output, output[-3000:]
    empty(disk)
    if "--unlock" in lab.snakemake("--dry-run", "demo").stdout:
        assert lab.snakemake("--unlock").returncode == 0
    done = lab.snakemake()
    assert done.returncode == 0, done.stdout[-3000:]
    assert lab.results() == finished.results()


def test_a_read_only_folder_is_named(finished: Lab, disk: Path) -> None:
    lab = copy(finished, disk / "lab")
    before = lab.results()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    told(lab.train(), RUN, "cannot be written to", "make the folder writable")
    told(lab.cli("report", "tradeoff"), "reports/tradeoff", "cannot be written to")
    told(lab.snakemake(), "cannot be written to", "make it writable")
    assert lab.results() == before
    assert lab.cli("verify", "demo").returncode == 0  # looking needs no writing


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_compiled_kernels_are_named(suffix: str, spoilt: Lab, tmp_path: Path) -> None:
    kernels = tmp_path / "kernels"
    shutil.copytree(KERNELS, kernels)
    files = [path for path in kernels.rglob(f"*{suffix}") if "hinge" in path.name or "adjoint" in path.name]
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[:20])
    before = spoilt.results()
    told(spoilt.train(NUMBA_CACHE_DIR=str(kernels)), str(kernels), "damaged", "delete that folder")
    assert spoilt.results() == before


@pytest.mark.long(suite="kills")
@pytest.mark.parametrize("name", ["model.npz", "fit.json", "scores.parquet", "metrics.json"])
def test_a_truncated_result_is_named_and_can_be_made_again(name: str, spoilt: Lab, finished: Lab) -> None:
    path = spoilt.path(f"{RUN}/{name}")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    found = spoilt.cli("verify", "demo", "--damage")
    assert found.returncode == 1 and f"BROKEN {RUN}/{name}: damaged" in found.stdout
    if name in ("model.npz", "fit.json"):
        told(spoilt.cli("evaluate", *JOB), f"{RUN}/{name}", "delete the file and train again")
    path.unlink()
    assert spoilt.snakemake(f"{RUN}/{name}").returncode == 0  # as the message says
    done = spoilt.snakemake()
    assert done.returncode == 0, done.stdout[-3000:]
    assert spoilt.results() == finished.results()


@pytest.mark.parametrize("file", [TABLE, SPLIT])
def test_a_truncated_input_is_named(file: str, spoilt: Lab) -> None:
    path = spoilt.path(file)
    path.write_bytes(path.read_bytes()[:-100])
    told(spoilt.train(), file, "not a readable", "delete the file")


@pytest.mark.long(suite="kills")
def test_two_workflows_in_one_folder(lab: Lab, finished: Lab) -> None:
    first = lab.start(*lab.workflow())
    try:
        locks = lab.path(".snakemake/locks")
        deadline = time.monotonic() + 600
        while not (locks.is_dir() and any(locks.iterdir())):
            assert first.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        told(lab.snakemake(), "cannot be locked", "no other Snakemake process", "--unlock")
        output, _ = first.communicate(timeout=1500)
        assert first.returncode == 0, output[-3000:]
    finally:
        if first.poll() is None:
            kill(first)
    assert lab.results() == finished.results()


def test_a_clock_that_goes_back_reruns_nothing(spoilt: Lab) -> None:
    rng = random.Random(0)
    now = time.time()
    for path in sorted(spoilt.folder.rglob("*")):
        if path.is_file() and ".snakemake" not in path.parts:
            moment = now + rng.uniform(-1e7, 1e7)
            os.utime(path, (moment, moment))
    done = spoilt.snakemake("--dry-run", "demo")
    assert done.returncode == 0 and "Nothing to be done" in done.stdout, done.stdout[-3000:]


@pytest.mark.long(suite="kills")
def test_inputs_from_the_future_do_not_stop_the_workflow(lab: Lab, finished: Lab) -> None:
    assert lab.snakemake("splits").returncode == 0
    tomorrow = time.time() + 86400
    for path in lab.folder.rglob("*.npz"):
        os.utime(path, (tomorrow, tomorrow))
    done = lab.snakemake()
    assert done.returncode == 0, done.stdout[-3000:]
    assert "times are in the future" in done.stdout
    assert lab.results() == finished.results()
    assert "Nothing to be done" in lab.snakemake("--dry-run", "demo").stdout


def test_too_little_memory_is_a_sentence(lab: Lab) -> None:
    text = lab.path("params.yaml").read_text()
    lab.path("params.yaml").write_text(text.replace("datasets:\n", "datasets:\n  simulated:\n    rows: 100000000\n", 1))
    command = "ulimit -v 3000000; exec python -m partialfair data prepare simulated --out big.npz"
    told(lab.run("bash", "-c", command, OMP_NUM_THREADS="1"), "out of memory", "mem_mb", "run the same command again")
    assert not lab.path("big.npz").exists() and not lab.leftovers()
