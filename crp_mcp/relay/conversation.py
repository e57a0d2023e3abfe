"""Which conversation a call belongs to: the one it names, else the one of this host process and project folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crp_mcp.core.model import Scope
from crp_mcp.store import Store

CONVERSATION_KEY = "dev.crp/conversation"
IDLE_SECONDS = 30 * 60
"""After so long without a call, the same host process and folder begin a new conversation."""
MAX_NAME = 200
_TOUCH_EVERY = 60.0


@dataclass(slots=True)
class Conversations:
    """Finds conversations for one tenant, project and host; safe to ask on every call."""

    store: Store
    tenant: str
    project: str
    host_key: str
    now: Callable[[], float]
    new_id: Callable[[], str]
    fixed: str | None = None
    _current: str = field(default="", init=False)
    _used_at: float = field(default=0.0, init=False)

    def scope(self, meta: Mapping[str, Any]) -> Scope:
        """The scope of a call, from its `_meta`."""
        named = meta.get(CONVERSATION_KEY)
        if isinstance(named, str) and 0 < len(named) <= MAX_NAME:
            return Scope(self.tenant, self.project, named)
        return Scope(self.tenant, self.project, self.fixed or self._by_host())

    def _by_host(self) -> str:
        now = self.now()
        found = self.store.conversation_of(self.tenant, self.project, self.host_key, since=now - IDLE_SECONDS)
        recent = self._current and now - self._used_at < IDLE_SECONDS
        if recent and found == self._current and now - self._used_at < _TOUCH_EVERY:
            return self._current
        self._current = found or (self._current if recent else self.new_id())
        self.store.touch_conversation(Scope(self.tenant, self.project, self._current), self.host_key, now)
        self._used_at = now
        return self._current
