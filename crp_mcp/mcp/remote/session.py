"""A session of the handshake era: its id, and what it takes to begin another one in its place."""

from __future__ import annotations

import asyncio

from .outgoing import Outgoing


class Session:
    """`number` counts sessions, so that of many who notice a loss one begins the next."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.number = 0
        self.lock = asyncio.Lock()
        self.greeting: Outgoing | None = None
        """The host's `initialize`."""
        self.initialized: Outgoing | None = None
        self._kept: dict[tuple[str, str], Outgoing] = {}

    def begin(self, ident: str | None) -> None:
        self.id = ident
        self.number += 1

    def keep(self, message: Outgoing) -> None:
        """Remember what the server would have to be told again."""
        if message.method == "initialize":
            self.greeting, self.initialized = message, None
            self._kept.clear()
        elif message.method == "notifications/initialized":
            self.initialized = message
        elif message.method == "logging/setLevel":
            self._kept["logging", ""] = message
        elif message.method in ("resources/subscribe", "resources/unsubscribe"):
            uri = str(message.member("uri"))
            if message.method == "resources/subscribe":
                self._kept["resources", uri] = message
            else:
                self._kept.pop(("resources", uri), None)

    def again(self) -> list[Outgoing]:
        """What follows the handshake of a new session."""
        return list(self._kept.values())
