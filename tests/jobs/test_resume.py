"""Resuming a killed run, with a pretended Snakemake and Slurm; ``make test-cluster`` does it with the real ones."""

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from partialfair.data.files import read_json, write_json
from partialfair.errors import PartialFairError
from reproduction.jobs import orphaned_jobs
from reproduction.jobs.orphaned_jobs import local_jobs, run_ids
from reproduction.jobs.resume import RECORD, THEN, followed_by, record_run, resume
from tests.processes import running

QUEUE = 'cat queue 2> /dev/null; echo "squeue $*" >> calls'
CANCEL = 'rm -f queue; echo "scancel $*" >> calls'
SNAKEMAKE = """import sys
open("calls", "a").write(" ".join(["snakemake", *sys.argv[1:]]) + "\\n")
sys.exit(0 if "--unlock" in sys.argv else 7)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose run ``snakemake --jobs 4 demo`` was killed while its Slurm jobs 11 and 12 ran."""
    monkeypatch.chdir(tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, body in (("squeue", QUEUE), ("scancel", CANCEL)):
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "snakemake").mkdir()
    (tmp_path / "snakemake/__init__.py").touch()
    (tmp_path / "snakemake/__main__.py").write_text(SNAKEMAKE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    again(["--jobs", "4", "demo"])
    (tmp_path / ".snakemake/log").mkdir()
    (tmp_path / ".snakemake/log/one.log").write_text("SLURM run ID: 3f2a-77\nJob 1 has been submitted\n")
    (tmp_path / ".snakemake/locks").mkdir()
    (tmp_path / ".snakemake/locks/0.input.lock").touch()
    (tmp_path / "queue").write_text("11\n12\n")
    return tmp_path


def ended_process() -> int:
    """The number of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_orphans_are_cancelled_before_the_lock_goes_and_the_command_is_repeated(folder: Path):
    said: list[str] = []
    assert resume(["--quiet"], report=said.append) == 7
    calls = [line.split()[0:2] for line in (folder / "calls").read_text().splitlines()]
    assert [call[0] for call in calls] == ["squeue", "scancel", "squeue", "snakemake", "snakemake"]
    lines = (folder / "calls").read_text().splitlines()
    assert "--name=3f2a-77" in lines[0]
    assert lines[1] == "scancel 11 12"
    assert lines[3:] == ["snakemake --jobs 4 demo --quiet --unlock", "snakemake --jobs 4 demo --quiet"]
    assert said[0] == "cancelling 2 Slurm jobs of the killed run: 11 12"


def test_options_stand_before_the_targets(folder: Path):
    again(["--cores", "2", "--config", "params=params.yaml", "--", "demo"])
    assert resume(["--quiet"], report=lambda _: None) == 7
    begun = "snakemake --cores 2 --config params=params.yaml --quiet"
    assert (folder / "calls").read_text().splitlines()[3:] == [f"{begun} --unlock -- demo", f"{begun} -- demo"]


def test_a_lock_that_stays_is_one_sentence(folder: Path):
    (folder / "snakemake/__main__.py").write_text("raise SystemExit(3)")
    with pytest.raises(PartialFairError, match=r"--unlock. failed with status 3; \.snakemake/locks is as it was"):
        resume(report=lambda _: None)


def again(arguments: list[str]) -> None:
    """Record that a run with these arguments was killed."""
    record_run(arguments)
    write_json(RECORD, read_json(RECORD) | {"pid": ended_process()})


def test_without_orphans_nothing_is_cancelled(folder: Path):
    (folder / "queue").unlink()
    resume()
    assert "scancel" not in (folder / "calls").read_text()


def test_jobs_that_do_not_end_stop_it(folder: Path, monkeypatch: pytest.MonkeyPatch):
    (folder / "tools/scancel").write_text("#!/bin/sh\n")
    monkeypatch.setattr(orphaned_jobs, "PATIENCE", 0.0)
    with pytest.raises(PartialFairError, match="Slurm jobs 11 12 do not end"):
        resume()
    assert "snakemake" not in (folder / "calls").read_text()


def test_a_slurm_that_does_not_answer_stops_it(folder: Path):
    (folder / "tools/squeue").write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    with pytest.raises(PartialFairError, match="squeue: Unable to contact slurm controller; resume when Slurm answers"):
        resume()
    assert not (folder / "calls").exists()


def test_a_machine_without_slurm_stops_it_unless_told_that_all_has_ended(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(PartialFairError, match="squeue is not on the PATH"):
        resume()
    assert resume(ended=True) == 7


def test_a_run_of_another_machine_is_not_touched(folder: Path):
    write_json(RECORD, read_json(RECORD) | {"host": "login2"})
    with pytest.raises(PartialFairError, match="started on login2 as process"):
        resume()
    assert not (folder / "calls").exists()
    assert resume(ended=True) == 7


def test_a_run_that_goes_on_is_not_touched(folder: Path):
    with running("snakemake") as alive:
        write_json(RECORD, read_json(RECORD) | {"pid": alive})
        with pytest.raises(PartialFairError, match=f"still runs here as process {alive}"):
            resume()
    assert not (folder / "calls").exists()


def test_where_processes_cannot_be_read_a_run_that_goes_on_is_not_touched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """As on macOS, which has no /proc."""
    monkeypatch.setattr(orphaned_jobs, "PROCESSES", folder / "none")
    with running("snakemake") as alive:
        write_json(RECORD, read_json(RECORD) | {"pid": alive})
        with pytest.raises(PartialFairError, match=f"process {alive}, .* its command cannot be read; look"):
            resume()
    assert (folder / ".snakemake/locks/0.input.lock").exists()
    with pytest.raises(PartialFairError, match="has ended, but its jobs cannot be seen"):
        resume()
    assert not (folder / "calls").exists()
    assert resume(ended=True) == 7


def test_a_snakemake_of_another_folder_with_the_number_of_the_run_is_no_hindrance(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    with running("snakemake") as other:
        monkeypatch.chdir(folder)
        write_json(RECORD, read_json(RECORD) | {"pid": other})
        assert resume(report=lambda _: None) == 7


def test_what_was_to_follow_the_killed_run_follows(folder: Path):
    """As the targets do after outdated tables: the tables alone would be made, and the status be that of success."""
    started: list[tuple[list[str], list[str] | None]] = []

    def start(command: list[str], status: int = 0) -> int:
        started.append((command[3:], json.loads(os.environ.get(THEN, "null"))))
        return status

    then = ["--cores", "2", "--", "demo"]
    with followed_by(then):
        again(["--cores", "2", "--", "data/processed/simulated/table.npz"])
    assert THEN not in os.environ
    tables = ["--cores", "2", "--quiet", "--", "data/processed/simulated/table.npz"]
    targets = (["--cores", "2", "--quiet", "--", "demo"], None)
    assert resume(["--quiet"], report=lambda _: None, start=start) == 0
    assert started == [(tables, then), targets]  # killed once more, it would be recorded as before
    started.clear()
    assert resume(["--quiet"], report=lambda _: None, start=lambda command: start(command, 1)) == 1
    assert started == [(tables, then)]
    again(["demo"])
    started.clear()
    assert resume(report=lambda _: None, start=start) == 0
    assert started == [(["demo"], None)]


def test_no_other_run_begins_while_it_unlocks_and_runs(folder: Path):
    order: list[str] = []

    @contextmanager
    def alone():
        order.append("alone")
        yield
        order.append("done")

    resume(report=order.append, start=lambda _: order.append("start") or 0, alone=alone)
    assert order[-5:] == ["alone", "removing the lock of the killed run", "snakemake --jobs 4 demo", "start", "done"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"host": "here", "pid": 1}'])
def test_a_half_written_record_is_one_sentence(folder: Path, text: str):
    RECORD.write_text(text)
    with pytest.raises(PartialFairError, match=r"partialfair-run\.json: not what a run .* delete it, unlock"):
        resume()
    assert not (folder / "calls").exists()


def test_a_process_of_another_command_with_the_number_of_the_run_is_no_hindrance(folder: Path):
    with running() as other:
        write_json(RECORD, read_json(RECORD) | {"pid": other})
        assert resume(report=lambda _: None) == 7


def test_a_process_of_another_user_is_alive(monkeypatch: pytest.MonkeyPatch):
    def forbid(pid: int, signal: int) -> None:
        raise PermissionError(pid)

    assert orphaned_jobs.is_alive(os.getpid()) and not orphaned_jobs.is_alive(ended_process())
    monkeypatch.setattr(os, "kill", forbid)
    assert orphaned_jobs.is_alive(ended_process())


def test_local_jobs_that_outlived_their_snakemake_are_waited_for(folder: Path):
    """A pretended job: the words of its command line are those of a real one."""
    code = "import pathlib, time; print(flush=True); time.sleep(2); pathlib.Path('done').touch()"
    said: list[str] = []
    with subprocess.Popen([sys.executable, "-c", code, "-m", "partialfair", "train"], stdout=subprocess.PIPE) as orphan:
        assert orphan.stdout is not None and orphan.stdout.readline()  # others can read its command line now
        threading.Thread(target=orphan.wait, daemon=True).start()
        resume(report=said.append)
        assert (folder / "done").exists()
    assert any(f"processes {orphan.pid} " in line for line in said)


@pytest.mark.parametrize("verb", ["verify", "resume", "run", "summary"])
def test_what_is_no_job_of_the_workflow_is_not_waited_for(folder: Path, verb: str):
    """A `verify` in the same folder was called a job of the killed run, to be ended by `kill`."""
    with running("-m", "partialfair", verb, "demo"):
        assert not local_jobs()
    with running("-m", "partialfair", "evaluate", "demo") as job:
        assert local_jobs() == [job]


def test_without_a_recorded_run_it_says_so(folder: Path):
    RECORD.unlink()
    with pytest.raises(PartialFairError, match="no run of the workflow is recorded"):
        resume()


def test_names_of_runs_are_found_in_all_logs(folder: Path):
    (folder / ".snakemake/log/two.log").write_text("x\nSLURM run ID: prefix_9b1c\n")
    (folder / ".snakemake/log/three.log").write_text("a local run\n")
    assert run_ids() == ["3f2a-77", "prefix_9b1c"]


@pytest.fixture
def batch(folder: Path) -> Path:
    """The same with another batch system, where jobs 21 and 23 of 21 to 23 still run."""
    (folder / ".snakemake/log/one.log").write_text(
        "".join(
            f"Submitted {kind}job {n} with external jobid '2{n}'.\n" for n, kind in enumerate(["", "group ", ""], 1)
        )
    )
    (folder / "running").mkdir()
    for name in ("21", "23"):
        (folder / "running" / name).touch()
    scripts = {
        "status": '[ -e "running/$1" ] && echo running || echo success',
        "cancel": 'echo "cancel $*" >> calls; cd running && rm "$@"',
    }
    for name, body in scripts.items():
        (folder / "tools" / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / "tools" / name).chmod(0o755)
    (folder / "profile").mkdir()
    lines = ["executor: cluster-generic", "cluster-generic-status-cmd: status", "cluster-generic-cancel-cmd: cancel"]
    (folder / "profile/config.yaml").write_text("\n".join(lines))
    (folder / "queue").unlink()
    record = read_json(RECORD)
    write_json(RECORD, record | {"arguments": ["--workflow-profile=profile", "demo"]})
    os.utime(RECORD, (1.0, 1.0))
    return folder


def test_orphans_of_another_batch_system_are_cancelled_by_the_commands_of_its_profile(batch: Path):
    said: list[str] = []
    assert resume(report=said.append) == 7
    lines = (batch / "calls").read_text().splitlines()
    assert lines[0] == "cancel 21 23"
    assert lines[-1] == "snakemake --workflow-profile=profile demo"
    assert said[0] == "cancelling 2 jobs of the killed run: 21 23"


def test_a_batch_system_that_cannot_be_asked_stops_it(batch: Path):
    (batch / "tools/status").write_text("#!/bin/sh\necho no server >&2\nexit 1\n")
    with pytest.raises(PartialFairError, match="status '21': no server; resume when the batch system answers"):
        resume()
    (batch / "profile/config.yaml").write_text("executor: cluster-generic\n")
    with pytest.raises(PartialFairError, match="has no cluster-generic-status-cmd and cluster-generic-cancel-cmd"):
        resume()
    (batch / "profile/config.yaml").unlink()
    with pytest.raises(PartialFairError, match="profile of the killed run cannot be read"):
        resume()
    assert not (batch / "calls").exists()
    assert resume(ended=True) == 7


def record_arguments(*arguments: str) -> None:
    write_json(RECORD, read_json(RECORD) | {"arguments": [*arguments]})
    os.utime(RECORD, (1.0, 1.0))


def test_the_command_line_may_name_the_batch_system_itself(batch: Path):
    """Jobs of such a run were started a second time, and nothing was said."""
    submit = ["--executor", "cluster-generic", "--cluster-generic-submit-cmd", "submit"]
    record_arguments(*submit, "demo")
    with pytest.raises(PartialFairError, match="the command line of the killed run: has no cluster-generic-status-cmd"):
        resume()
    record_arguments(
        *submit, "--cluster-generic-status-cmd=status", "--cluster-generic-cancel-cmd", "cancel", "--", "demo"
    )
    assert resume(report=lambda _: None) == 7
    assert (batch / "calls").read_text().startswith("cancel 21 23\n")


def test_a_profile_that_names_no_batch_system_hides_none(batch: Path):
    (batch / "other").mkdir()
    (batch / "other/config.yaml").write_text("keep-going: true")
    record_arguments("--workflow-profile", "profile", "--profile", "other", "--", "demo")
    assert resume(report=lambda _: None) == 7
    assert (batch / "calls").read_text().startswith("cancel 21 23\n")


def test_a_profile_is_found_where_snakemake_finds_it(batch: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(batch / "home"))
    (batch / "home/snakemake").mkdir(parents=True)
    (batch / "profile").rename(batch / "home/snakemake/mine")
    record_arguments("--profile", "mine", "--", "demo")
    assert resume(report=lambda _: None) == 7
    assert (batch / "calls").read_text().startswith("cancel 21 23\n")


def test_a_batch_system_is_asked_only_of_jobs_that_may_run(batch: Path):
    """At 15,000 jobs that had ended, asking took minutes, and after cancelling as long again."""
    with (batch / ".snakemake/log/one.log").open("a") as log:
        log.write("Submitted job 4 with external jobid '24'.\nFinished jobid: 4 (Rule: train)\n")
    status = batch / "tools/status"
    status.write_text(status.read_text().replace("#!/bin/sh\n", '#!/bin/sh\necho "status $1" >> calls\n'))
    assert resume(report=lambda _: None) == 7
    lines = (batch / "calls").read_text().splitlines()
    assert lines[:6] == ["status 21", "status 22", "status 23", "cancel 21 23", "status 21", "status 23"]
