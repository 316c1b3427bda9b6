"""What is refused before the workflow does anything, by every entry, and what its limits are."""

import stat
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from partialfair.errors import ConfigError
from reproduction.commands import preflight, slurm
from reproduction.commands.preflight import Command, check_command
from reproduction.grid.machine import core_limit
from tests.workflow.project import ROOT


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("SNAKEMAKE_PROFILE", raising=False)


def read(*words: str) -> Command:
    return Command.read(["snakemake", *words])


def refused(config: dict[str, Any], *words: str) -> str:
    with pytest.raises(ConfigError) as caught:
        check_command(read(*words), config)
    return str(caught.value)


@pytest.mark.parametrize("config", [{}, {"params": "own.yaml"}, {"params": "params.yaml", "datasets": "a9a bank"}])
def test_what_the_workflow_knows_is_taken(config: dict[str, Any]) -> None:
    check_command(read("-n", "demo"), config)


def test_every_other_key_is_refused_and_all_of_them_are_named() -> None:
    said = refused({"param": "x.yaml", "seeds": [9], "threads": 4}, "-n", "--config", "param=x.yaml", "seeds=[9]")
    assert "param: did you mean 'params'?" in said and "seeds" in said and "threads" in said
    assert "--config params=FILE" in said


@pytest.mark.parametrize("config", [{"seeds": [7]}, {"datasets": {"simulated": {"rows": 5}}}])
def test_a_file_of_configuration_is_refused_with_what_to_say(tmp_path: Path, config: dict[str, Any]) -> None:
    file = tmp_path / "small.yaml"
    file.write_text("seeds: [7]\n")
    said = refused(config, "-n", "--configfile", str(file), "--", "demo")
    assert f"--config params={file}" in said


def test_touch_is_refused() -> None:
    assert "--touch: results are told by content" in refused({}, "--touch", "demo")


def test_faults_are_said_at_once() -> None:
    said = refused({"seeds": [9]}, "--touch", "demo")
    assert "seeds" in said and "--touch" in said


@pytest.mark.parametrize(
    ("words", "cores"),
    [
        (["-j", "1"], 1), (["-j1"], 1), (["--jobs", "1"], 1), (["-j", "1000"], core_limit()), ([], core_limit()),
        (["--cores", "all"], core_limit()), (["--cores", "7"], 7), (["-c7", "-j", "1000"], 7), (["--cores=3"], 3),
        (["--cores", "977", "all"], 977),
    ],
)  # fmt: skip
def test_cores_of_a_run_on_this_machine(words: list[str], cores: int) -> None:
    assert read(*words, "--", "demo").cores == cores


def test_a_personal_profile_keeps_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.yaml").write_text("jobs: 100\n")
    monkeypatch.setenv("SNAKEMAKE_PROFILE", str(tmp_path))
    command = read("demo")
    check_command(command, {})
    assert command.local and command.cores == core_limit()


def test_a_personal_profile_with_an_executor_is_named_with_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text("executor: slurm\njobs: 100\n")
    said = refused({}, "--profile", str(tmp_path), "-n", "demo")
    assert f"--profile {tmp_path} names the executor slurm" in said and "unset" not in said
    monkeypatch.setenv("SNAKEMAKE_PROFILE", str(tmp_path))
    said = refused({}, "-n", "demo")
    assert (
        said.startswith(f"SNAKEMAKE_PROFILE={tmp_path} names the executor slurm") and "unset SNAKEMAKE_PROFILE" in said
    )
    assert f"partialfair run --profile {tmp_path}" in said
    command = read("--workflow-profile", str(tmp_path), "-n", "demo")
    check_command(command, {})
    assert not command.local and command.cores is None


ELSEWHERE = [["--directory", "x"], ["-d", "x"], ["--directory=x"], ["-dx"], ["--dir", "x"]]


@pytest.mark.parametrize("words", ELSEWHERE)
def test_a_command_for_another_folder_is_read_as_one_in_that_folder(words: list[str]) -> None:
    """Snakemake has gone there by the time that the Snakefile is read, and has to find itself again if replaced."""
    command = Command.read(["snakemake", "-n", *words, "--", "-d"], ROOT / "Snakefile")
    assert command.arguments == ["--snakefile", str(ROOT / "Snakefile"), "-n", "--", "-d"]
    for snakefile in (["-s", "../S"], ["--snakefile=../S"], ["-s../S"]):
        arguments = Command.read(["snakemake", "-n", *snakefile, *words], "/there/S").arguments
        assert arguments == ["--snakefile", "/there/S", "-n"], "a path that is relative to where the command was given"
    assert Command.read(["snakemake", "-n", "demo"]).arguments == ["-n", "demo"]


def test_what_snakemake_says_of_a_wrong_command_is_heard(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SNAKEMAKE_PROFILE", "/nonexistent")
    with pytest.raises(SystemExit):
        read("-n", "demo")
    assert "profile directory given (/nonexistent)" in capsys.readouterr().err


def test_another_program_that_uses_snakemake_is_let_through() -> None:
    check_command(Command.read(["pytest", "--touch"]), {})
    assert not Command.read(["pytest"]).makes_results


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with commands of Slurm, alone on the path; sbatch notes its arguments and takes every job."""
    folder = tmp_path / "bin"
    folder.mkdir()
    read(*SLURM, "-n")  # plug-ins that are imported for the first time ask `which` for programs
    monkeypatch.setenv("PATH", str(folder))
    for name in ("scancel", "squeue", "sbatch"):
        write(folder / name, f'echo "$@" >> {tmp_path}/asked')
    return folder


def write(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


SLURM = ("--workflow-profile", "workflow/profiles/slurm")


def test_slurm_that_takes_a_job_in_each_partition_is_right(batch: Path) -> None:
    check_command(read(*SLURM, "--default-resources", "slurm_account=lab", "--", "demo"), {})
    asked = (batch.parent / "asked").read_text().splitlines()
    assert len(asked) == 2
    for line, partition in zip(asked, ("cpu", "gpu"), strict=True):
        assert "--test-only" in line and f"--partition={partition}" in line and "--account=lab" in line
        assert "--time=120" in line


def test_the_time_that_is_asked_for_is_one_that_the_partition_has(tmp_path: Path) -> None:
    file = tmp_path / "partitions.yaml"
    file.write_text("partitions:\n  short: {max_runtime: 30}\n  long: {max_runtime: 9999}\n  any: {}\n")
    assert slurm.partitions(file) == {"short": 30, "long": 120, "any": 120}
    assert slurm.partitions(None, "mine") == {"mine": 120} and slurm.partitions(None) == {"": 120}


@pytest.mark.parametrize("name", ["sbatch", "scancel", "squeue"])
def test_a_command_of_slurm_that_is_missing_is_named(batch: Path, name: str) -> None:
    (batch / name).unlink()
    assert f"{name} is not on the PATH" in refused({}, *SLURM, "--", "demo")


def test_what_slurm_says_against_a_job_is_quoted_for_every_partition(batch: Path) -> None:
    write(batch / "sbatch", 'echo "sbatch: error: invalid partition specified: $2" >&2; exit 1')
    said = refused({}, *SLURM, "--", "demo")
    assert said.count("invalid partition specified") == 2 and "partition cpu" in said and "partition gpu" in said


def test_a_slurm_that_does_not_answer_ends_in_seconds(batch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(batch / "sbatch", "exec /bin/sleep 60")
    monkeypatch.setattr(slurm, "PATIENCE", 0.3)
    began = time.monotonic()
    assert "gave no answer" in refused({}, *SLURM, "--", "demo")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("words", [["--dry-run"], ["--unlock"], ["--delete-all-output"], ["--lint"]])
def test_nothing_is_asked_of_slurm_where_nothing_is_sent(batch: Path, words: list[str]) -> None:
    (batch / "sbatch").unlink()
    check_command(read(*SLURM, *words, "--", "demo"), {})


def test_the_triggers_are_those_that_snakemake_has() -> None:
    from snakemake.settings.enums import RerunTrigger

    assert {*preflight.TRIGGERS} == {str(trigger) for trigger in RerunTrigger}


def test_what_starts_the_allocations_of_a_pool_is_looked_for(batch: Path) -> None:
    options = SimpleNamespace(executor="warm", warm_launch="srun --nodes=1 --time=240")
    (said,) = preflight.cluster_faults(options)
    assert said.startswith("srun, which the profile's warm-launch starts allocations with, is not on the PATH")
    (batch / "srun").write_text("#!/bin/sh\n")
    (batch / "srun").chmod(0o755)
    assert preflight.cluster_faults(options) == []
    assert preflight.cluster_faults(SimpleNamespace(executor="warm", warm_launch=None)) == []
