"""Without the network; files that are data, never code; nothing outside its folder; no secrets in messages."""

import os
import re
import socket
import subprocess
import tomllib
from dataclasses import replace
from importlib.metadata import metadata, version
from pathlib import Path

import numpy as np
import pytest

from partialfair import plugins
from partialfair.errors import DataError
from partialfair.models.stored import load_model
from reproduction.commands.masking import masked
from reproduction.datasets import sources
from tests import network
from tests.faults.lab import ROOT, Lab

SOURCE = sorted((ROOT / "src").rglob("*.py"))


def test_the_guard_refuses_other_machines_and_lets_this_one_pass() -> None:
    with network.refused() as tried:
        for call in (
            lambda: socket.create_connection(("192.0.2.1", 80), timeout=0.1),
            lambda: socket.create_connection(("data.example.org", 80), timeout=0.1),
            lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53)),
        ):
            with pytest.raises(network.NetworkUsed):
                call()
        assert len(tried) == 3
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()


def test_the_guard_is_on_for_every_test() -> None:
    with pytest.raises(network.NetworkUsed):
        socket.create_connection(("192.0.2.1", 80), timeout=0.1)


@pytest.mark.slow
def test_a_run_without_any_network_interface_and_with_other_threads_gives_the_same_bytes(
    lab: Lab, finished: Lab
) -> None:
    """One more run: in a network namespace of its own, two threads per job, one job at a time."""
    alone = ("unshare", "--net", *(["--map-root-user"] if os.getuid() else []))
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a network namespace is not possible here")
    seen = lab.run(*alone, "python", "-c", "import socket; print(socket.if_nameindex())")
    assert "eth" not in seen.stdout and "lo" in seen.stdout
    text = lab.path("params.yaml").read_text()
    lab.path("params.yaml").write_text(text.replace("threads: 1", "threads: 2"))
    done = lab.run(*alone, *lab.workflow())
    assert done.returncode == 0, done.stdout[-4000:]
    expected, found = finished.results(), lab.results()
    assert sorted(found) == sorted(expected)
    assert [name for name in expected if found[name] != expected[name]] == []


def test_nothing_unpickles_or_evaluates_files() -> None:
    forbidden = re.compile(
        r"\b(pickle|joblib|dill|marshal|shelve)\b\.?|allow_pickle=True|read_pickle|torch\.load\((?!.*weights_only=True)"
        r"|yaml\.(unsafe_|full_)?load\((?!.*Loader=_(UniqueKey|Safe)Loader)|(?<!\.)\b(eval|exec)\("
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in SOURCE
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if forbidden.search(line.split("#")[0]) and '"""' not in line and "import_module" not in line
    ]
    assert found == []


def test_every_load_of_arrays_refuses_pickles() -> None:
    loads = [line for path in SOURCE for line in path.read_text(encoding="utf-8").splitlines() if "np.load(" in line]
    assert loads and all("allow_pickle=False" in line for line in loads)


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __reduce__(self) -> tuple:
        return Path.touch, (Path("trapped"),)


def test_a_malicious_model_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trap = np.empty(1, object)
    trap[0] = Trap()
    np.savez(tmp_path / "model.npz", kind=np.array("linear"), weights=trap)
    with pytest.raises(DataError, match="model.npz: not a readable model .*allow_pickle=False.*train again"):
        load_model(tmp_path / "model.npz")
    assert not Path("trapped").exists()
    np.load(tmp_path / "model.npz", allow_pickle=True)["weights"]  # the trap works where pickles are allowed
    assert Path("trapped").exists()


@pytest.mark.parametrize("kind", ["../../../evil", "os", "store.os", "no_such_kind"])
def test_a_model_names_no_foreign_module(kind: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", kind=np.array(kind))
    with pytest.raises(DataError, match="unknown kind of model"):
        load_model(tmp_path / "model.npz")


def test_archives_are_read_as_streams_only() -> None:
    """No name inside an archive becomes a path: nothing is extracted (see tests/datasets/test_sources.py)."""
    pattern = re.compile(r"extractall|\.extract\(|unpack_archive|tarfile")
    found = [path.name for path in SOURCE if pattern.search(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    ("text", "secret", "kept"),
    [
        ("https://ann:hunter2@data.example.org/a", "hunter2", "https://***@data.example.org/a"),
        ("https://hunter2@data.example.org", "hunter2", "https://***@data.example.org"),
        ("https://data.example.org/a?token=hunter2&v=1", "hunter2", "v=1"),
        ("s3://b/a?X-Amz-Signature=hunter2", "hunter2", "s3://b/a"),
    ],
)
def test_addresses_in_messages_hold_no_secrets(
    text: str, secret: str, kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert secret not in sources.masked(text) and kept in sources.masked(text)
    monkeypatch.setenv(sources.MIRROR_VARIABLE, text)
    with pytest.raises(DataError) as told:
        sources.mirrors()
    assert secret not in str(told.value) and "name a folder" in str(told.value)
    file = plugins.load("datasets", "a9a").SPEC.files[0]
    monkeypatch.delenv(sources.MIRROR_VARIABLE)
    with pytest.raises((DataError, network.NetworkUsed)) as failed:
        sources.obtain(replace(file, url=text), tmp_path / "a9a" / "a9a")
    if isinstance(failed.value, DataError):
        assert secret not in masked(failed.value)  # as the command line prints it


def test_every_dependency_is_pinned_with_checksums_and_a_licence_that_can_be_named() -> None:
    """Advisories cannot be looked up offline; what is installed is at least what the lock names, under known terms."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", lock, re.MULTILINE))
    blocks = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(pins) > 100
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    direct = [re.match(r"[A-Za-z0-9._-]+", text).group().lower() for text in project["dependencies"]]  # type: ignore[union-attr]
    strict = re.compile(r"\b(AGPL|GPL|SSPL|Commons Clause|proprietary)\b", re.IGNORECASE)
    for name in direct:
        assert version(name) == pins[name], f"{name} {version(name)} is installed, the lock has {pins[name]}"
        facts = metadata(name)
        terms = facts.get("License-Expression") or facts.get("License") or ""
        classifiers = [entry for entry in facts.get_all("Classifier") or [] if entry.startswith("License")]
        assert terms or classifiers, f"{name} names no licence"
        assert not strict.search(f"{terms[:200]} {classifiers}") or "LGPL" in terms, (
            f"{name}: {terms[:80]} {classifiers}"
        )


def test_the_install_step_demands_checksums() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"pip install .*--require-hashes.* -r requirements\.lock", makefile)
