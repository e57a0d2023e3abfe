"""From a registry file's parsed content to a Registry, or an error that says which line and field is wrong and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crp_mcp.core.durations import parse_duration
from crp_mcp.core.model import LABELS, ToolClass, Volatility
from crp_mcp.errors import ConfigError

from .lookup import Registry, Rule, Settings, layer

Path = tuple[str | int, ...]

VERSION = 1
_TOP = ("version", "labels", "defaults", "tools")
_CAP = (48, 4_096)
"""Least and greatest summary cap, in tokens: below, the pointer itself would not fit."""
_SAMPLE_ROWS = (0, 50)
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


def parse_registry(data: object, *, where: str, lines: Mapping[Path, int] | None = None) -> Registry:
    """Read a registry file's content (dicts, lists, text, numbers, as YAML or JSON give them).

    `where` names the file, `lines` the line of each path in it, if known. Raises ConfigError.
    """
    at = _Place(where, lines or {})
    if not isinstance(data, Mapping):
        raise at.error("must be a mapping with `version: 1` and `tools:`")
    _known_keys(at, data, _TOP)
    if data.get("version") != VERSION or isinstance(data.get("version"), bool):
        raise at.at("version").error(f"must be {VERSION}: write `version: {VERSION}`")
    labels = _labels(at.at("labels"), data["labels"]) if "labels" in data else LABELS
    reader = _Reader(labels)
    defaults = reader.settings(at.at("defaults"), _given(data, "defaults", {}))
    rules = reader.rules(at.at("tools"), _given(data, "tools", []))
    return Registry(labels, (layer(defaults, rules),), "labels" in data)


def _given(data: Mapping[Any, Any], key: str, absent: object) -> object:
    return absent if data.get(key) is None else data[key]


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in a file, to name in errors."""

    where: str
    lines: Mapping[Path, int]
    path: Path = ()

    def at(self, *steps: str | int) -> _Place:
        return _Place(self.where, self.lines, self.path + steps)

    def __str__(self) -> str:
        path = self.path
        while path and path not in self.lines:  # a missing field stands where its parent does
            path = path[:-1]
        line = self.lines.get(path)
        return f"{self.where}:{line}" if line is not None and self.path else self.where

    def name(self) -> str:
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path).lstrip(".")

    def error(self, message: str) -> ConfigError:
        return ConfigError(f"{self}: {self.name()} {message}" if self.path else f"{self}: the file {message}")


def _known_keys(at: _Place, data: Mapping[Any, Any], known: tuple[str, ...]) -> None:
    for key in data:
        if key not in known:
            raise at.at(str(key)).error(f"is not a known key; {_nearest(str(key), known)}")


def _nearest(key: str, known: tuple[str, ...]) -> str:
    import difflib  # only on the way to an error

    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(known)}"


def _labels(at: _Place, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise at.error("must be a list of labels, low to high")
    for index, label in enumerate(value):
        if not isinstance(label, str) or not _LABEL.fullmatch(label):
            raise at.at(index).error("must be a name of letters, digits, `_`, `.` and `-`")
        if label in value[:index]:
            raise at.at(index).error(f"repeats `{label}`")
    return tuple(value)


def _one_of(at: _Place, value: object, allowed: tuple[str, ...]) -> str:
    if isinstance(value, str) and value in allowed:
        return value
    shown = f"`{value}`" if isinstance(value, str | int | float) else type(value).__name__
    raise at.error(f"is {shown}; allowed: {', '.join(allowed)}")


def _number(at: _Place, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise at.error(f"must be a whole number from {least} to {most:,}")
    return value


def _flag(at: _Place, value: object) -> bool:
    if not isinstance(value, bool):
        raise at.error("must be true or false")
    return value


def _names(at: _Place, value: object) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
        raise at.error("must be a list of names")
    return tuple(listed)


def _seconds(at: _Place, value: object) -> int:
    try:
        return parse_duration(value)
    except ValueError as problem:
        raise at.error(f"is {problem}" if str(problem).startswith("not") else f"is refused: {problem}") from None


def _retention(at: _Place, value: object) -> int:
    seconds = _seconds(at, value)
    if seconds == 0:
        raise at.error("must be longer than 0 seconds")
    return seconds


def _ttl(at: _Place, value: object) -> int | None:
    return None if value is None else _seconds(at, value)


def _summary(at: _Place, value: object) -> Mapping[str, int]:
    if not isinstance(value, Mapping):
        raise at.error("must be a mapping with `cap` or `sample_rows`")
    _known_keys(at, value, ("cap", "sample_rows"))
    limits = {"cap": _CAP, "sample_rows": _SAMPLE_ROWS}
    return {key: _number(at.at(key), number, *limits[key]) for key, number in value.items()}


Field = tuple[str, Callable[[_Place, object], object]]
"""The name in ToolPolicy, and how its value is read."""

_FIELDS: Mapping[str, Field] = {
    "volatility": ("volatility", lambda at, v: Volatility(_one_of(at, v, tuple(Volatility)))),
    "ttl": ("ttl", _ttl),
    "class": ("tool_class", lambda at, v: ToolClass(_one_of(at, v, tuple(ToolClass)))),
    "retention": ("retention", _retention),
    "reinvoke": ("reinvoke", lambda at, v: _one_of(at, v, ("safe", "never")) == "safe"),
    "reuse": ("reuse", lambda at, v: _one_of(at, v, ("fresh", "never")) == "fresh"),
    "invalidates": ("invalidates", _names),
    "accepts_scratch_from": ("accepts_scratch_from", _names),
    "redact_args": ("redact_args", _names),
    "inline_tokens": ("inline_tokens", lambda at, v: _number(at, v, 0, 10_000_000)),
    "passthrough": ("passthrough", _flag),
    "summary": ("summary", _summary),
}
_LABEL_FIELDS = ("sensitivity", "max_sensitivity")
_KEYS = (*_FIELDS, *_LABEL_FIELDS)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads settings against one lattice of labels. Equal settings are shared: shipped rules repeat a lot."""

    labels: tuple[str, ...]
    seen: dict[str, Rule] = field(default_factory=dict)

    def settings(self, at: _Place, data: object, also: tuple[str, ...] = ()) -> Settings:
        if not isinstance(data, Mapping):
            raise at.error(f"must be a mapping of {', '.join(_KEYS)}")
        _known_keys(at, data, (*also, *_KEYS))
        read: dict[str, object] = {}
        for key, value in data.items():
            if key in _LABEL_FIELDS:
                read[key] = _one_of(at.at(key), value, self.labels)
            elif key in _FIELDS:
                name, reader = _FIELDS[key]
                read[name] = reader(at.at(key), value)
        return read

    def rules(self, at: _Place, data: object) -> tuple[Rule, ...]:
        if not isinstance(data, list):
            raise at.error("must be a list of rules, each with `match`")
        return tuple(rule for index, one in enumerate(data) for rule in self._rules_of(at.at(index), one))

    def _rules_of(self, at: _Place, data: object) -> list[Rule]:
        settings = self.settings(at, data, also=("match",))
        assert isinstance(data, Mapping)  # settings() has refused anything else
        if "match" not in data:
            raise at.error('needs `match`: a "server:tool" glob')
        return [self._rule(at.at("match"), glob, settings) for glob in _names(at.at("match"), data["match"])]

    def _rule(self, at: _Place, glob: str, settings: Settings) -> Rule:
        server, colon, tool = glob.partition(":")
        if not (server and colon and tool):
            raise at.error(f'is "{glob}"; it must be "server:tool", for example "*:read_query" or "git:*"')
        if glob in self.seen:
            raise at.error(f'"{glob}" stands here twice; the first is at {self.seen[glob].where}')
        self.seen[glob] = Rule(glob, settings, str(at))
        return self.seen[glob]
