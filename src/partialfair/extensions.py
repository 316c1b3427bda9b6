"""What other distributions add to this one, declared as entry points of the group ``partialfair``.

The workbench adds three things, each under its name: ``verbs``, a function that adds verbs to the command line;
``plugins``, a function that yields folders of plug-ins; ``masked``, a function that removes passwords from messages.
"""

from functools import cache
from importlib.metadata import entry_points
from typing import Any

GROUP = "partialfair"


@cache
def added(name: str) -> tuple[Any, ...]:
    """Return what the distributions that are installed declare under a name, imported.

    Args:
        name: ``"verbs"``, ``"plugins"`` or ``"masked"``.
    """
    return tuple(point.load() for point in sorted(entry_points(group=GROUP, name=name), key=lambda point: point.value))


def has_workbench() -> bool:
    """Tell whether a distribution adds verbs."""
    return bool(entry_points(group=GROUP, name="verbs"))
