"""What the core asks its driver to do, and what it must be told of the servers. Values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .frame import Frame, Piece


@dataclass(frozen=True, slots=True)
class ToHost:
    """Send one message to the host. The pieces are its bytes, without the line's end."""

    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class ToServer:
    """Send one message to a server."""

    server: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """Start a server after `delay` seconds, then report `server_opened` or `server_closed`."""

    server: str
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Close:
    """End a server's connection. No report is awaited: the core already counts it as closed."""

    server: str


@dataclass(frozen=True, slots=True)
class Load:
    """Read a spooled answer into memory and hand it in again: the core must see all of it."""

    server: str
    frame: Frame


@dataclass(frozen=True, slots=True)
class Capture:
    """Record a result, then report `settled(key, bytes or None)`."""

    key: int
    server: str
    tool: str
    arguments: Piece | None
    meta: bytes | None
    modern: bool
    definition: Mapping[str, Any] | None
    result: Piece


@dataclass(frozen=True, slots=True)
class CallOwn:
    """Serve a request from our own side, then report `settled(key, result JSON)` or `refused(key, …)`.

    `kind` is `tool`, `resource` or `complete`; `target` the tool's name or the resource's URI.
    """

    key: int
    kind: str
    target: str
    request: Frame
    modern: bool


@dataclass(frozen=True, slots=True)
class CancelOwn:
    """Nobody waits for this answer of our own side any more. No report is awaited."""

    key: int


@dataclass(frozen=True, slots=True)
class Log:
    """Something a person who looks for a fault wants to know. Never payloads, arguments or secrets."""

    level: str
    event: str
    fields: Mapping[str, Any] = field(default_factory=dict)


Command = ToHost | ToServer | Open | Close | Load | Capture | CallOwn | CancelOwn | Log


@dataclass(frozen=True, slots=True)
class ServerRules:
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
    shared: bool = False
    """Other hosts use the same connection."""


@dataclass(frozen=True, slots=True)
class OwnSide:
    """What we serve ourselves, asked each time because it may change while running."""

    instructions: Callable[[], str]
    tools: Callable[[], Sequence[Mapping[str, Any]]]
    templates: Callable[[], Sequence[Mapping[str, Any]]]
    owns_uri: Callable[[str], bool]
    may_replace: Callable[[str, str, Mapping[str, Any] | None], bool]
    """Whether results of this server's tool (definition as listed, or None) may be replaced by a summary."""
    identity: Mapping[str, str] = field(default_factory=lambda: {"name": "crp-mcp", "version": "0"})
    """What we call ourselves where we speak for many servers."""
