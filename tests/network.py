"""No test reaches the network: connections to other machines are refused, and named."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class NetworkUsed(RuntimeError):  # noqa: N818 - reads as what happened
    """A test, or what it runs, tried to reach another machine."""


def is_local(address: Any) -> bool:
    """Whether an address is a local socket or this machine."""
    if not isinstance(address, tuple):
        return True  # a path
    host = str(address[0])
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def refused() -> Iterator[list[Any]]:
    """Refuse connections and look-ups of names that leave this machine; yields the addresses that were tried."""
    tried: list[Any] = []
    originals = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto")}
    lookup = socket.getaddrinfo

    def checked(address: Any) -> None:
        if not is_local(address):
            tried.append(address)
            raise NetworkUsed(f"connection to {address!r}: tests and runs work offline")

    def guard(name: str) -> Any:
        def call(self: socket.socket, *arguments: Any) -> Any:
            checked(arguments[-1])
            return originals[name](self, *arguments)

        return call

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        if host is not None:
            checked((host.decode() if isinstance(host, bytes) else host, 0))
        return lookup(host, *arguments, **options)

    for name in originals:
        setattr(socket.socket, name, guard(name))
    socket.getaddrinfo = getaddrinfo  # type: ignore[assignment]
    try:
        yield tried
    finally:
        for name, original in originals.items():
            setattr(socket.socket, name, original)
        socket.getaddrinfo = lookup
