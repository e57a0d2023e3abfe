"""What the core asks its driver to do, and what it must be told of the servers. Values only.

Named tuples, not dataclasses: some are made for every message, and all of them before the first answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from .frame import Frame, Piece


class ToHost(NamedTuple):
    """Send one message to the host. The pieces are its bytes, without the line's end."""

    pieces: tuple[Piece, ...]


class ToServer(NamedTuple):
    """Send one message to a server."""

    server: str
    pieces: tuple[Piece, ...]


class Open(NamedTuple):
    """Start a server after `delay` seconds, then report `server_opened` or `server_closed`."""

    server: str
    delay: float = 0.0


class Close(NamedTuple):
    """End a server's connection. No report is awaited: the core already counts it as closed."""

    server: str


class Load(NamedTuple):
    """Read a spooled message into memory and hand it in again: the core must see all of it."""

    server: str
    """Whose message it is; "" for the host's."""
    frame: Frame


class Capture(NamedTuple):
    """Record a result, then report `settled(key, bytes or None)`."""

    key: int
    server: str
    tool: str
    arguments: Piece | None
    meta: bytes | None
    modern: bool
    definition: Mapping[str, Any] | None
    result: Piece


class Lend(NamedTuple):
    """Put stored values into a call's arguments, then report `lent(key, …)` or `not_lent(key, why)`."""

    key: int
    server: str
    tool: str
    arguments: bytes
    meta: bytes | None
    definition: Mapping[str, Any] | None
    agreed: bool
    """A person was asked and agreed."""


class Consult(NamedTuple):
    """Ask our own side before a call is made, then report `consulted(key, result JSON to give instead, or None)`."""

    key: int
    server: str
    tool: str
    arguments: Piece | None
    meta: bytes | None
    modern: bool
    definition: Mapping[str, Any] | None


class Answered(NamedTuple):
    """A call that our own side asked for is over: its result, or None where there is none."""

    key: int
    result: Piece | None


class CallOwn(NamedTuple):
    """Serve a request from our own side, then report `settled(key, result JSON)` or `refused(key, …)`.

    `kind` is `tool`, `resource` or `complete`; `target` the tool's name or the resource's URI.
    """

    key: int
    kind: str
    target: str
    request: Frame
    modern: bool


class CancelOwn(NamedTuple):
    """Nobody waits for this answer of our own side any more. No report is awaited."""

    key: int


class Log(NamedTuple):
    """Something a person who looks for a fault wants to know. Never payloads, arguments or secrets."""

    level: str
    event: str
    fields: Mapping[str, Any] = MappingProxyType({})


Command = ToHost | ToServer | Open | Close | Load | Capture | Lend | Consult | Answered | CallOwn | CancelOwn | Log


class ServerRules(NamedTuple):
    """What the core must know of one server."""

    name: str
    prefix: str | None = None
    """Put before every tool and prompt name; None: only where names collide."""
    allow: tuple[str, ...] = ()
    """Globs of the tools that are shown; () means all."""
    deny: tuple[str, ...] = ()
    era: str = "auto"
    """`auto`: that of the host; `handshake` or `2026-07-28`: only that one is spoken to this server."""
    idle: float = 1800.0
    """Seconds a request may take without a sign of progress."""
    ceiling: float = 86_400.0
    """Seconds a request may take whatever its progress."""
    handshake: float = 60.0
    """Seconds it may take to answer an `initialize` of ours."""


class OwnSide(NamedTuple):
    """What we serve ourselves, asked each time because it may change while running."""

    instructions: Callable[[], str]
    tools: Callable[[], Sequence[Mapping[str, Any]]]
    templates: Callable[[], Sequence[Mapping[str, Any]]]
    owns_uri: Callable[[str], bool]
    may_replace: Callable[[str, str, Mapping[str, Any] | None], bool]
    """Whether results of this server's tool (definition as listed, or None) may be replaced by a summary."""
    identity: Mapping[str, str] = MappingProxyType({"name": "crp-mcp", "version": "0"})
    """What we call ourselves where we speak for many servers."""
    accepts: Callable[[str, str, Mapping[str, Any] | None], bool] = lambda server, tool, definition: False
    """Whether stored values may stand in the arguments of this server's tool."""
    consults: Callable[[str, str, Mapping[str, Any] | None], bool] = lambda server, tool, definition: False
    """Whether our own side must be asked before this server's tool is called."""
    learn_roots: Callable[[tuple[str, ...]], None] | None = None
    """Takes the URIs of the host's roots; None: they are never asked for."""
    secret: Callable[[], bytes] | None = None
    """A key that only this process has, for what a host is given to bring back. Without it, nothing is given."""
