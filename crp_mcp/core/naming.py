"""Names of entries: what may be one. A name stands in lines of ours, so it holds nothing that could pass for a line."""

from __future__ import annotations

MAX_NAME = 200


def tidy_name(name: str) -> str | None:
    """The name with its spaces made single; None where it is none: empty, too long, or with characters not shown."""
    tidied = " ".join(name.split())
    return tidied if 0 < len(tidied) <= MAX_NAME and tidied.isprintable() else None
