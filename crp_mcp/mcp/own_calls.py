"""Calls of servers' tools that our own side makes: the futures of those under way."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.calls import RESERVED
from crp_mcp.core.wire.commands import Answered, Command

from .relay_side import raw_result

if TYPE_CHECKING:
    from crp_mcp.core.wire.proxy import Proxy
    from crp_mcp.relay.ports import RawResult

_HOSTS_OWN = ("progressToken",)
"""Members of a request's `_meta` that belong to that request alone."""


class OwnCalls:
    """Implements `relay.ports.Calls` over the core. `run` carries out its commands."""

    def __init__(self, proxy: Proxy, run: Callable[[Sequence[Command]], None]) -> None:
        self._proxy = proxy
        self._run = run
        self._keys = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[RawResult | None]] = {}

    def servers(self) -> frozenset[str]:
        return frozenset(self._proxy.links)

    def definition(self, server: str, tool: str) -> Mapping[str, Any] | None:
        found = self._proxy.tools.of(server, tool)
        return found.definition if found is not None else None

    async def call(self, server: str, tool: str, arguments: bytes, meta: Mapping[str, Any]) -> RawResult | None:
        key, loop = next(self._keys), asyncio.get_running_loop()
        future: asyncio.Future[RawResult | None] = loop.create_future()
        self._waiting[key] = future
        kept = {name: value for name, value in meta.items() if name not in _HOSTS_OWN and not name.startswith(RESERVED)}
        try:
            self._run(self._proxy.call_for_us(key, server, tool, arguments, kept, loop.time()))
            return await future
        finally:
            self._waiting.pop(key, None)

    def answered(self, command: Answered) -> None:
        """A call is over."""
        future = self._waiting.get(command.key)
        if future is not None and not future.done():
            future.set_result(raw_result(command.result) if command.result is not None else None)
