"""Building the constraints of a family by its name."""

from typing import Any

from numpy.typing import NDArray

from partialfair import plugins


def built(name: str, group: NDArray[Any], y: NDArray[Any], **options: Any) -> Any:
    """The constraints of a family on rows: a :class:`~partialfair.constraints.program.HingeProgram` or another make.

    Args:
        name: of the family.
        group: (n,) codes 0..G-1.
        y: (n,) labels -1 and +1.
        options: ``interval``, ``kappa``, ``kappa_scale``, ``grid``, and ``closed`` where the family has it.

    Raises:
        PluginError: there is no such family, or its ``build`` is at fault, not the algorithm that asked for it.
    """
    family = plugins.load("constraints", name)
    return plugins.run_plugin(f"constraint {name!r}: build", family.__file__, family.build, group, y, **options)
