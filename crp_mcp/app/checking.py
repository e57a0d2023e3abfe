"""Joins what checking claims needs; made on first use, since reading sentences costs start-up."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crp_mcp.mcp.tools.checking import CheckTool
    from crp_mcp.relay.checking import Checker
    from crp_mcp.relay.headers import Headers
    from crp_mcp.relay.reading import Reader
    from crp_mcp.relay.using import Using

    from .ground import Ground


class Checking:
    """The checker of one store, and the tool over it, made once, whichever thread asks first."""

    def __init__(self, ground: Ground, reader: Reader, using: Using, headers: Headers) -> None:
        self._lock = threading.Lock()
        self._ground, self._reader, self._using, self._headers = ground, reader, using, headers
        self._checker: Checker | None = None

    def checker(self) -> Checker:
        with self._lock:
            if self._checker is None:
                from crp_mcp.relay.checking import Checker

                ground = self._ground
                self._checker = Checker(ground.store, ground.sealer, self._reader, self._using, ground.now)
            return self._checker

    def tool(self) -> CheckTool:
        from crp_mcp.mcp.tools.checking import CheckTool

        return CheckTool(self.checker(), self._ground.counter, self._headers)

    def forget(self, ids: Iterable[str] | None = None) -> None:
        """Let go of what is remembered of these results, or of all."""
        if self._checker is not None:
            self._checker.forget(ids)
