"""Version numbers: dotted parts that are compared one by one, so that 3.11 is after 3.9 and 1.10 is not 1.1."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_VERSION = re.compile(r"[vV]?\.?\s?(?P<core>\d+(?:\.\d+)*)(?P<rest>(?:[-.+]?[A-Za-z][\w.+-]*)?)")
_EARLY = re.compile(r"^[-.+]?(?:a|b|c|rc|alpha|beta|pre|preview|dev|snapshot|m)(?:[\d.-]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """One version; its order is that of its parts, one before release (`2.0rc1`) standing before the release."""

    parts: tuple[int, ...]
    released: bool = True
    rest: str = ""
    literal: str = ""

    def key(self) -> tuple[object, ...]:
        """What versions sort by and are equal by: trailing zeros do not count."""
        parts = self.parts
        while len(parts) > 1 and parts[-1] == 0:
            parts = parts[:-1]
        return parts, self.released, self.rest.lower() if not self.released else ""


@lru_cache(maxsize=4096)
def version_of(text: str) -> Version | None:
    """The version that a text is; None when it is none."""
    text = text.strip()
    match = _VERSION.fullmatch(text) if 0 < len(text) <= 40 else None
    if match is None or max(map(len, match["core"].split("."))) > 12:
        return None
    parts = tuple(int(p) for p in match["core"].split("."))
    return Version(parts, not _EARLY.match(match["rest"]), match["rest"], text)
