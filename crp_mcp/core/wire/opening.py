"""Many servers introduced to a host as one: the union of what they can do, one set of instructions. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .answers import dump
from .catalog import field_of
from .commands import OwnSide
from .eras import HANDSHAKE_VERSIONS, MODERN

_SERVER_INFO = "io.modelcontextprotocol/serverInfo"


def union(one: Any, other: Any) -> Any:
    """What is true of either: objects are merged, of two flags one is enough, else the first stays."""
    if isinstance(one, dict) and isinstance(other, dict):
        merged = dict(one)
        for name, value in other.items():
            merged[name] = union(merged[name], value) if name in merged else value
        return merged
    if isinstance(one, bool) and isinstance(other, bool):
        return one or other
    return one


def capabilities_of(results: Mapping[str, Mapping[str, Any]], own: OwnSide) -> dict[str, Any]:
    """Capabilities of all servers, and of our own side. The tools may change whenever a server comes or goes."""
    merged: dict[str, Any] = {}
    for result in results.values():
        merged = union(merged, result.get("capabilities") or {})
    if merged.get("tools") is not None or own.tools():
        merged["tools"] = {**(merged.get("tools") or {}), "listChanged": True}
    if own.templates():
        merged.setdefault("resources", {})
        merged.setdefault("completions", {})
    return merged


def instructions_of(results: Mapping[str, Mapping[str, Any]], own: OwnSide) -> str:
    """Every server's instructions under its name, and our sentence."""
    said = {name: result.get("instructions") for name, result in results.items()}
    parts = [f"# {name}\n{text}" for name, text in said.items() if isinstance(text, str) and text]
    ours = own.instructions()
    return "\n\n".join([*parts, *([ours] if ours else [])])


def initialize_result(params: bytes, results: Mapping[str, Mapping[str, Any]], own: OwnSide) -> bytes:
    """Our answer to `initialize`. `results`: the servers' own answers, by name."""
    wanted = field_of(params, "protocolVersion")
    result: dict[str, Any] = {
        "protocolVersion": wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
        "capabilities": capabilities_of(results, own),
        "serverInfo": dict(own.identity),
    }
    instructions = instructions_of(results, own)
    if instructions:
        result["instructions"] = instructions
    return dump(result)


def discover_result(results: Mapping[str, Mapping[str, Any]], own: OwnSide) -> bytes:
    """Our answer to `server/discover`."""
    result: dict[str, Any] = {
        "resultType": "complete",
        "supportedVersions": [MODERN],
        "capabilities": capabilities_of(results, own),
        **caching(list(results.values())),
        "_meta": {_SERVER_INFO: dict(own.identity)},
    }
    instructions = instructions_of(results, own)
    if instructions:
        result["instructions"] = instructions
    return dump(result)


def caching(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How long the host may keep what was merged from these results: the shortest time, the narrowest scope."""
    times = [r["ttlMs"] if isinstance(r.get("ttlMs"), int) else 0 for r in results]
    public = bool(results) and all(r.get("cacheScope") == "public" for r in results)
    return {"ttlMs": min(times, default=0), "cacheScope": "public" if public else "private"}


def read_result(raw: bytes | None) -> dict[str, Any]:
    """A server's result as Python sees it; {} where it is no object."""
    value = json.loads(raw) if raw else None
    return value if isinstance(value, dict) else {}


def asks_for(raw: bytes | None) -> list[str]:
    """URIs a subscription filter names."""
    value = json.loads(raw) if raw else None
    uris = value.get("resourceSubscriptions") if isinstance(value, dict) else None
    return [uri for uri in uris if isinstance(uri, str)] if isinstance(uris, list) else []
