"""The column ``setting`` of ``published.csv`` as kinds of exhibit read it: parts ``key=value`` between semicolons."""

from collections.abc import Mapping, Sequence

from partialfair.errors import DataError
from partialfair.plugins import did_you_mean
from reproduction.verdicts.published import Published

UNCONSTRAINED = "unconstrained"  # the one word that may stand without a value


def refused(row: Published, problem: str) -> DataError:
    """Return the error that names file, line and setting of a number, and then what is wrong and what to write."""
    return DataError(f"{row.where}: setting {row.setting!r}: {problem}")


def key_values(row: Published, keys: Sequence[str]) -> dict[str, str]:
    """Return the parts of a setting by key.

    Args:
        row: the published number.
        keys: those that the kind of exhibit reads.

    Raises:
        DataError: a part has no value or another key, or a key stands twice.
    """
    values: dict[str, str] = {}
    for item in filter(None, (text.strip() for text in row.setting.split(";"))):
        key, _, value = (text.strip() for text in item.partition("="))
        if item == UNCONSTRAINED:
            continue
        if key not in keys:
            raise refused(row, f"there is no key {key!r}; {did_you_mean(key, keys)}")
        if not value:
            raise refused(row, f"{key} has no value; write {key}=VALUE")
        if key in values:
            raise refused(row, f"{key} stands twice; remove one of them")
        values[key] = value
    return values


def word_value(row: Published, values: Mapping[str, str], key: str, valid: Sequence[str]) -> str:
    """Return a part that has to be one of some words.

    Raises:
        DataError: it is another, or missing.
    """
    if values.get(key) not in valid:
        problem = f"{key} is {values[key]!r}" if key in values else f"{key} is missing"
        raise refused(row, f"{problem}; write {' or '.join(f'{key}={word}' for word in valid)}")
    return values[key]


def kappa(row: Published, values: Mapping[str, str]) -> float | None:
    """Return the tolerance of a setting, ``None`` if it states none.

    Raises:
        DataError: it is no positive number.
    """
    if "kappa" not in values:
        return None
    try:
        value = float(values["kappa"])
    except ValueError:
        value = 0.0
    if not value > 0:
        raise refused(row, f"kappa is {values['kappa']!r}; give a positive number, or inf for no constraint")
    return value


def whole_number(row: Published, values: Mapping[str, str], key: str) -> int | None:
    """Return a part that has to be a whole number from 1 on, ``None`` if there is none.

    Raises:
        DataError: it is another.
    """
    if key not in values:
        return None
    if not (values[key].isascii() and values[key].isdigit() and int(values[key])):
        raise refused(row, f"{key} is {values[key]!r}; give a whole number from 1 on")
    return int(values[key])
