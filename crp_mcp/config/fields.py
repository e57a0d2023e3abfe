"""A field of a config file: its value, checked, and where it stands, for errors that never show the value."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crp_mcp.core.durations import parse_duration
from crp_mcp.errors import ConfigError

from .expand import Expander
from .jsonc import Document
from .jsonc import Path as Steps

MOST = 2**53
"""The largest whole number that means the same to whatever reads it."""
LONGEST_SECONDS = 30 * 86_400
_SECONDS_AT_MOST, _MILLISECONDS_AT_LEAST = 1_000, 10_000
LABEL = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_IN_URLS = re.compile(r"[\x21-\x7e]+")


def unknown_key(key: str, known: Sequence[str]) -> str | None:
    """The known key this one is probably meant to be, if any."""
    import difflib  # only for keys that are not known

    near = difflib.get_close_matches(key.replace("-", "_"), known, n=1, cutoff=0.75)
    return near[0] if near else None


@dataclass(frozen=True, slots=True, repr=False)
class Field:
    document: Document
    path: Steps
    value: Any

    def place(self) -> str:
        return self.document.place(self.path)

    def name(self) -> str:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return "".join(steps).lstrip(".") or "the file"

    def error(self, message: str) -> ConfigError:
        return ConfigError(f"{self.place()}: {self.name()} {message}")

    def member(self, key: str) -> Field:
        """A member of an object; its value is None where it is absent."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return Field(self.document, (*self.path, key), value)

    def mapping(self, known: Sequence[str] | None = None) -> Mapping[str, Field]:
        """The members of an object; null counts as an empty one. Keys outside `known`, if given, are errors."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise self.error(f"must be an object, not {_kind(self.value)}")
        members = {key: self.member(key) for key in self.value}
        for key in members if known is not None else ():
            if key not in (known or ()):
                raise members[key].error(f"is not a known key; known: {', '.join(known or ())}")
        return members

    def items(self) -> list[Field]:
        if not isinstance(self.value, list):
            raise self.error(f"must be a list, not {_kind(self.value)}")
        return [Field(self.document, (*self.path, index), one) for index, one in enumerate(self.value)]

    def text(self, expander: Expander, *, empty: bool = True) -> str:
        """Text with its references expanded; whole numbers count as text."""
        value = str(self.value) if isinstance(self.value, int) and not isinstance(self.value, bool) else self.value
        if not isinstance(value, str):
            raise self.error(f"must be text, not {_kind(self.value)}")
        expanded = expander.text(value, f"{self.place()}: {self.name()}")
        if not (expanded or empty):
            raise self.error("is empty")
        if not is_writable(expanded):
            raise self.error("holds a NUL character, or half of one that stands for two (a lone surrogate)")
        return expanded

    def path_under(self, folder: Path, expander: Expander) -> Path:
        """A path; `~` is the home folder, and a relative one starts at the config file's folder."""
        return folder.absolute() / os.path.expanduser(self.text(expander, empty=False))

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.error(f"must be true or false, not {_kind(self.value)}")
        return self.value

    def names(self, *, empty: str | None = None) -> tuple[str, ...]:
        """A list of names; `empty`, if given, is what to say of a list without any."""
        found = [one.value for one in self.items()]
        if empty is not None and not found:
            raise self.error(empty)
        if not all(isinstance(name, str) and name for name in found):
            raise self.error("must be a list of names")
        return tuple(found)

    def one_of(self, allowed: Sequence[str]) -> str:
        if not isinstance(self.value, str) or self.value not in allowed:
            raise self.error(f"must be one of {', '.join(allowed)}")
        return self.value

    def whole(self, least: int = 1, most: int = MOST) -> int:
        """A whole number within a range."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not least <= self.value <= most:
            above = "above 0" if (least, most) == (1, MOST) else f"from {least} to {most}"
            raise self.error(f"must be a whole number {above}")
        return self.value

    def label(self) -> str:
        """A label of the tool registry's lattice."""
        if not isinstance(self.value, str) or not LABEL.fullmatch(self.value):
            raise self.error("is not a label: upper-case letters, digits and `_`, as in the tool registry's `labels`")
        return self.value

    def url(self, expander: Expander, what: str = "is no address of a server") -> str:
        """A URL that can be connected to. The error does not show it: there may be a key in it."""
        url = self.text(expander, empty=False)
        if not is_address(url):
            raise self.error(f"{what}: write http://HOST/PATH or https://HOST/PATH")
        return url

    def timeout(self) -> float:
        """Seconds. Claude Code writes milliseconds under this name: large numbers are those, doubtful ones refused."""
        seconds = self._seconds()
        if not 0 < seconds <= LONGEST_SECONDS:
            raise self.error('must be above 0 and at most 30 days; write a duration such as "PT90S" or "PT30M"')
        return seconds

    def _seconds(self) -> float:
        if isinstance(self.value, int | float) and not isinstance(self.value, bool):
            if self.value <= _SECONDS_AT_MOST:
                return float(self.value)
            if self.value >= _MILLISECONDS_AT_LEAST:
                return self.value / 1000 if self.value < MOST else MOST
            raise self.error('could be seconds or milliseconds; write a duration such as "PT90S" or "PT30M"')
        if isinstance(self.value, str):
            try:
                return float(parse_duration(self.value))
            except ValueError as problem:
                raise self.error(f"is {problem}") from None
        raise self.error('must be a number of seconds above 0, or a duration such as "PT90S"')


def is_writable(text: str) -> bool:
    """Whether text can go into a file, a command line or an environment."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def is_address(url: str) -> bool:
    """Whether a URL can be connected to over HTTP."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    return usable and _IN_URLS.fullmatch(url) is not None


def _kind(value: object) -> str:
    names = {bool: "true or false", str: "text", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")
