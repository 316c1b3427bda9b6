"""Raw files are obtained whole and right, or not at all."""

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from partialfair.errors import DataError
from reproduction.datasets.sources import MIRROR_VARIABLE, check, obtain
from reproduction.datasets.spec import RawFile

CONTENT = b"age;job\n" + b"56;clerk\n" * 500
DAMAGED = {
    "truncated": (CONTENT[:-100], "a truncated file"),
    "empty": (b"", "a truncated file"),
    "longer": (CONTENT + b"x", "a longer file"),
    "changed": (CONTENT.replace(b"56", b"57", 1), "a changed file"),
    "html": (b"<!DOCTYPE html><html>404</html>", "an HTML page instead of the data"),
}


def raw_file(**fields: object) -> RawFile:
    digests = {"sha256": hashlib.sha256(CONTENT).hexdigest(), "md5": hashlib.md5(CONTENT).hexdigest()}
    return RawFile(**({"name": "table.csv", "bytes": len(CONTENT)} | digests | fields))


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def scratched(archive: bytes) -> bytes:
    """Damage the compressed bytes of the only member, which follow its name."""
    start = archive.index(b".csv") + 8
    return archive[:start] + b"\xff" * 8 + archive[start + 8 :]


def put(path: Path, content: bytes = CONTENT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def content_address(file: RawFile) -> Path:
    return Path("files", "md5", file.md5[:2], file.md5[2:])


@pytest.fixture(autouse=True)
def no_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "raw" / "bank" / "table.csv"


@pytest.fixture
def served() -> Iterator[tuple[dict[str, bytes], str]]:
    """A web server: what to answer by path, and its address. It announces one byte more for ``/cut``."""
    pages: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"") + (self.path == "/cut")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *args: object) -> None:
            """Keep the test output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield pages, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def assert_nothing_written(target: Path) -> None:
    assert not target.parent.exists() or not list(target.parent.iterdir())


@pytest.mark.parametrize("layout", ["plain", "content-addressed", "old content-addressed"])
def test_mirror_layouts(layout: str, tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, mirror = raw_file(), tmp_path / "mirror"
    address = content_address(file)
    place = {"plain": Path("bank/table.csv"), "content-addressed": address}.get(layout, Path(*address.parts[2:]))
    put(mirror / place)
    monkeypatch.setenv(MIRROR_VARIABLE, str(mirror))
    assert obtain(file, target) == f"mirror {mirror}"
    assert target.read_bytes() == CONTENT
    assert [path.name for path in target.parent.iterdir()] == ["table.csv"]


def test_several_mirrors_are_tried_in_order(tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    put(second / "bank" / "table.csv")
    monkeypatch.setenv(MIRROR_VARIABLE, f"{first}{os.pathsep}{second}")
    assert obtain(raw_file(), target) == f"mirror {second}"


def test_mirror_that_is_no_folder_is_named(tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(DataError, match=f"{MIRROR_VARIABLE}: .*absent is not a folder"):
        obtain(raw_file(), target)


@pytest.mark.parametrize("configured", [False, True])
def test_dvc_cache_is_read(configured: bool, tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, cache = raw_file(), tmp_path / (".dvc/cache" if not configured else "elsewhere")
    put(tmp_path / ".dvc" / "config", b"[core]\n    analytics = false\n")
    if configured:
        put(tmp_path / ".dvc" / "config.local", b"[cache]\n    dir = ../elsewhere\n    type = copy\n")
    put(cache / content_address(file))
    put(tmp_path / "mirror" / "bank" / "table.csv", b"the cache comes first")
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path / "mirror"))
    assert obtain(file, target).startswith("DVC cache")
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("source", ["mirror", "cache", "upstream"])
def test_damaged_source_is_refused(
    source: str, damage: str, tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch, served
) -> None:
    content, kind = DAMAGED[damage]
    pages, address = served
    pages["/table.csv"] = content
    file = raw_file(url=f"{address}/table.csv")
    if source == "mirror":
        put(tmp_path / "mirror" / "bank" / "table.csv", content)
        monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path / "mirror"))
    if source == "cache":
        put(tmp_path / ".dvc" / "cache" / content_address(file), content)
    with pytest.raises(DataError) as caught:
        obtain(file, target)
    message = str(caught.value)
    for part in (str(target), kind, file.sha256, f"{file.bytes:,} bytes", "nothing was written"):
        assert part in message
    assert {"mirror": MIRROR_VARIABLE, "cache": "dvc pull", "upstream": "by hand"}[source] in message.split(";")[-1]
    assert_nothing_written(target)


@pytest.mark.parametrize("damage", DAMAGED)
def test_wrong_file_in_place_is_refused_and_kept(
    damage: str, tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, kind = DAMAGED[damage]
    put(target, content)
    put(tmp_path / "mirror" / "bank" / "table.csv")
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path / "mirror"))
    with pytest.raises(DataError, match=f"{kind}.*move the file away or delete it"):
        obtain(raw_file(), target)
    assert target.read_bytes() == content


def test_right_file_in_place_is_left_alone(target: Path) -> None:
    put(target)
    before = target.stat().st_mtime_ns
    assert obtain(raw_file(url="http://127.0.0.1:9/never-asked"), target) == "already present"
    assert target.stat().st_mtime_ns == before


def test_download(target: Path, served) -> None:
    pages, address = served
    pages["/table.csv"] = CONTENT
    assert obtain(raw_file(url=f"{address}/table.csv"), target) == f"{address}/table.csv"
    assert target.read_bytes() == CONTENT


def test_endless_answer_is_not_read_to_its_end(target: Path, served) -> None:
    pages, address = served
    pages["/table.csv"] = CONTENT * 2000  # 9 MB, read in pieces of 1 MiB
    with pytest.raises(DataError, match=r"a longer file .* got at least 1,048,576 bytes"):
        obtain(raw_file(url=f"{address}/table.csv"), target)
    assert_nothing_written(target)


def test_archive_member(target: Path, served) -> None:
    pages, address = served
    pages["/all.zip"] = zipped(**{"folder/other.csv": b"1", "folder/table.csv": CONTENT})
    obtain(raw_file(url=f"{address}/all.zip", archive_member="folder/table.csv"), target)
    assert target.read_bytes() == CONTENT


def test_archive_names_never_become_paths(tmp_path: Path, target: Path, served) -> None:
    pages, address = served
    pages["/all.zip"] = zipped(**{"../../evil.csv": b"1", "/evil.csv": b"1", "table.csv": CONTENT})
    obtain(raw_file(url=f"{address}/all.zip", archive_member="table.csv"), target)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [target]


@pytest.mark.parametrize("member", ["../table.csv", "/etc/table.csv", "a/../../table.csv"])
def test_archive_member_must_stay_inside(member: str) -> None:
    with pytest.raises(DataError, match=r"leaves the archive"):
        raw_file(url="http://x/all.zip", archive_member=member)


@pytest.mark.parametrize("name", ["../table.csv", "a/b.csv", "", "..", "/table.csv", "a\\b.csv"])
def test_raw_file_name_must_be_bare(name: str) -> None:
    with pytest.raises(DataError, match=r"bare file name"):
        raw_file(name=name)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<html>moved</html>", "sent an HTML page"),
        (zipped(**{"other.csv": CONTENT}), "no archive with folder/table.csv"),
        (zipped(**{"folder/table.csv": CONTENT})[:100], "no archive with folder/table.csv"),
        (scratched(zipped(**{"folder/table.csv": CONTENT})), "no archive with folder/table.csv"),
        (zipped(**{"folder/table.csv": CONTENT[:-1]}), "a truncated file"),
    ],
    ids=["html", "member missing", "cut archive", "damaged archive", "damaged member"],
)
def test_bad_archive_is_refused(body: bytes, expected: str, target: Path, served) -> None:
    pages, address = served
    pages["/all.zip"] = body
    with pytest.raises(DataError, match=expected):
        obtain(raw_file(url=f"{address}/all.zip", archive_member="folder/table.csv"), target)
    assert_nothing_written(target)


def test_connection_cut_is_refused(target: Path, served) -> None:
    pages, address = served
    pages["/cut"] = CONTENT[:-1]
    with pytest.raises(DataError, match=r"truncated|could not be read"):
        obtain(raw_file(url=f"{address}/cut"), target)
    assert_nothing_written(target)


@pytest.mark.parametrize("path", ["missing", None])
def test_unreachable_upstream_names_address_and_remedy(path: str | None, target: Path, served) -> None:
    address = "http://127.0.0.1:9/table.csv" if path is None else f"{served[1]}/{path}"
    with pytest.raises(DataError, match=f"{address} could not be read .*{MIRROR_VARIABLE}"):
        obtain(raw_file(url=address), target)
    assert_nothing_written(target)


def test_no_source_names_remedies(target: Path) -> None:
    with pytest.raises(DataError, match=f"no download address.*{MIRROR_VARIABLE}.*dvc pull.*ask the census"):
        obtain(raw_file(remedy="or ask the census"), target)


def test_offline_never_downloads(target: Path, served) -> None:
    pages, address = served
    pages["/table.csv"] = CONTENT
    with pytest.raises(DataError, match=r"network is not to be used"):
        obtain(raw_file(url=f"{address}/table.csv"), target, offline=True)


def test_check_of_missing_file_names_it(target: Path) -> None:
    with pytest.raises(DataError, match=r"table\.csv: raw file missing"):
        check(raw_file(), target)
