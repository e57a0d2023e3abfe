"""Joins what checking claims needs; made on first use, since reading sentences costs start-up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crp_mcp.core.model import Entry, Scope
    from crp_mcp.mcp.tools.checking import CheckTool
    from crp_mcp.relay.checking import Checker
    from crp_mcp.relay.reading import Reader
    from crp_mcp.relay.sealing import Sealer
    from crp_mcp.relay.service import Counter
    from crp_mcp.relay.using import Using
    from crp_mcp.store import SqliteStore


class Checking:
    """The checker of one store, and the tool over it, made once, whichever thread asks first."""

    def __init__(
        self,
        store: SqliteStore,
        sealer: Sealer,
        reader: Reader,
        using: Using,
        counter: Callable[[], Counter],
        now: Callable[[], float],
        headers: Callable[[Scope, Sequence[Entry]], Mapping[str, str]],
    ) -> None:
        self._lock = threading.Lock()
        self._parts = (store, sealer, reader, using, now)
        self._counter, self._headers = counter, headers
        self._checker: Checker | None = None

    def checker(self) -> Checker:
        with self._lock:
            if self._checker is None:
                from crp_mcp.relay.checking import Checker

                self._checker = Checker(*self._parts)
            return self._checker

    def tool(self) -> CheckTool:
        from crp_mcp.mcp.tools.checking import CheckTool

        return CheckTool(self.checker(), self._counter, self._headers)

    def forget(self, ids: Iterable[str] | None = None) -> None:
        """Let go of what is remembered of these results, or of all."""
        if self._checker is not None:
            self._checker.forget(ids)
