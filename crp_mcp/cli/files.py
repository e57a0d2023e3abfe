"""Files that commands are given: read whole, written for their owner alone; and public keys on the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from crp_mcp.errors import ConfigError


def read_file(name: str, most: int = -1) -> bytes:
    """The bytes of a file, `-` for standard input; `most`: no more than so many. Raises ConfigError that names it."""
    try:
        if name == "-":
            return sys.stdin.buffer.read(most)
        with Path(name).open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read ({error.strerror})") from None


def open_private(path: Path) -> BinaryIO:
    """A file to write, readable by its owner alone. Raises ConfigError that names it."""
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from None


def public_keys_of(texts: Sequence[str]) -> dict[str, bytes]:
    """Raw Ed25519 public keys by key id, from hex. Raises ConfigError."""
    from crp_mcp.proof.signed import key_id

    keys = {}
    for text in texts:
        try:
            raw = bytes.fromhex(text.strip())
        except ValueError:
            raw = b""
        if len(raw) != 32:
            raise ConfigError(f"{text[:80]!r} is no public key: 64 hex digits are wanted (`crp-mcp keys export`)")
        keys[key_id(raw)] = raw
    return keys
