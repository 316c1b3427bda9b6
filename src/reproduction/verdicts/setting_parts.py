"""The column ``setting`` of ``published.csv`` as kinds of exhibit read it: parts ``key=value`` between semicolons."""

from collections.abc import Mapping, Sequence

from partialfair.errors import DataError
from partialfair.plugins import did_you_mean
from reproduction.verdicts.published import Published

UNCONSTRAINED = "unconstrained"  # the one word that may stand without a value


def refused(row: Published, what: str) -> DataError:
    """Return the error that names file, line and setting of a number, and then what is wrong and what to write."""
    return DataError(f"{row.where}: setting {row.setting!r}: {what}")


def parts(row: Published, keys: Sequence[str]) -> dict[str, str]:
    """Return the parts of a setting by key.

    Args:
        row: the published number.
        keys: those that the kind of exhibit reads.

    Raises:
        DataError: a part has no value or another key, or a key stands twice.
    """
    found: dict[str, str] = {}
    for part in filter(None, (text.strip() for text in row.setting.split(";"))):
        key, _, value = (text.strip() for text in part.partition("="))
        if part == UNCONSTRAINED:
            continue
        if key not in keys:
            raise refused(row, f"there is no key {key!r}; {did_you_mean(key, keys)}")
        if not value:
            raise refused(row, f"{key} has no value; write {key}=VALUE")
        if key in found:
            raise refused(row, f"{key} stands twice; remove one of them")
        found[key] = value
    return found


def one_of(row: Published, given: Mapping[str, str], key: str, valid: Sequence[str]) -> str:
    """Return a part that has to be one of some words.

    Raises:
        DataError: it is another, or missing.
    """
    if given.get(key) not in valid:
        what = f"{key} is {given[key]!r}" if key in given else f"{key} is missing"
        raise refused(row, f"{what}; write {' or '.join(f'{key}={word}' for word in valid)}")
    return given[key]


def kappa(row: Published, given: Mapping[str, str]) -> float | None:
    """Return the tolerance of a setting, ``None`` if it states none.

    Raises:
        DataError: it is no positive number.
    """
    if "kappa" not in given:
        return None
    try:
        value = float(given["kappa"])
    except ValueError:
        value = 0.0
    if not value > 0:
        raise refused(row, f"kappa is {given['kappa']!r}; give a positive number, or inf for no constraint")
    return value


def whole(row: Published, given: Mapping[str, str], key: str) -> int | None:
    """Return a part that has to be a whole number from 1 on, ``None`` if there is none.

    Raises:
        DataError: it is another.
    """
    if key not in given:
        return None
    if not (given[key].isascii() and given[key].isdigit() and int(given[key])):
        raise refused(row, f"{key} is {given[key]!r}; give a whole number from 1 on")
    return int(given[key])
