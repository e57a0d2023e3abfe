"""Which `Host` and `Origin` a request may name: a web page must not reach us by another name of our address. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Names(NamedTuple):
    """`hosts`, `origins`: those configured; `NAME:*` stands for any port. `own`: names of loopback count."""

    hosts: Sequence[str]
    origins: Sequence[str]
    own: bool

    def host(self, value: str | None) -> bool:
        """Whether this `Host` is one of ours. Where none is configured and we are not on loopback, any is."""
        if value is None:
            return False
        if self.own and _name(value) in LOOPBACK:
            return True
        if not self.own and not self.hosts:
            return True
        return any(_matches(value, one) for one in self.hosts)

    def origin(self, value: str | None, host: str | None) -> bool:
        """Whether a request may come from there. Programs that are no browser name no origin."""
        if value is None or any(_matches(value, one) for one in self.origins):
            return True
        parts = urlsplit(value)
        if self.own:
            return parts.scheme in ("http", "https") and _name(parts.netloc) in LOOPBACK
        return bool(parts.netloc) and parts.netloc.lower() == (host or "").lower()


def _name(value: str) -> str:
    name, colon, port = value.lower().rpartition(":")
    return name if colon and port.isdigit() else value.lower()


def _matches(value: str, pattern: str) -> bool:
    value, pattern = value.lower(), pattern.lower()
    if pattern.endswith(":*"):
        name, colon, port = value.rpartition(":")
        return value == pattern[:-2] or (bool(colon) and port.isdigit() and name == pattern[:-2])
    return value == pattern


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_safe(url: str) -> bool:
    """Whether what comes from there cannot have been changed on the way."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
