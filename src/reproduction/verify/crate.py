"""The committed results as a Workflow Run RO-Crate (https://w3id.org/ro/wfrun/workflow/0.5).

One run of the workflow: its Snakefile, the grid and the raw files that went in, and every file of ``reports`` that came
out, each with size and SHA-256. The crate is the checkout itself, so that only its metadata are written.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partialfair import __version__
from partialfair.data.files import atomic_path, sha256
from partialfair.errors import PartialFairError
from reproduction.datasets.named import named_dataset
from reproduction.grid import paths
from reproduction.grid.checkout import git
from reproduction.grid.config import Config
from reproduction.grid.papers import files, paper

if TYPE_CHECKING:
    from rocrate.rocrate import ROCrate

METADATA = "ro-crate-metadata.json"
PROFILES = (
    "https://w3id.org/ro/wfrun/process/0.5",
    "https://w3id.org/ro/wfrun/workflow/0.5",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
)
LICENCE = "https://spdx.org/licenses/BSD-3-Clause"
TYPES = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".yaml": "application/yaml",
}


def write_crate(config: Config, root: Path = Path()) -> Path:
    """Describe the committed results of a checkout; return the file of metadata, ``ro-crate-metadata.json``.

    Raises:
        PartialFairError: this is no git checkout with results.
    """
    listed, date = git("ls-files", str(paths.REPORTS), folder=root), git("log", "-1", "--format=%cI", folder=root)
    results = sorted(name for name in (listed or b"").decode().splitlines() if (root / name).is_file())
    if not results or date is None:
        raise PartialFairError(
            f"{root.absolute()}: no committed results in {paths.REPORTS}; run this in a git checkout"
        )
    from rocrate.rocrate import ROCrate

    crate = ROCrate()
    crate.name = "Committed results of partialfair"
    crate.description = (
        "Figures, tables, metrics and verdicts of five papers on fairness-constrained learning, made anew."
    )
    crate.license = _page(crate, LICENCE, "CreativeWork", "BSD 3-Clause licence")
    crate.datePublished = date.decode().strip()
    profiles = [_page(crate, address, "CreativeWork", "profile of this crate", "0.5") for address in PROFILES[:2]]
    profiles.append(_page(crate, PROFILES[2], "CreativeWork", "Workflow RO-Crate", "1.0"))
    crate.root_dataset["conformsTo"] = profiles
    authors = _page(crate, "#authors", "Organization", "The partialfair authors")
    crate.root_dataset["author"] = authors
    workflow = crate.add_workflow("Snakefile", "Snakefile", main=True, lang="snakemake", properties={
        "name": "partialfair", "version": __version__, "license": {"@id": LICENCE}})  # fmt: skip
    workflow["input"] = [_parameter(crate, "grid", "File"), _parameter(crate, "raw-data", "File")]
    workflow["output"] = [_parameter(crate, "results", "File")]
    for name in config.papers:
        crate.root_dataset.append_to("citation", _page(crate, f"#{name}", "ScholarlyArticle", paper(name).title))
    grid = [config.source, *(path for name in config.papers for path in files(name))]
    inputs = [_file(crate, root, path, "grid") for path in dict.fromkeys(grid) if (root / path).is_file()]
    outputs = [_file(crate, root, path, "results") for path in results]
    _run(crate, workflow, [*inputs, *_raw(crate, config)], outputs, authors, crate.datePublished)
    with atomic_path(root / METADATA) as target:
        target.write_text(json.dumps(crate.metadata.generate(), indent=1, default=str), encoding="utf-8")
    return root / METADATA


def _run(crate: "ROCrate", workflow: Any, inputs: list[Any], outputs: list[Any], agent: Any, end: Any) -> None:
    from rocrate.model.contextentity import ContextEntity

    action = ContextEntity(crate, "#run", {
        "@type": "CreateAction", "name": "make paper", "description": "The run that made the committed results.",
        "endTime": str(end), "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"}})  # fmt: skip
    crate.add(action)
    action["instrument"], action["agent"] = workflow, agent
    action["object"], action["result"] = inputs, outputs
    crate.root_dataset.append_to("mentions", action)


def _raw(crate: "ROCrate", config: Config) -> Iterator[Any]:
    """Yield the raw files that have an address: they are no part of the crate, but known by checksum."""
    seen = set()
    for dataset in config.datasets:
        spec = named_dataset(dataset, config.dataset_options(dataset)).spec
        for file in (file for file in spec.files if file.needed and file.url is not None):
            place = f"{spec.directory(paths.RAW).as_posix()}/{file.name}"
            if place in seen:
                continue
            seen.add(place)
            member = f"#{file.archive_member}" if file.archive_member else ""
            entity = crate.add_file(f"{file.url}{member}", fetch_remote=False, validate_url=False, properties={
                "name": place, "sha256": file.sha256, "contentSize": str(file.bytes), "description": spec.licence,
                "exampleOfWork": {"@id": "#parameter-raw-data"}})  # fmt: skip
            yield entity


def _file(crate: "ROCrate", root: Path, path: str, parameter: str) -> Any:
    about = {"name": path, "sha256": sha256(root / path), "contentSize": str((root / path).stat().st_size)}
    about |= {"encodingFormat": TYPES.get(Path(path).suffix, "application/octet-stream")}
    return crate.add_file(root / path, path, properties=about | {"exampleOfWork": {"@id": f"#parameter-{parameter}"}})


def _parameter(crate: "ROCrate", name: str, kind: str) -> Any:
    from rocrate.model.contextentity import ContextEntity

    return crate.add(ContextEntity(crate, f"#parameter-{name}", {
        "@type": "FormalParameter", "additionalType": kind, "name": name,
        "conformsTo": {"@id": "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"}}))  # fmt: skip


def _page(crate: "ROCrate", address: str, kind: str, name: str, version: str = "") -> Any:
    from rocrate.model.contextentity import ContextEntity

    about = {"@type": kind, "name": name} | ({"version": version} if version else {})
    return crate.add(ContextEntity(crate, address, about))
