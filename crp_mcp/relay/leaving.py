"""What leaves by an erasure: the item that goes, its signed tombstone, the texts that go by themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crp_mcp.core.model import Scope


@dataclass(frozen=True, slots=True)
class Gone:
    """An item that is erased: whose it was, its id, the salted digest its leaves carry."""

    scope: Scope
    id: str
    digest: str
    turn_id: int | None = None


@dataclass(frozen=True, slots=True)
class Stone:
    """A signed tombstone, ready to be stored."""

    gone: Gone
    body: bytes
    at: float

    def data(self) -> dict[str, Any]:
        """What its record says."""
        hashed = "sha256:" + hashlib.sha256(self.body).hexdigest()
        return {"scratch_id": self.gone.id, "item_digest": self.gone.digest, "tombstone": hashed}


@dataclass(frozen=True, slots=True)
class Loose:
    """A fact or a turn's text that is erased by itself: `{"fact": 3}`. No digest of it was ever signed for."""

    scope: Scope
    data: Mapping[str, Any]
