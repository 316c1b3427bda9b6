"""What is looked at before the workflow does anything, whoever starts it: the Snakefile asks, as every entry reads it.

``partialfair run``, plain ``snakemake`` and ``make`` all load the Snakefile; ``partialfair doctor`` asks the parts that
need no command. Options are read by Snakemake's own parser, so that profiles and abbreviations count as they do there.
"""

import argparse
import io
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from partialfair import plugins
from partialfair.errors import ConfigError
from reproduction.commands import slurm
from reproduction.grid import paths
from reproduction.grid.machine import core_limit

if TYPE_CHECKING:
    from reproduction.grid.agreement import Agreement

KEYS = ("params", "datasets")
"""What ``--config`` takes."""
TRIGGERS = ("code", "input", "mtime", "params", "software-env")
"""By which Snakemake tells that a result is outdated; without one of them, something would go unnoticed."""
CHECKSUMS = "20GB"
LARGEST = 20_000_000_000
"""Bytes of the largest file that Snakemake knows by its content rather than its date, and the same as an option."""
MAKES_NOTHING = (
    "unlock", "cleanup_metadata", "lint", "list_rules", "list_target_rules", "report", "delete_all_output",
    "delete_temp_output", "cleanup_shadow", "conda_cleanup_envs", "container_cleanup_images", "archive",
)  # fmt: skip
"""Options of Snakemake, as its parser names them, with which it makes no result."""


@dataclass(frozen=True)
class Command:
    """A command of Snakemake, as its parser reads it.

    Attributes:
        arguments: its arguments.
        options: what the parser makes of them and of the profiles; ``None`` where another program uses Snakemake.
        local: whether jobs run on this machine.
        cores: the cores that jobs may use together on this machine.
    """

    arguments: list[str] = field(default_factory=list)
    options: Any = None
    local: bool = True
    cores: int | None = None

    @classmethod
    def read(cls, argv: Sequence[str], snakefile: str | Path = "Snakefile") -> "Command":
        """Read the command line of a process.

        Args:
            argv: with the program's name.
            snakefile: of the workflow, in case that the command names none.
        """
        if not argv or not {"snakemake", "snakemake.exe"} & {Path(argv[0]).name, Path(argv[0]).parent.name}:
            return cls()
        arguments = _in_this_folder(argv[1:], snakefile)
        told = io.StringIO()
        try:
            with redirect_stderr(told):  # it says a second time which profiles it reads
                options = import_module("snakemake.cli").parse_args(arguments)[1]
        except SystemExit:
            sys.stderr.write(told.getvalue())
            raise
        registry = import_module("snakemake_interface_executor_plugins.registry").ExecutorPluginRegistry()
        local = registry.get_plugin(options.executor or "local").common_settings.local_exec
        return cls(arguments, options, local, _cores(arguments, options) if local else None)

    @property
    def makes_results(self) -> bool:
        """Whether results are asked for."""
        return self.options is not None and not any(getattr(self.options, name, None) for name in MAKES_NOTHING)


def _in_this_folder(arguments: Sequence[str], snakefile: str | Path) -> list[str]:
    """Return a command without ``--directory``, as it would be given in that folder, where this process is by now."""
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    options, targets = list(arguments[:end]), list(arguments[end:])
    options = _without(options, "--directory", "-d")
    if len(options) < end:
        options = ["--snakefile", str(Path(snakefile).absolute()), *_without(options, "--snakefile", "-s")]
    return [*options, *targets]


def _without(options: list[str], name: str, short: str) -> list[str]:
    """Return the words of a command without an option of one value, in any form that argparse takes."""
    remaining: list[str] = []
    iterator = iter(options)
    for word in iterator:
        begin, equals, _ = word.partition("=")
        if word == short or (begin.startswith(name[:5]) and name.startswith(begin)):
            if not equals:
                next(iterator, None)
        elif not (word.startswith(short) and not word.startswith("--")):
            remaining.append(word)
    return remaining


def _cores(arguments: Sequence[str], options: Any) -> int | None:
    """Return the cores of a run on this machine: those of ``--cores``, or at most all and at most ``--jobs``."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--cores", "-c", nargs="?", const="all", default="all")
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if parser.parse_known_args(arguments[:end])[0].cores != "all":
        return options.cores
    limits = [core_limit(), options.cores, options.jobs]
    return min(limit for limit in limits if isinstance(limit, int))


def check_command(command: Command, config: Mapping[str, Any]) -> None:
    """Refuse a command that would do something else than it says; all that is wrong with it is said at once.

    Args:
        command: of Snakemake.
        config: what its options and files of configuration say.

    Raises:
        ConfigError: naming option, value and remedy.
    """
    faults = [*_unknown_keys(command, config)]
    if command.options is not None:
        faults += [*_other_executors(command), *_touched(command.options)]
        if command.makes_results and not command.options.dryrun:
            faults += cluster_faults(command.options)
    if faults:
        raise ConfigError("; ".join(faults))


def _unknown_keys(command: Command, config: Mapping[str, Any]) -> list[str]:
    """Return a sentence on the keys of the configuration that the workflow does not have, if there are any."""
    files = [str(file) for file in getattr(command.options, "configfile", None) or []]
    unknown = [key for key in config if key not in KEYS]
    wrong = [key for key in KEYS if not isinstance(config.get(key) or "", str)]
    if not unknown and not wrong:
        return []
    if files:
        return [
            f"--configfile {' '.join(files)}: the grid is the only configuration of this workflow, and a file of "
            f"options is not read beside it; say --config params={files[-1]} where that file is a whole grid, or write "
            f"{', '.join(map(str, [*unknown, *wrong]))} in params.yaml"
        ]
    hints = (f"{key}: {plugins.did_you_mean(str(key), KEYS)}" for key in unknown)
    texts = (f"{key} is {config[key]!r}: give text" for key in wrong)
    return [
        f"--config: {'; '.join([*hints, *texts])}; settings stand in the grid: write them in params.yaml, or in a copy "
        "of it that you name by --config params=FILE"
    ]


def _other_executors(command: Command) -> list[str]:
    """Return a sentence on a personal profile whose executor would give way to that of the default profile."""
    options = command.options
    if options.workflow_profile or _is_named(command.arguments, "--executor", "-e"):
        return []
    for name in options.profile or []:
        profile = import_module("snakemake.cli").get_profile_dir(str(name))
        content = yaml.safe_load(Path(profile[1]).read_text(encoding="utf-8")) if profile else None
        if isinstance(content, dict) and "executor" in content:
            origin = "--profile " if _is_named(command.arguments, "--profile") else "SNAKEMAKE_PROFILE="
            unset = ", or unset SNAKEMAKE_PROFILE to work on this machine" if origin.endswith("=") else ""
            return [
                f"{origin}{name} names the executor {content['executor']}, and that of workflow/profiles/default would "
                f"run all jobs on this machine in its place; say `partialfair run --profile {name}`, or `snakemake "
                f"--workflow-profile {name}`{unset}"
            ]
    return []


def _is_named(arguments: Sequence[str], *options: str) -> bool:
    return any(word.split("=")[0] in options for word in arguments)


def _touched(options: Any) -> list[str]:
    """Return a sentence on ``--touch``, after which Snakemake takes any file for what the present grid makes."""
    return ["--touch: results are told by content, not by date; leave it out, and what is outdated is made"] * bool(
        options.touch
    )


def cluster_faults(options: Any) -> list[str]:
    """Return a sentence on each thing that a batch system lacks or refuses, before anything is submitted."""
    if options.executor == "slurm":
        resources = getattr(options, "default_resources", None) or {}
        named = {name: _resource(resources, name) for name in ("slurm_account", "slurm_partition")}
        status = getattr(options, "slurm_status_command", None)
        return slurm.faults(
            slurm.partitions(getattr(options, "slurm_partition_config", None), named["slurm_partition"]),
            named["slurm_account"],
            [status] if isinstance(status, str) else [],
        )
    launch = getattr(options, "warm_launch", None)
    launcher = shlex.split(launch) if options.executor == "warm" and isinstance(launch, str) else []
    if launcher and shutil.which(launcher[0]) is None:
        return [
            f"{launcher[0]}, which the profile's warm-launch starts allocations with, is not on the PATH; start this "
            "where it is, as on a login node, or leave out the profile"
        ]
    return []


def _resource(resources: Any, name: str) -> str:
    """Return the text of a default resource; empty if it has none."""
    try:
        value = resources[name]
    except (KeyError, TypeError):
        return ""
    value = getattr(value, "raw", value)  # as it was written: it is worked out for a job alone
    return value.strip("'\"") if isinstance(value, str) else ""


def make_by_content(command: Command, agreement: "Agreement") -> None:
    """Have Snakemake make the results that do not agree with the grid, and know files by content.

    Where the command does not say so yet, it is replaced by one that does, with the options that Snakemake has for it.
    What is made, why and at what cost is printed, and which results are taken as they are for lack of a record.

    Raises:
        ConfigError: trained runs do not agree, and are too many to be named.
    """
    from reproduction.grid.agreement import MOST_FORCED

    if not command.makes_results:
        return
    options, targets = command.options, sorted(map(str, command.options.targets))
    stale = agreement.stale(targets)
    runs = [path for path in stale if path.startswith("data/runs/")]
    if len(runs) > MOST_FORCED:
        raise ConfigError(
            f"{len(runs):,} results below data/runs are of other settings or code, and Snakemake has no record of them "
            f"(the first is {runs[0]}: {stale[runs[0]]}); delete these folders, or --forcerun train and evaluate"
        )
    forced = {str(name) for name in options.forcerun}
    further = []
    if not stale.keys() <= forced and not options.forceall:
        further += ["--forcerun", *sorted(forced | stale.keys())]
    if int(options.max_checksum_file_size) < LARGEST:
        further += ["--max-checksum-file-size", CHECKSUMS]
    if not {*TRIGGERS} <= {str(trigger) for trigger in options.rerun_triggers}:
        further += ["--rerun-triggers", *TRIGGERS]
    if not further:
        agreement.takes_tables = not (options.forceall or options.force) and forced <= stale.keys()
        for line in explained(agreement, targets, stale):
            print(line, file=sys.stderr, flush=True)
        return
    before = command.arguments
    end = before.index("--") if "--" in before else len(before)
    sys.stdout.flush()
    arguments = [sys.executable, "-m", "snakemake", *before[:end], *further, *before[end:]]
    os.execv(sys.executable, arguments)  # noqa: S606 (no shell is wanted)


def explained(agreement: "Agreement", targets: Sequence[str], stale: Mapping[str, str]) -> list[str]:
    """Return a line on each result that does not agree, at most ten, on their cost, and on those taken as they are.

    Args:
        agreement: what the results say of themselves.
        targets: what is asked for.
        stale: the reason of each result behind the targets that does not agree, by path.
    """
    lines = [f"{path}: {reason}" for path, reason in stale.items()]
    if len(lines) > 10:
        lines = [*lines[:10], f"and {len(lines) - 10} more"]
    lines += [_cost(agreement, targets, stale)] if stale else []
    drawn = [Path(path).stem for path in stale if path.endswith(".csv") and Path(path).name not in paths.SUMMARY]
    from_tables = [name for name in drawn if agreement.grid.is_drawn_from_tables(name)]
    if from_tables and len(drawn) == len(stale):
        lines.append(f"tables are enough for some: `partialfair report {from_tables[0]}` draws it from them in seconds")
    taken = agreement.without_record(targets)
    if taken:
        more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        lines.append(f"{taken[0]}{more}: agrees with the grid and the code by its own record, and is taken as it is")
    return lines


def _cost(agreement: "Agreement", targets: Sequence[str], stale: Iterable[str]) -> str:
    """Return a line on how many runs behind the results that do not agree are not here, and what they took before."""
    from reproduction.commands.forecast import TRAIN, recorded

    config = agreement.config
    outdated = {Path(path).parent.name for path in stale if path.startswith(f"{paths.REPORTS}/")}
    exhibits = {name for name in outdated & {*config.params.exhibits} if not agreement.grid.is_drawn_from_tables(name)}
    behind = outdated & {*config.experiments}
    behind |= {name for exhibit in exhibits for name in agreement.grid.experiments_of(exhibit)}
    if not outdated & {*config.experiments, *config.params.exhibits}:  # runs themselves, or the scorecard
        behind = set(agreement.experiments(targets))
    jobs = [job for name in behind for job in config.jobs(name)]
    absent = [job for job in jobs if not (job.path / paths.FIT).is_file()]
    if not absent:
        return "nothing is trained for it"
    line = f"to make it, {len(absent):,} runs that are not here are trained"
    forecast = recorded(config, targets)
    if forecast is None:
        return line
    names = ("experiment", "dataset", "algorithm", "seed")
    wildcards = ({name: str(getattr(job, name)) for name in names} | {"kappa": job.kappa_text} for job in absent)
    minutes = sum(forecast.step(TRAIN, values) for values in wildcards) / 60
    return f"{line}: about {minutes:,.1f} minutes of one core, by what they took before"
