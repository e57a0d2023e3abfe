"""What the proof tests share: the vectors, one test key, a second key, and the way to catch a reason code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.errors import Rejected
from crp_mcp.keys.ring import Keyring, audit_key_of, make_keyring
from crp_mcp.proof import eccr
from crp_mcp.proof.reasons import Reason

REPO = Path(__file__).resolve().parents[2]
VECTORS = REPO / "tests" / "vectors"
NOW = 1_793_664_000
LATER = 1_900_000_000
OUTPUT = "sha256:" + "0d" * 32


def shared(*parts: str) -> Path:
    """A file or folder of the shared vectors; skips the test where it is missing."""
    base = Path(os.environ.get("CRP_SHARED") or REPO.parent / "shared")
    path = base.joinpath("vectors", *parts)
    if not path.exists():
        pytest.skip(f"the shared vectors {'/'.join(parts)} are not here (CRP_SHARED)")
    return path


@cache
def profile() -> dict[str, Any]:
    return json.loads((VECTORS / "eccr" / "profile_vectors.json").read_bytes())


def keyring(byte: int = 0x2A) -> Keyring:
    """A keyring over a seed of one repeated byte; 0x2a is the draft's test key."""
    seed = bytes([byte]) * 32
    return make_keyring(seed, source="test", audit_keys=(audit_key_of(seed),), own={}, trusted={})


RING = keyring()
OTHER = keyring(0x2B)
TRUST: dict[str, Any] = {"keys": RING.public_keys(), "verify_signature": RING.verify}
SIGN: dict[str, Any] = {"kid": RING.kid, "sign": RING.sign}


def item(number: int, sensitivity: str = "INTERNAL", expires_at: int = LATER) -> eccr.Item:
    return eccr.Item(f"sha256:{number:064x}", sensitivity, expires_at)


def receipt(*items: eccr.Item, **more: Any) -> eccr.Receipt:
    arguments = {"output_hash": OUTPUT, "issued_at": NOW, **SIGN, **more}
    return eccr.issue(items or (item(1),), **arguments)


def reason_of(call: Callable[[], object]) -> str:
    """The reason code `call` is refused with; fails if it is not refused."""
    with pytest.raises(Rejected) as caught:
        call()
    return caught.value.code


def outcome(call: Callable[[], object]) -> tuple[object, str | None]:
    """What `call` returned and None; or None and the reason code it was refused with, which must be a known one."""
    try:
        return call(), None
    except Rejected as refusal:
        return None, Reason(refusal.code).value
