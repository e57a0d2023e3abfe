"""Reads the arguments of our own tools. Every fault is a `BadRequest` that names the argument and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from crp_mcp.errors import BadRequest


class Arguments:
    """The arguments of one call; `done()` refuses what no reader asked for."""

    def __init__(self, tool: str, given: object) -> None:
        if given is None:
            given = {}
        if not isinstance(given, Mapping):
            raise BadRequest(f"{tool}: arguments must be an object, not {_kind(given)}")
        self._tool = tool
        self._given = given
        self._known: list[str] = []

    def text(self, name: str, default: str | None = None, *, required: bool = False, limit: int = 4_096) -> str | None:
        """A string; an empty one counts as absent."""
        value = self._take(name)
        if value is None or value == "":
            if required:
                raise BadRequest(f"{self._tool}: `{name}` is required")
            return default
        if not isinstance(value, str):
            raise BadRequest(f"{self._tool}: `{name}` must be a string, not {_kind(value)}")
        if len(value) > limit:
            raise BadRequest(f"{self._tool}: `{name}` has {len(value)} characters; at most {limit} are allowed")
        return value

    def choice(self, name: str, allowed: Sequence[str], default: str) -> str:
        """One of `allowed`."""
        value = self.text(name, default)
        if value not in allowed:
            raise BadRequest(f"{self._tool}: `{name}` must be one of {', '.join(allowed)}")
        return str(value)

    def whole(self, name: str, default: int, *, low: int = 0, high: int = 2**53 - 1) -> int:
        """A whole number, also where a model spells it as a string or with `.0`."""
        value = self._take(name)
        if value is None:
            return default
        if isinstance(value, str) and value.strip().lstrip("-").isascii() and value.strip().lstrip("-").isdigit():
            value = int(value.strip()[:20])
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadRequest(f"{self._tool}: `{name}` must be a whole number, not {_kind(value)}")
        if not low <= value <= high:
            raise BadRequest(f"{self._tool}: `{name}` must be between {low} and {high}")
        return value

    def flag(self, name: str) -> bool | None:
        """True, false, or None where it was not given."""
        value = self._take(name)
        if value is None or isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return bool(value == "true")
        raise BadRequest(f"{self._tool}: `{name}` must be true or false, not {_kind(value)}")

    def texts(self, name: str) -> list[str] | None:
        """A list of strings; one string counts as a list of one."""
        value = self._take(name)
        if value is None:
            return None
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise BadRequest(f"{self._tool}: `{name}` must be a list of strings")
        return value

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        """An object, or None where it was not given."""
        value = self._take(name)
        if value is None or isinstance(value, Mapping):
            return value
        raise BadRequest(f"{self._tool}: `{name}` must be an object, not {_kind(value)}")

    def value(self, name: str) -> Any:
        """The value as it was given, for a reader that checks it itself; None where it was not given."""
        return self._take(name)

    def done(self) -> None:
        """Refuse arguments that nobody asked for, naming the nearest one that exists."""
        for name in self._given:
            if name not in self._known:
                near = difflib.get_close_matches(str(name), self._known, n=1)
                hint = f"; did you mean `{near[0]}`?" if near else ""
                raise BadRequest(
                    f"{self._tool}: unknown argument `{str(name)[:64]}`{hint}; known: {', '.join(self._known)}"
                )

    def _take(self, name: str) -> Any:
        self._known.append(name)
        return self._given.get(name)


def _kind(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "null" if value is None else type(value).__name__)
