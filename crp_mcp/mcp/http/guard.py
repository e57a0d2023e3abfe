"""Which `Host` and `Origin` a request may name: a web page must not reach us by another name of our address. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Names(NamedTuple):
    """`hosts`, `origins`: those configured; `NAME:*` stands for any port. `own`: names of this machine that count too,
    none where others can reach us.
    """

    hosts: Sequence[str]
    origins: Sequence[str]
    own: Sequence[str] = ()

    def host(self, value: str | None) -> bool:
        """Whether this `Host` is one of ours. Where none is configured and we are not on loopback, any is."""
        if value is None:
            return False
        if _name(value) in self.own:
            return True
        if not self.own and not self.hosts:
            return True
        return any(_matches(value, one) for one in self.hosts)

    def origin(self, value: str | None, host: str | None) -> bool:
        """Whether a request may come from there. Programs that are no browser name no origin."""
        if value is None or any(_matches(value, one) for one in self.origins):
            return True
        parts = _split(value)
        if self.own:
            return parts.scheme in ("http", "https") and _name(parts.netloc) in self.own
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


def _split(url: str) -> SplitResult:
    """Its parts; all are empty where it is no URL at all."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")


def own_names(host: str) -> tuple[str, ...]:
    """What clients may call us when we listen at that address: none where others can reach it."""
    if not is_loopback(host):
        return ()
    shown = f"[{host.lower()}]" if ":" in host else host.lower()
    return tuple(dict.fromkeys((*LOOPBACK, shown)))


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
    parts = _split(url)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
