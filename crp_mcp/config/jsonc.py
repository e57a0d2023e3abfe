"""JSON as hosts write it (comments, trailing commas), read with the position of every field. Knows nothing of servers.

Stricter than `json` in one thing: a key that stands twice is an error, since which one counts differs between hosts.
Error messages name lines, columns and keys, never values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from crp_mcp.errors import ConfigError

Path = tuple[str | int, ...]

_DEPTH = 64
_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"-?[0-9][0-9.eE+-]*|[A-Za-z]+")
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class Document:
    """Parsed content, and where each path in it stands (offset in the text)."""

    data: Any
    text: str
    where: str
    positions: Mapping[Path, int]

    def place(self, path: Path) -> str:
        """`file:line` of a field, or of the nearest one around it that exists."""
        while path and path not in self.positions:
            path = path[:-1]
        return f"{self.where}:{_line_column(self.text, self.positions[path])[0]}" if path else self.where


def decode(raw: bytes, where: str) -> str:
    """Text of a file in UTF-8 (with or without a byte order mark) or UTF-16 with one. Raises ConfigError."""
    encoding = next((name for mark, name in _BOMS if raw.startswith(mark)), "utf-8")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as problem:
        raise ConfigError(f"{where}: not {encoding} text (byte {problem.start}); save the file as UTF-8") from None


def parse_jsonc(text: str, where: str) -> Document:
    """Read JSON with `//` and `/* */` comments and trailing commas. Raises ConfigError with line and column."""
    reader = _Reader(text, where)
    at = reader.space(0)
    data, at = reader.value(at, (), 0)
    at = reader.space(at)
    if at != len(text):
        reader.fail(at, "something follows the end of the document")
    return Document(data, text, where, reader.positions)


def _line_column(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


class _Reader:
    """Recursive descent over one text. Methods take an offset and return the one after what they read."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        self.positions: dict[Path, int] = {}

    def fail(self, at: int, message: str) -> NoReturn:
        line, column = _line_column(self.text, at)
        raise ConfigError(f"{self.where}:{line}:{column}: not valid JSON: {message}")

    def space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        end = found.end() if found else at
        if self.text.startswith("/*", end):
            self.fail(end, "this comment is never closed")
        return end

    def value(self, at: int, path: Path, depth: int) -> tuple[Any, int]:
        self.positions.setdefault(path, at)
        start = self.text[at : at + 1]
        if depth > _DEPTH:
            self.fail(at, f"nested deeper than {_DEPTH} levels")
        if start == "{":
            return self.object(at + 1, path, depth)
        if start == "[":
            return self.array(at + 1, path, depth)
        if start == '"':
            return self.string(at)
        return self.word(at)

    def string(self, at: int) -> tuple[str, int]:
        try:
            text, end = scanstring(self.text, at + 1)
        except json.JSONDecodeError as problem:
            self.fail(problem.pos, f"{problem.msg[:1].lower()}{problem.msg[1:].removesuffix(' at')}")
        return text, end

    def word(self, at: int) -> tuple[Any, int]:
        found = _WORD.match(self.text, at)
        if found is None:
            self.fail(at, "a value is missing here" if at < len(self.text) else "the file ends too early")
        try:
            return json.loads(found[0], parse_constant=_refuse), found.end()
        except ValueError:
            self.fail(at, "text must stand in double quotes; allowed without are numbers, true, false and null")

    def object(self, at: int, path: Path, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = self.space(at)
        while not self.text.startswith("}", at):
            if not self.text.startswith('"', at):
                self.fail(at, "a key in double quotes, or `}`, is expected here")
            start = at
            key, at = self.string(at)
            if key in found:
                self.fail(start, f"the key {json.dumps(key)} stands here twice; remove one")
            self.positions[(*path, key)] = start
            at = self.space(at)
            if not self.text.startswith(":", at):
                self.fail(at, "`:` is expected after a key")
            found[key], at = self.value(self.space(at + 1), (*path, key), depth + 1)
            at = self.next(at, "}")
        return found, at + 1

    def array(self, at: int, path: Path, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = self.space(at)
        while not self.text.startswith("]", at):
            item, at = self.value(at, (*path, len(found)), depth + 1)
            found.append(item)
            at = self.next(at, "]")
        return found, at + 1

    def next(self, at: int, close: str) -> int:
        """The start of the next member, or the closing bracket: a comma must part members, and may end them."""
        at = self.space(at)
        if self.text.startswith(",", at):
            return self.space(at + 1)
        if not self.text.startswith(close, at):
            self.fail(at, f"`,` or `{close}` is expected here" if at < len(self.text) else f"`{close}` is missing")
        return at


def _refuse(_: str) -> NoReturn:
    raise ValueError
