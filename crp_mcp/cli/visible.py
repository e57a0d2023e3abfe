"""Text for a person's terminal. Light to import: it stands on the way to the first answer of `serve`."""

from __future__ import annotations

import sys


def visible(text: str) -> str:
    """Text with terminal controls replaced; newlines and tabs stay."""
    return "".join(ch if ch.isprintable() or ch in "\n\t" else "\N{REPLACEMENT CHARACTER}" for ch in text)


def complain(text: str) -> None:
    """Say on standard error what is wrong: names of files and arguments in it are anybody's."""
    print(f"crp-mcp: {visible(text)}", file=sys.stderr)
