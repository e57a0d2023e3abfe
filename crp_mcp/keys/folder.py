"""The keyring of a store: a folder of key files, or keys an operator hands over in the environment.

`signing-NNNNNN.key` holds the secrets (0600); the highest number signs. `public/` keeps every public key that was
ever ours and those of others that are trusted. Rotation is the creation of the next number, so it cannot race.
"""

from __future__ import annotations

import base64
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from crp_mcp.errors import KeyringError
from crp_mcp.keys import files
from crp_mcp.keys.ring import (
    SEED_BYTES,
    Keyring,
    audit_key_of,
    is_usable_public_key,
    make_keyring,
    public_key_of,
)
from crp_mcp.proof.signed import key_id

KEY_VARIABLE = "CRP_MCP_KEY"
FILE_VARIABLE = "CRP_MCP_KEY_FILE"
_HEX_SEED = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """One public key, as `crp-mcp keys list` shows it."""

    kid: str
    public_key: bytes
    role: str
    """`current`, `retired` (ours, no longer signing) or `trusted` (another's)."""


def load_keyring(folder: Path, *, create: bool = True, env: Mapping[str, str] | None = None) -> Keyring:
    """The keyring kept in `folder`, made there on first use; or the one `env` (default: the process's) names.

    CRP_MCP_KEY holds a seed (32 bytes, hex or base64), CRP_MCP_KEY_FILE the path of a file with one. Several seeds,
    separated by white space or commas: the first signs, the others are former ones. Any number of processes may call
    this at once and get the same key. Raises KeyringError: missing (and `create` is off, or one was there before),
    readable by others, unreadable, malformed.
    """
    given = _given_seeds(os.environ if env is None else env)
    if given is not None:
        return _from_seeds(folder, *given, remember=create)
    # Asked before the secret is looked for: the maker of a keyring writes the secret first, then the public key.
    had_one = _has_own(folder)
    secret = files.newest_secret(folder)
    if secret is None and had_one:
        raise KeyringError(
            f"the signing key of {folder} is missing, though there was one; restore signing-*.key from a backup, set "
            f"{KEY_VARIABLE} if it came from there, or begin a new one with `crp-mcp keys rotate` (earlier audit "
            "records can then be checked by their checkpoints only)"
        )
    return _from_secret(folder, secret or _first_secret(folder, create=create))


def rotate(folder: Path, *, env: Mapping[str, str] | None = None) -> Keyring:
    """Replace the signing key of `folder`; the old public key is kept, the old seed is not.

    The audit key stays, so that earlier records can still be checked. Where the secret was lost, begins anew. Raises
    KeyringError: there was never a key, the key is one from `env`, or another process rotated at the same moment.
    """
    if _given_seeds(os.environ if env is None else env) is not None:
        raise KeyringError(
            f"the key comes from {KEY_VARIABLE} or {FILE_VARIABLE}: put the new seed before the old one there"
        )
    old = files.newest_secret(folder)
    if old is None and not _has_own(folder):
        raise KeyringError(f"there is no key in {folder} to rotate; one is made on first use")
    if old is not None:
        files.remember_public(folder, public_key_of(old.seed), own=True)
    generation = old.generation + 1 if old else 1
    seed, audit_key = secrets.token_bytes(SEED_BYTES), old.audit_key if old else secrets.token_bytes(SEED_BYTES)
    if not files.create_secret(folder, generation, seed=seed, audit_key=audit_key):
        raise KeyringError(f"another process rotated the key in {folder} at this moment; see `crp-mcp keys list`")
    files.remember_public(folder, public_key_of(seed), own=True)
    with files.explained(folder, "remove retired secrets from"):
        for former in files.secret_generations(folder):
            if former < generation:
                files.secret_path(folder, former).unlink(missing_ok=True)
        files.sync_folder(folder)
    return load_keyring(folder, create=False, env={})


def list_keys(folder: Path, *, env: Mapping[str, str] | None = None) -> tuple[KeyInfo, ...]:
    """All public keys: the current one first, then retired, then trusted. Raises KeyringError as `load_keyring`."""
    ring = load_keyring(folder, create=False, env=env)
    retired = [KeyInfo(kid, key, "retired") for kid, key in ring.own.items() if kid != ring.kid]
    trusted = [KeyInfo(kid, key, "trusted") for kid, key in ring.trusted.items()]
    return (KeyInfo(ring.kid, ring.public_key, "current"), *retired, *trusted)


def trust(folder: Path, public_key: bytes | str) -> str:
    """Believe receipts signed with another's key (raw, hex or base64); returns its kid.

    Raises KeyringError for what is no usable Ed25519 public key.
    """
    raw = public_key if isinstance(public_key, bytes) else _decode(public_key.strip())
    if raw is None or not is_usable_public_key(raw):
        what = "32 bytes are wanted, as 64 hex digits or base64"
        if raw is not None and len(raw) == 32:
            what = "it is 32 bytes, but no point anybody can have a secret key for"
        raise KeyringError(f"this is no usable Ed25519 public key: {what}")
    files.make_folder(folder)
    return files.remember_public(folder, raw, own=False)


def _first_secret(folder: Path, *, create: bool) -> files.SecretFile:
    if not create:
        raise KeyringError(f"there is no signing key in {folder}; start `crp-mcp serve` once, or set {KEY_VARIABLE}")
    files.make_folder(folder)
    seed, audit_key = secrets.token_bytes(SEED_BYTES), secrets.token_bytes(SEED_BYTES)
    files.create_secret(folder, 1, seed=seed, audit_key=audit_key)  # or another process was first: then theirs is used
    secret = files.newest_secret(folder)
    if secret is None:
        raise KeyringError(f"the key just made in {folder} is gone again; is another program cleaning that folder?")
    files.remember_public(folder, public_key_of(secret.seed), own=True)
    return secret


def _has_own(folder: Path) -> bool:
    return any(public.own for public in files.public_files(folder))


def _from_secret(folder: Path, secret: files.SecretFile) -> Keyring:
    own, trusted = _publics(folder)
    return make_keyring(secret.seed, source=str(secret.path), audit_keys=(secret.audit_key,), own=own, trusted=trusted)


def _from_seeds(folder: Path, seeds: list[bytes], source: str, *, remember: bool) -> Keyring:
    """A keyring of handed-over seeds; keys that were made in the folder before remain former ones."""
    if remember:
        files.make_folder(folder)
        files.remember_public(folder, public_key_of(seeds[0]), own=True)
    own, trusted = _publics(folder)
    own.update((key_id(key), key) for key in map(public_key_of, seeds))
    former = files.newest_secret(folder)
    audit_keys = [audit_key_of(seed) for seed in seeds] + ([former.audit_key] if former else [])
    return make_keyring(seeds[0], source=source, audit_keys=tuple(audit_keys), own=own, trusted=trusted)


def _publics(folder: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    kept = files.public_files(folder)
    own = {public.kid: public.public_key for public in kept if public.own}
    return own, {public.kid: public.public_key for public in kept if not public.own}


def _given_seeds(env: Mapping[str, str]) -> tuple[list[bytes], str] | None:
    """Seeds from the environment and what to call their source; None where it names none."""
    if KEY_VARIABLE in env and FILE_VARIABLE in env:
        raise KeyringError(f"{KEY_VARIABLE} and {FILE_VARIABLE} are both set; keep one of them")
    if KEY_VARIABLE in env:
        return _seeds(env[KEY_VARIABLE], f"the variable {KEY_VARIABLE}")
    if FILE_VARIABLE not in env:
        return None
    if not env[FILE_VARIABLE]:
        raise KeyringError(f"{FILE_VARIABLE} is set but empty; give it the path of a key file, or unset it")
    path = Path(env[FILE_VARIABLE])
    try:  # readable by others is allowed here: container secrets are mounted so, and the operator chose the place
        text = files.read_private(path, strict=False).decode("utf-8", "replace")
    except FileNotFoundError:
        raise KeyringError(f"{FILE_VARIABLE} names {path}, which does not exist") from None
    return _seeds(text, f"the file {path} named by {FILE_VARIABLE}")


def _seeds(text: str, where: str) -> tuple[list[bytes], str]:
    """The seeds in a text. What is wrong is never repeated: it may be most of a secret."""
    seeds = [_decode(part) for part in re.split(r"[\s,]+", text) if part]
    good = [seed for seed in seeds if seed is not None]
    if not seeds or len(good) != len(seeds):
        raise KeyringError(
            f"{where} holds no key: a seed is 32 bytes, as 64 hex digits or base64 "
            "(make one with `openssl rand -hex 32`)"
        )
    return good, where


def _decode(text: str) -> bytes | None:
    """32 bytes from 64 hex digits, or base64 of either alphabet with or without padding."""
    if _HEX_SEED.fullmatch(text):
        return bytes.fromhex(text)
    try:
        raw = base64.b64decode(text.translate(str.maketrans("-_", "+/")).rstrip("=") + "=", validate=True)
    except ValueError:
        return None
    return raw if len(raw) == SEED_BYTES else None
