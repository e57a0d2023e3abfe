"""Conversations nobody named: a client over HTTP without a session; only ids and pinned names mean anything to it."""

from __future__ import annotations

import re

_NAMELESS = re.compile(r"http_[0-9a-f]{24}")
NO_CONVERSATION = (
    'this client names no conversation (`_meta["dev.crp/conversation"]`), so only the scratch_ids and pinned names it '
    "was given are found"
)


def nameless(random: bytes) -> str:
    """The name of such a conversation; `random`: 12 bytes. Nothing else belongs to it."""
    return f"http_{random.hex()}"


def nothing_stored(conversation: str) -> str:
    """Why a conversation has no results."""
    return NO_CONVERSATION if _NAMELESS.fullmatch(conversation) else "nothing is stored yet"
