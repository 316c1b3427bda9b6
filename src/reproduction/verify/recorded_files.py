"""Files as DVC and git recorded them: their content, and which of them are not as committed."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from partialfair.data.files import read_json
from partialfair.errors import DataError
from reproduction.grid.checkout import git

LOCK = Path("dvc.lock")
_CACHE = Path(".dvc/cache/files/md5")


@dataclass(frozen=True)
class RecordedFiles:
    """The content of files when ``dvc commit`` last recorded them.

    Attributes:
        md5: checksums by path; files of a folder only where DVC's cache has the folder's list.
        folders: folders whose lists were found.
    """

    md5: dict[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    @classmethod
    def read(cls) -> "RecordedFiles":
        """Read ``dvc.lock`` and the lists of its folders; empty where there are none.

        Raises:
            DataError: one of them is not what DVC writes, as after a power cut.
        """
        import yaml

        if not LOCK.is_file():
            return cls()
        md5: dict[str, str] = {}
        folders, read = [], LOCK
        try:
            stages = (yaml.safe_load(LOCK.read_text(encoding="utf-8")) or {}).get("stages", {})
            for out in (out for stage in stages.values() for out in stage.get("outs", ())):
                name, digest = out["path"], str(out.get("md5", ""))
                listed = _CACHE / digest[:2] / digest[2:]
                if not digest.endswith(".dir"):
                    md5[name] = digest
                elif listed.is_file():
                    read = listed
                    folders.append(name)
                    md5.update({f"{name}/{entry['relpath']}": entry["md5"] for entry in read_json(listed)})
                    read = LOCK
        except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError):
            remedy = f"restore it: `git checkout {LOCK}`" if read == LOCK else "delete it, and run `dvc pull`"
            raise DataError(f"{read}: not what DVC writes, as after a power cut; {remedy}") from None
        return cls(md5, tuple(folders))

    @property
    def knows_reports(self) -> bool:
        """Whether reports were recorded or committed: DVC keeps no list of them in a fresh clone, git does."""
        return "reports" in self.folders or bool(self._committed)

    def knows_report(self, path: str | Path) -> bool:
        """Whether a file of ``reports/`` was recorded or committed."""
        name = Path(path).as_posix()
        return name in self._committed or (name in self.md5 and name.startswith("reports/"))

    def is_recorded(self, path: str | Path) -> bool:
        """Whether a file has the content that was recorded."""
        digest = self.md5.get(Path(path).as_posix())
        if digest is None or not Path(path).is_file():
            return False
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "md5").hexdigest() == digest

    def is_untouched(self, path: str | Path) -> bool:
        """Whether a file has the content that was recorded or committed."""
        name = Path(path).as_posix()
        return (name in self._committed and name not in self._changed) or self.is_recorded(path)

    def is_edited(self, path: str | Path) -> bool:
        """Whether a file was recorded or committed, and has neither content now."""
        name = Path(path).as_posix()
        return (name in self.md5 or name in self._committed) and not self.is_untouched(path)

    @cached_property
    def _committed(self) -> frozenset[str]:
        return _git("ls-files", "reports")

    @cached_property
    def _changed(self) -> frozenset[str]:
        return _git("diff", "--name-only", "--relative", "HEAD", "--", "reports")


def _git(*arguments: str) -> frozenset[str]:
    """Return the lines that a git command prints; none outside a repository."""
    output = git(*arguments)
    return frozenset() if output is None else frozenset(output.decode().splitlines())
