"""A conversation with the core, told as it happens: what is said to it, and what it does about that."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crp_mcp.core.wire.aggregate import Aggregate
from crp_mcp.core.wire.commands import Command, Log, OwnSide, ServerRules, ToHost, ToServer
from crp_mcp.core.wire.frame import parse_line
from crp_mcp.core.wire.inplace import InPlace
from crp_mcp.core.wire.proxy import Proxy

META = "io.modelcontextprotocol/"
MODERN = {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}


def own_side(
    tools: Sequence[str] = (),
    templates: Sequence[str] = (),
    may_replace: Callable[..., bool] | None = None,
    said: str = "",
) -> OwnSide:
    return OwnSide(
        instructions=lambda: said,
        tools=lambda: [{"name": name} for name in tools],
        templates=lambda: [{"uriTemplate": uri} for uri in templates],
        owns_uri=lambda uri: uri.startswith("scratch://"),
        may_replace=may_replace or (lambda *_: True),
    )


class Playbook:
    """Feeds the core and collects what it does. Messages are given and seen as Python values."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.now = 0.0
        self.logs: list[Log] = []

    @classmethod
    def in_place(cls, own: OwnSide | None = None, **rules: Any) -> Playbook:
        play = cls(InPlace(ServerRules("s", **rules), own or own_side()))
        assert [type(c).__name__ for c in play.do(play.proxy.open("s", 0.0))] == ["Open"]
        play.do(play.proxy.server_opened("s", 0.0))
        return play

    @classmethod
    def aggregate(cls, *names: str, own: OwnSide | None = None, rules: Mapping[str, dict] | None = None) -> Playbook:
        servers = [ServerRules(name, **(rules or {}).get(name, {})) for name in names]
        play = cls(Aggregate(servers, own or own_side()))
        for name in names:
            play.do(play.proxy.open(name, 0.0))
            play.do(play.proxy.server_opened(name, 0.0))
        return play

    def do(self, commands: list[Command]) -> list[Command]:
        self.logs += [command for command in commands if isinstance(command, Log)]
        return [command for command in commands if not isinstance(command, Log)]

    def host(self, line: dict | bytes) -> list[Any]:
        """The host says this. What follows, messages decoded."""
        return self.shown(self.proxy.from_host(parse_line(_line(line)), self.now))

    def server(self, name: str, line: dict | bytes) -> list[Any]:
        return self.shown(self.proxy.from_server(name, parse_line(_line(line)), self.now))

    def closed(self, name: str, reason: str = "exited with code 1") -> list[Any]:
        return self.shown(self.proxy.server_closed(name, reason, self.now))

    def opened(self, name: str) -> list[Any]:
        return self.shown(self.proxy.server_opened(name, self.now))

    def wait(self, seconds: float) -> list[Any]:
        self.now += seconds
        return self.shown(self.proxy.tick(self.now))

    def settled(self, key: int, result: bytes | None) -> list[Any]:
        return self.shown(self.proxy.settled(key, result, self.now))

    def shown(self, commands: list[Command]) -> list[Any]:
        """`("host", message)`, `("s", message)` for messages; other commands as they are."""
        found: list[Any] = []
        for command in self.do(commands):
            if isinstance(command, ToHost):
                found.append(("host", json.loads(b"".join(command.pieces))))  # type: ignore[arg-type]
            elif isinstance(command, ToServer):
                found.append((command.server, json.loads(b"".join(command.pieces))))  # type: ignore[arg-type]
            else:
                found.append(command)
        return found


def request(ident: object, method: str, **params: Any) -> dict:
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}


def result(ident: object, **members: Any) -> dict:
    return {"jsonrpc": "2.0", "id": ident, "result": members}


def error(ident: object, code: int, message: str = "no") -> dict:
    return {"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": message}}


def note(method: str, **params: Any) -> dict:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _line(line: dict | bytes) -> bytes:
    return line if isinstance(line, bytes) else json.dumps(line).encode()
