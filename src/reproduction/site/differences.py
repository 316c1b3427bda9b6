"""Where results differ from a paper, and why: the entries of ``docs/differences.yaml``."""

import yaml
from pydantic import BaseModel, ConfigDict, Field

from reproduction.site.project import Project


class Card(BaseModel):
    """One place where results differ from a paper, and why."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(description="what differs, in a sentence")
    why: str = Field(description="the reason, as far as it is known")
    paper: str = Field(description="folder of the paper")
    exhibit: str = Field(description="exhibit whose picture shows it")
    status: str = Field("explained", description="explained or open")


def load(project: Project) -> list[Card]:
    """Return the entries, in their order; none if there is no such file."""
    path = project.root / "docs" / "differences.yaml"
    if not path.is_file():
        return []
    return [Card.model_validate(entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8"))]
