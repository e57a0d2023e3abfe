"""The grammar of a scratch_id: `scratch_<slug>_<NNN>`. The one place that makes or reads one."""

from __future__ import annotations

import re

SLUG_MAX = 16
_ID = re.compile(r"scratch_([a-z0-9]{1,16})_([0-9]{3,18})")
_UNSAFE = re.compile(r"[^a-z0-9]+")


def clean_slug(text: str) -> str:
    """Return `text` as a slug: lower-case ASCII letters and digits, 1 to 16 of them."""
    return _UNSAFE.sub("", text.lower())[:SLUG_MAX] or "tool"


def make_id(slug: str, number: int) -> str:
    """Return the id of a number; three digits at least, more once they are needed."""
    return f"scratch_{clean_slug(slug)}_{number:03d}"


def number_of(text: str) -> int | None:
    """Return the number of a scratch_id, or None where `text` is not one (then it may be a pinned name)."""
    match = _ID.fullmatch(text)
    return int(match[2]) if match else None
