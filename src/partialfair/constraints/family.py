"""Families of constraints: the variants that a family's option chooses among, and building constraints by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from numpy.typing import NDArray

from partialfair import plugins
from partialfair.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A family of constraints at one value of its option.

    A module of a family binds ``OPTION``, the option's name, and ``VARIANTS``, which maps every value of the option
    to its variant. Its ``build`` takes the value under the option's name.

    Attributes:
        name: name of the variant in grids, estimators, tables and files; it stands in the module as a plain text.
        title: a few words for tables.
        short: abbreviation on axes and in names of numbers; empty if there is none.
        violation: metric that measures the constraint, by scale of kappa.
    """

    name: str
    title: str
    short: str = ""
    violation: Mapping[str, str]


V = TypeVar("V", bound=Variant)


def variant(family: str, variants: Mapping[str, V], option: str, value: str) -> V:
    """Return the variant of a value of a family's option.

    Args:
        family: name of the family, or of its module.
        variants: variants of the family by value.
        option: name of the option.
        value: the value that is looked up.

    Raises:
        ConfigError: the family has no such value.
    """
    if value not in variants:
        name = family.rpartition(".")[2]
        raise ConfigError(f"{option} of constraint {name!r} is {value!r}; choose from {', '.join(variants)}")
    return variants[value]


def built(name: str, group: NDArray[Any], y: NDArray[Any], **options: Any) -> Any:
    """The constraints of a family on rows: a :class:`~partialfair.constraints.program.HingeProgram` or another make.

    Args:
        name: of the constraint.
        group: (n,) codes 0..G-1.
        y: (n,) labels -1 and +1.
        options: ``interval``, ``kappa``, ``kappa_scale``, ``grid``, and ``closed`` where the family has it.

    Raises:
        PluginError: there is no such constraint, or its ``build`` is at fault, not the algorithm that asked for it.
    """
    family = plugins.load("constraints", name)
    return plugins.run_plugin(f"constraint {name!r}: build", family.__file__, family.build, group, y, **options)
