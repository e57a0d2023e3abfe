"""What leaves by an erasure: the item that goes, its signed tombstone, the texts that go by themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crp_mcp.core.model import Scope
from crp_mcp.store.descent import LooseText


@dataclass(frozen=True, slots=True)
class Gone:
    """An item that is erased: whose it was, its id, the salted digest its leaves carry.

    `said`: what the record calls it, where that is no entry.
    """

    scope: Scope
    id: str
    digest: str
    turn_id: int | None = None
    said: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stone:
    """A signed tombstone, ready to be stored."""

    gone: Gone
    body: bytes
    at: float

    def data(self) -> dict[str, Any]:
        """What its record says."""
        hashed = "sha256:" + hashlib.sha256(self.body).hexdigest()
        called: Mapping[str, Any] = self.gone.said or {"scratch_id": self.gone.id}
        return {**called, "item_digest": self.gone.digest, "tombstone": hashed}


@dataclass(frozen=True, slots=True)
class Loose:
    """A fact or a turn's text that goes and that no context delivered: no digest of it was ever signed for."""

    scope: Scope
    data: Mapping[str, int]


def said_of(text: LooseText) -> dict[str, int]:
    """What records call a fact or a turn: `{"fact": 3}`."""
    return {text.what: text.number}
