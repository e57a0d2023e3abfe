"""What a well-behaved client does not send: errors provoked, unknown members, ids of every kind, and broken input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .peer import Peer
from .probes import ENVELOPE, META, Era, Known, Talk, Try, asking, opening, trying

IDS = (
    '"a string"',
    '"\\u00e9 \\" \\\\ é"',
    '""',
    '"1"',
    "0",
    "-5",
    "1.5",
    "1e3",
    "9007199254740993",
    "123456789012345678901234567890",
)
DEEP = 100_000
BROKEN = {
    "bad JSON": (
        '{"jsonrpc":"2.0","id":9,"method":"ping"',
        "garbage",
        '{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":"\udcff"}}',
        '{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":"\\ud800"}}',
        '{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":NaN}}',
        '{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":' + "[" * DEEP + "]" * DEEP + "}}",
    ),
    "bad messages": (
        "{}",
        "[]",
        "17",
        '{"jsonrpc":"2.0","id":{},"method":"ping"}',
        '{"jsonrpc":"2.0","id":null,"method":"ping"}',
        '{"jsonrpc":"2.0","id":9,"method":17}',
        '{"jsonrpc":"1.0","id":9,"method":"ping"}',
        '{"id":9,"method":"ping"}',
        '{"jsonrpc":"2.0","id":4711,"result":{}}',
        '[{"jsonrpc":"2.0","id":9,"method":"ping"},{"jsonrpc":"2.0","id":10,"method":"ping"}]',
    ),
}
"""Lines that are no message, or none that can be handed on."""


def refusing(era: Era, known: Known) -> Iterator[Try]:
    """Requests that a server refuses."""
    unknown = {"name": "no_such_tool", "arguments": {}}
    yield Try("unknown tool", asking("tools/call", era.params(unknown)))
    yield Try("unknown method", asking("selftest/no-such-method", era.params()))
    odd: tuple[dict[str, Any], ...] = (
        {},
        {"name": 17},
        {"name": None, "arguments": {}},
        {"name": "no_such_tool", "arguments": [1]},
    )
    for params in odd:
        yield Try("bad parameters", trying(era, "tools/call", era.params(params)))
    for raw in ("[]", '"text"', "null", None):
        yield Try("bad parameters", trying(era, "tools/list", raw))
    for tool in known.items.get("tools", [])[:3]:
        if (tool.get("inputSchema") or {}).get("required") and tool.get("name") in known.safe_tools():
            given = {"name": tool["name"], "arguments": {"no such argument": 1}}
            yield Try("bad arguments", asking("tools/call", era.params(given)))
    yield from _wrong_envelopes(era) if era.modern else _wrong_openings(era)


def _wrong_envelopes(era: Era) -> Iterator[Try]:
    for name in ENVELOPE:
        meta = {key: value for key, value in ENVELOPE.items() if key != name}
        yield Try("envelope", trying(era, "tools/list", json.dumps({"_meta": meta})))
    other = {**ENVELOPE, f"{META}protocolVersion": "1999-01-01"}
    yield Try("envelope", trying(era, "tools/list", json.dumps({"_meta": other})))
    yield Try("envelope", trying(era, "tools/list", "{}"))


def _wrong_openings(era: Era) -> Iterator[Try]:
    yield Try("opening", trying(era, "initialize", opening("2025-11-25")), restarts=True)
    yield Try("opening", trying(era, "initialize", "{}"), restarts=True)


def unknown_members(era: Era, known: Known) -> Iterator[Try]:
    """Members that no revision knows, at every level."""
    extra = {"selftest/unknown": {"kept": [1, 2.50, None]}}

    def talk(peer: Peer) -> None:
        peer.sent["30"] = "tools/list"
        params = era.params({"unknown": extra}, {"com.example/selftest": extra})
        peer.send(f'{{"jsonrpc":"2.0","x-unknown":true,"id":30,"method":"tools/list","params":{params}}}')
        peer.fence(era.params())
        peer.tell("notifications/selftest/unknown", era.params(extra))
        peer.ask("31", "prompts/list", era.params(extra))

    yield Try("unknown members", talk)
    for name in known.safe_tools()[:1]:
        given: dict[str, Any] = {"name": name, "arguments": {}, **extra}
        yield Try("unknown members", asking("tools/call", era.params(given, {"com.example/selftest": extra})))


def identified(era: Era) -> Iterator[Try]:
    """One request under each kind of id."""
    for ident in IDS:
        yield Try("ids", trying(era, "prompts/list" if era.modern else "ping", era.params(), ident))


def broken(era: Era) -> Iterator[Try]:
    """Lines that are no messages; the session must go on after each."""
    for feature, lines in BROKEN.items():
        for line in lines:
            yield Try(feature, sending(era, line), unreadable=True)


def sending(era: Era, line: str) -> Talk:
    def talk(peer: Peer) -> None:
        peer.send(line)
        peer.fence(era.params())

    return talk
