"""SQLite's errors in words of ours: what happened to which file, and what to do. Knows no tables."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from crp_mcp.errors import BadRequest, StoreBusy, StoreError

_SENTENCES = {
    "SQLITE_FULL": "the disk is full, nothing was stored: free some space, or remove entries with `crp-mcp purge`",
    "SQLITE_READONLY": "it cannot be written: make the file and its folder writable, or choose another with --store",
    "SQLITE_CANTOPEN": "it cannot be opened: check that its folder exists and is writable, or choose another "
    "with --store",
    "SQLITE_PERM": "access is denied: check who owns it, or choose another with --store",
    "SQLITE_CORRUPT": "it is damaged: keep a copy, and restore a backup or move it away to start afresh",
    "SQLITE_NOTADB": "it is not a crp-mcp store: move it away, or choose another with --store",
    "SQLITE_IOERR": "the disk reported an error: check free space and the health of the disk",
    "SQLITE_AUTH": "access is denied: check who owns it, or choose another with --store",
}


def explain(error: sqlite3.Error, path: Path) -> StoreError:
    """Return the StoreError (StoreBusy for a held lock) that says what `error` means for the store at `path`."""
    name = getattr(error, "sqlite_errorname", None) or ""
    kind = "_".join(name.split("_")[:2])
    if kind in ("SQLITE_BUSY", "SQLITE_LOCKED"):
        return StoreBusy(f"store {path}: another process kept it locked for too long; try again")
    sentence = _SENTENCES.get(kind)
    if sentence is None:
        sentence = f"SQLite refused an operation ({error})"
    return StoreError(f"store {path}: {sentence} [{name or type(error).__name__}]")


class named:
    """Turn every SQLite error raised inside into the StoreError that explains it.

    Text that is not valid Unicode (a lone surrogate in a name, say) cannot be stored or looked up: BadRequest.
    """

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise explain(error, self._path) from error
        if isinstance(error, UnicodeEncodeError):
            raise BadRequest(
                f"text that is not valid Unicode cannot be stored or found: {error.object!r:.80}"
            ) from error
