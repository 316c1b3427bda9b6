"""Two users of one folder of a group, each with a `umask` that forbids the group to write, follow one another."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.workflow.project import LIMIT, TINY, Project, make_project

USERS = ("daemon", "bin")
GROUP = 2000


def as_user(project: Project, name: str, home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user who may read everything, as these tests lie in a private folder, and is no superuser."""
    home.mkdir(exist_ok=True)
    shutil.chown(home, name)
    capabilities = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
    user = ["setpriv", *capabilities, "--reuid", name, "--regid", name, "--groups", str(GROUP)]
    return subprocess.run(
        [*user, "env", f"HOME={home}", "PYTHONPATH=src", *command],
        cwd=project.folder, env=project.environment(), umask=0o022, capture_output=True, text=True, timeout=LIMIT,
        check=False,
    )  # fmt: skip


@pytest.mark.long(suite="entries")
@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root, to be two other users")
def test_two_users_of_a_group_follow_one_another() -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folder is closed to others
        folder = Path(name)
        folder.chmod(0o755)
        follow_one_another(folder)


def follow_one_another(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    for path in (project.folder, *project.folder.rglob("*")):
        if not path.is_symlink():
            os.chown(path, -1, GROUP)
            path.chmod(path.stat().st_mode | (0o2070 if path.is_dir() else 0o060))
    for seeds, user in (([0], USERS[0]), ([0, 1], USERS[1])):
        project.write_params({**TINY, "seeds": seeds})
        done = as_user(
            project, user, tmp_path / user, sys.executable, "-m", "partialfair", "run", "demo", "--cores", "2"
        )
        log = project.folder / "logs/run.log"
        assert done.returncode == 0, done.stdout + done.stderr + log.read_text(encoding="utf-8")[-2000:]
    planned = as_user(project, USERS[1], tmp_path / USERS[1], sys.executable, "-m", "snakemake", "-n", "--", "demo")
    assert "Nothing to be done" in planned.stdout + planned.stderr
