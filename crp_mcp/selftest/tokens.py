"""JSON as its tokens: every number and string as it was written, members in their order, duplicates kept. Pure.

Two messages are the same here only if their tokens are; white space between tokens is the one thing that may differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

ABSENT = "(absent)"
MAX_DEPTH = 200


class Obj(NamedTuple):
    """An object: its members as written. Keys are raw tokens, quotes included."""

    members: tuple[tuple[str, Node], ...]


class Arr(NamedTuple):
    """An array."""

    items: tuple[Node, ...]


Node: TypeAlias = "str | Obj | Arr"
"""A string, number or word is its raw token."""


class Difference(NamedTuple):
    """One place where two messages are not the same."""

    path: str
    direct: str
    through: str


class NotJson(ValueError):
    """The text is no JSON."""


_TOKEN = re.compile(r'[ \t\r\n]*("(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)', re.DOTALL)


def parse(text: str) -> Node:
    """The tokens of one JSON text. Raises NotJson."""
    tokens = _tokens(text)
    node = _value(tokens, next(tokens, ""), 0)
    if next(tokens, None) is not None:
        raise NotJson("more than one value")
    return node


def _tokens(text: str) -> Iterator[str]:
    at, end = 0, len(text.rstrip(" \t\r\n"))
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotJson(f"no token at character {at}")
        at = match.end()
        yield match.group(1)


def _value(tokens: Iterator[str], token: str, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise NotJson("nested too deeply")
    if token == "{":
        return Obj(tuple(_members(tokens, depth)))
    if token == "[":
        return Arr(tuple(_items(tokens, depth)))
    if token in ("", "}", "]", ",", ":"):
        raise NotJson(f"no value but {token!r}")
    return token


def _members(tokens: Iterator[str], depth: int) -> Iterator[tuple[str, Node]]:
    token = next(tokens, "")
    while token != "}":
        if token[:1] != '"' or next(tokens, "") != ":":
            raise NotJson("no member")
        yield token, _value(tokens, next(tokens, ""), depth + 1)
        token = _after(tokens, "}")


def _items(tokens: Iterator[str], depth: int) -> Iterator[Node]:
    token = next(tokens, "")
    while token != "]":
        yield _value(tokens, token, depth + 1)
        token = _after(tokens, "]")


def _after(tokens: Iterator[str], close: str) -> str:
    """The token after a comma, or the closing one."""
    token = next(tokens, "")
    if token == ",":
        return next(tokens, "")
    if token != close:
        raise NotJson(f"{token!r} where a comma or {close!r} should be")
    return token


def write(node: Node) -> str:
    """The text of a node, without white space."""
    if isinstance(node, Obj):
        return "{" + ",".join(f"{key}:{write(value)}" for key, value in node.members) + "}"
    if isinstance(node, Arr):
        return "[" + ",".join(map(write, node.items)) + "]"
    return node


def get(node: Node | None, *path: str) -> Node | None:
    """The node under these names; None where there is none."""
    for name in path:
        if not isinstance(node, Obj):
            return None
        node = next((value for key, value in node.members if key == f'"{name}"'), None)
    return node


def put(node: Node, name: str, value: Node | None) -> Node:
    """The object with a member set in its place, or at the end; None takes it out."""
    assert isinstance(node, Obj)
    key = f'"{name}"'
    if value is None:
        return Obj(tuple(member for member in node.members if member[0] != key))
    if get(node, name) is None:
        return Obj((*node.members, (key, value)))
    return Obj(tuple((k, value if k == key else old) for k, old in node.members))


def text_of(node: Node | None) -> str | None:
    """The string a token holds; None for anything else."""
    if not isinstance(node, str) or node[:1] != '"':
        return None
    try:
        value = json.loads(node)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def differences(direct: Node, through: Node, path: str = "$") -> Iterator[Difference]:
    """Every place where the second is not the first."""
    if isinstance(direct, Obj) and isinstance(through, Obj):
        yield from _of_objects(direct, through, path)
    elif isinstance(direct, Arr) and isinstance(through, Arr):
        if len(direct.items) != len(through.items):
            yield Difference(f"{path}.length", str(len(direct.items)), str(len(through.items)))
        for n, (one, other) in enumerate(zip(direct.items, through.items, strict=False)):
            yield from differences(one, other, f"{path}[{n}]")
    elif direct != through:
        yield Difference(path, write(direct), write(through))


def _of_objects(direct: Obj, through: Obj, path: str) -> Iterator[Difference]:
    ours, theirs = _numbered(through), _numbered(direct)
    for key, value in theirs.items():
        where = f"{path}.{key[0][1:-1]}"
        if key in ours:
            yield from differences(value, ours[key], where)
        else:
            yield Difference(where, write(value), ABSENT)
    for key, value in ours.items():
        if key not in theirs:
            yield Difference(f"{path}.{key[0][1:-1]}", ABSENT, write(value))
    if [k for k in theirs if k in ours] != [k for k in ours if k in theirs]:
        orders = [", ".join(key for key, _ in node.members) for node in (direct, through)]
        yield Difference(f"{path} (order of members)", *orders)


def _numbered(node: Obj) -> dict[tuple[str, int], Node]:
    """Members by name and by which one of that name it is."""
    found: dict[tuple[str, int], Node] = {}
    for key, value in node.members:
        number = 0
        while (key, number) in found:
            number += 1
        found[key, number] = value
    return found
