"""Which folders of a host's roots may be read: existing ones of this machine, no home folder or what is above it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

HERE = ("", "localhost")


def folders_of(uris: Iterable[str]) -> tuple[Path, ...]:
    """The folders of `file:` URIs, links resolved, in the order they were named; what is none is passed over."""
    found = (folder_of(uri) for uri in uris)
    return tuple(dict.fromkeys(folder for folder in found if folder is not None))


def folder_of(uri: str) -> Path | None:
    """The folder of a root; None where it is no folder here, or too wide to be somebody's project."""
    try:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc.lower() not in HERE or parts.query or parts.fragment:
            return None
        path = Path(url2pathname(parts.path) if os.name == "nt" else unquote(parts.path, errors="strict"))
        if not path.is_absolute():
            return None
        folder = path.resolve()
        return folder if folder.is_dir() and not is_too_wide(folder) else None
    except (ValueError, OSError, RuntimeError):  # no URI, no path, or a loop of links
        return None


def is_too_wide(folder: Path) -> bool:
    """A home folder, or one above it: the disk's root, the folder of all homes."""
    home = Path.home().resolve()
    return folder == home or folder in home.parents


def within(named: Sequence[Path], more: Iterable[Path]) -> tuple[Path, ...]:
    """All of these folders, without those that lie in another one of them."""
    folders = list(dict.fromkeys((*named, *more)))
    return tuple(one for one in folders if not any(one != other and other in one.parents for other in folders))
