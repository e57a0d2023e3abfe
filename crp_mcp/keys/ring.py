"""A loaded keyring: signs, verifies, derives session keys. Knows nothing of where keys are kept."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType

from crp_mcp.errors import KeyringError
from crp_mcp.proof.signed import key_id

SEED_BYTES = 32
PUBLIC_BYTES = 32
SIGNATURE_BYTES = 64
_SESSION_INFO = b"crp-session-hmac-v3"
_MASTER_INFO = b"crp-audit-master-v1"


@cache
def _sodium() -> ModuleType:
    """libsodium, loaded at first use: 25 ms that no start-up should wait for."""
    try:
        import nacl.bindings
    except ImportError as error:
        raise KeyringError(f"PyNaCl cannot be loaded ({error}); reinstall crp-mcp") from None
    return nacl.bindings


def hkdf_sha256(key: bytes, *, salt: bytes, info: bytes, length: int = 32) -> bytes:
    """HKDF with SHA-256 (RFC 5869). Raises ValueError for more than 8,160 bytes."""
    if not 0 < length <= 255 * 32:
        raise ValueError("HKDF-SHA256 gives 1 to 8,160 bytes")
    pseudorandom = hmac.digest(salt or bytes(32), key, "sha256")
    block, output = b"", b""
    while len(output) < length:
        block = hmac.digest(pseudorandom, block + info + bytes([len(output) // 32 + 1]), "sha256")
        output += block
    return output[:length]


def verify_signature(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Ed25519 as libsodium does it (RFC 8032, small-order points refused). Never raises for what it is given."""
    if len(public_key) != PUBLIC_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    from nacl.exceptions import BadSignatureError

    try:
        _sodium().crypto_sign_open(signature + message, public_key)
    except BadSignatureError:
        return False
    return True


def is_usable_public_key(public_key: bytes) -> bool:
    """Whether this is a point of the main subgroup: no signature could ever be trusted under another."""
    return len(public_key) == PUBLIC_BYTES and bool(_sodium().crypto_core_ed25519_is_valid_point(public_key))


def public_key_of(seed: bytes) -> bytes:
    """The raw public key of a 32-byte seed."""
    return bytes(_sodium().crypto_sign_seed_keypair(seed)[0])


def audit_key_of(seed: bytes) -> bytes:
    """The master key of the audit chain where only a signing seed is given (environment, secret file)."""
    return hkdf_sha256(seed, salt=b"", info=_MASTER_INFO)


@dataclass(frozen=True, slots=True)
class Keyring:
    """One signing key, the audit master keys, and all public keys that are believed. Secrets are never printed."""

    kid: str
    """`sha256:` and the hex SHA-256 of the raw public key."""
    public_key: bytes
    source: str
    """Where the signing key came from, for a person."""
    own: Mapping[str, bytes]
    """kid -> public key of this keyring, current and retired: only these seal its own chain."""
    trusted: Mapping[str, bytes]
    """kid -> public keys of others: their receipts are believed too."""
    _secret: bytes = field(repr=False)
    _audit_keys: tuple[bytes, ...] = field(repr=False)

    def sign(self, message: bytes) -> bytes:
        """The 64-byte Ed25519 signature of `message` (RFC 8032)."""
        return bytes(_sodium().crypto_sign(message, self._secret)[:SIGNATURE_BYTES])

    def verify(self, public_key: bytes, signature: bytes, message: bytes) -> bool:
        """`verify_signature`, for who is handed a keyring alone."""
        return verify_signature(public_key, signature, message)

    def mac_key(self, session_id: str) -> bytes:
        """The 32-byte HMAC key of one conversation's audit records."""
        return _session_key(self._audit_keys[0], session_id)

    def mac_keys(self, session_id: str) -> tuple[bytes, ...]:
        """All keys the conversation's records may be under, the present one first (for chain_verify)."""
        return tuple(_session_key(key, session_id) for key in self._audit_keys)

    def public_keys(self) -> dict[str, bytes]:
        """kid -> raw public key of all keys whose receipts are believed: own, retired, trusted."""
        return {**self.trusted, **self.own}


def make_keyring(
    seed: bytes, *, source: str, audit_keys: tuple[bytes, ...], own: Mapping[str, bytes], trusted: Mapping[str, bytes]
) -> Keyring:
    """A keyring that signs with `seed` (32 bytes)."""
    public_key, secret = _sodium().crypto_sign_seed_keypair(seed)
    kid = key_id(public_key)
    mine = {**own, kid: bytes(public_key)}
    others = {name: key for name, key in trusted.items() if name not in mine}
    return Keyring(kid, bytes(public_key), source, mine, others, bytes(secret), audit_keys)


def _session_key(master: bytes, session_id: str) -> bytes:
    return hkdf_sha256(master, salt=session_id.encode("utf-8", "surrogatepass"), info=_SESSION_INFO)
