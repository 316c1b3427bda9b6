"""Messages without passwords: whatever a person is shown or a log keeps passes through here."""

import re

from reproduction.datasets import sources

# The HTTP client quotes what it cannot read as a port, which is the password of an address that has one.
_QUOTED = re.compile(r"(['\"])[^'\"\s/@]*@([^'\"\s@]*)\1")


def masked(text: object) -> str:
    """Text in which the passwords and keys of addresses are replaced by ``***``."""
    return _QUOTED.sub(r"\1***@\2\1", sources.masked(text))
