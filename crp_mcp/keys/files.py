"""Key files: create without a race, read without trust, write without a moment in which half a file is seen."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crp_mcp.errors import KeyringError, Rejected
from crp_mcp.keys.ring import PUBLIC_BYTES, SEED_BYTES, public_key_of
from crp_mcp.proof.canonical import canonicalize
from crp_mcp.proof.signed import key_id
from crp_mcp.proof.strict_json import MAX_BYTES, read_object

_SECRET_NAME = re.compile(r"signing-([0-9]{6})\.key")
_HEX_32 = re.compile(r"[0-9a-f]{64}")
_VERSION = 1
_POSIX = os.name == "posix"


@dataclass(frozen=True, slots=True)
class SecretFile:
    """The content of one `signing-NNNNNN.key`."""

    generation: int
    path: Path
    seed: bytes = field(repr=False)
    audit_key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PublicFile:
    """The content of one file in `public/`."""

    kid: str
    public_key: bytes
    own: bool
    """Ours, now or once; else another's that was told to be trusted."""


@contextmanager
def explained(path: Path, doing: str) -> Iterator[None]:
    """Turn what the operating system says into a KeyringError that names the file and what to do."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise KeyringError(f"cannot {doing} {path}: {why}; check the owner and mode of the file and folder") from None


def newest_secret(folder: Path) -> SecretFile | None:
    """The secret of the highest generation; None if there is none. Raises KeyringError for one that is unusable."""
    for _ in range(5):  # a rotation may remove the file between listing and opening; its successor is there then
        numbers = secret_generations(folder)
        if not numbers:
            return None
        path = secret_path(folder, numbers[-1])
        try:
            return _parse_secret(path, numbers[-1], read_private(path))
        except FileNotFoundError:
            continue
    raise KeyringError(f"the key files in {folder} change faster than they can be read; try again")


def secret_path(folder: Path, generation: int) -> Path:
    return folder / f"signing-{generation:06}.key"


def secret_generations(folder: Path) -> list[int]:
    """Generations of all secret files, lowest first."""
    with explained(folder, "list the key folder"):
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return []
    return sorted(int(found[1]) for found in map(_SECRET_NAME.fullmatch, names) if found)


def create_secret(folder: Path, generation: int, *, seed: bytes, audit_key: bytes) -> bool:
    """Write a secret file; False if another process was first. Raises KeyringError."""
    content = {
        "v": _VERSION,
        "kid": key_id(public_key_of(seed)),
        "signing_seed": seed.hex(),
        "audit_key": audit_key.hex(),
    }
    return create(secret_path(folder, generation), canonicalize(content) + b"\n", mode=0o600)


def read_private(path: Path, *, strict: bool = True) -> bytes:
    """Read a secret. `strict`: nobody but its owner may read it; else nobody but its owner may write it.

    Raises KeyringError, and FileNotFoundError where there is no such file.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise KeyringError(f"cannot read the key {path}: {why}; check its owner and mode (0600)") from None
    with file, explained(path, "read the key"):
        mode = os.fstat(file.fileno()).st_mode & 0o777
        if _POSIX and mode & (0o077 if strict else 0o022):
            raise KeyringError(
                f"the key {path} has mode {mode:04o}: others may {'read' if strict else 'change'} it. "
                f"Run `chmod 600 {path}`; if others were on this machine, then `crp-mcp keys rotate`"
            )
        return file.read(MAX_BYTES + 1)


def _parse_secret(path: Path, generation: int, data: bytes) -> SecretFile:
    document = _document(path, data)
    seed, audit_key = (_hex(document.get(name), SEED_BYTES) for name in ("signing_seed", "audit_key"))
    if seed is None or audit_key is None or document.get("v") != _VERSION:
        raise malformed(path)
    if key_id(public_key_of(seed)) != document.get("kid"):
        raise malformed(path)
    return SecretFile(generation, path, seed, audit_key)


def public_files(folder: Path) -> list[PublicFile]:
    """All public keys kept in `public/`, by kid. Raises KeyringError for one that is malformed."""
    place = folder / "public"
    with explained(place, "list the folder of public keys"):
        try:
            names = sorted(name for name in os.listdir(place) if name.endswith(".json") and not name.startswith("."))
        except FileNotFoundError:
            return []
    return [_parse_public(place / name) for name in names]


def remember_public(folder: Path, public_key: bytes, *, own: bool) -> str:
    """Keep a public key in `public/`, unless it is there; returns its kid. Raises KeyringError."""
    kid = key_id(public_key)
    make_folder(folder / "public")
    content = {"v": _VERSION, "kid": kid, "public_key": public_key.hex(), "own": own}
    create(folder / "public" / f"{kid.removeprefix('sha256:')}.json", canonicalize(content) + b"\n", mode=0o600)
    return kid


def _parse_public(path: Path) -> PublicFile:
    with explained(path, "read the public key"):
        document = _document(path, path.read_bytes())
    public_key = _hex(document.get("public_key"), PUBLIC_BYTES)
    own = document.get("own")
    if public_key is None or not isinstance(own, bool) or document.get("kid") != key_id(public_key):
        raise malformed(path)
    return PublicFile(key_id(public_key), public_key, own)


def make_folder(folder: Path) -> None:
    """Make a folder only its owner can enter; refuse one in which others could replace files."""
    with explained(folder, "make the key folder"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = folder.stat().st_mode & 0o777
    if _POSIX and mode & 0o022:
        raise KeyringError(
            f"the key folder {folder} has mode {mode:04o}: others may replace keys; run `chmod 700 {folder}`"
        )


def create(path: Path, data: bytes, *, mode: int) -> bool:
    """Write a whole new file, or leave what is there: False. Durable when it returns; never seen half written."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with explained(path, "write the key"):
        try:
            _write(temporary, data, mode)
            os.link(temporary, path)  # the one step that two processes cannot both succeed in
        except FileExistsError:
            return False
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)
    return True


def _write(path: Path, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable, where the system can."""
    if not _POSIX:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def malformed(path: Path) -> KeyringError:
    return KeyringError(
        f"the key file {path} is damaged; restore it from a backup, or move it away and run `crp-mcp keys rotate`"
    )


def _document(path: Path, data: bytes) -> dict[str, Any]:
    try:
        return dict(read_object(data))
    except Rejected:
        raise malformed(path) from None


def _hex(value: object, length: int) -> bytes | None:
    if not isinstance(value, str) or len(value) != 2 * length or not _HEX_32.fullmatch(value):
        return None
    return bytes.fromhex(value)
