"""What all ports of one store have in common: the worker, questions to it, and the registry as it is now.

Light to import: it stands on the way to the first answer.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crp_mcp.errors import BadRequest, CrpError, NotFound, Refused
from crp_mcp.log import log

if TYPE_CHECKING:
    from crp_mcp.config import LiveRegistry
    from crp_mcp.core.model import ToolPolicy
    from crp_mcp.relay.pool import Reply, WorkerClient

    from .settings import Settings


class Shared:
    """Made once for a store; worker and registry are opened when first needed."""

    __slots__ = ("_problem", "_registry", "_settings", "_worker")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._worker: WorkerClient | None = None
        self._registry: LiveRegistry | None = None
        self._problem: str | None = None

    async def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            await self._worker.close()

    def policy(self, server: str, tool: str, definition: Mapping[str, Any] | None) -> ToolPolicy:
        """What the registry says of a tool. A file of it that has become wrong is logged; what held before holds on."""
        if self._registry is None:
            from crp_mcp.config import LiveRegistry

            paths = tuple(map(Path, self._settings.registry))
            self._registry = LiveRegistry(paths, cache=self._settings.cache, strict=False)
        registry = self._registry.current()
        if self._registry.problem != self._problem:
            self._problem = self._registry.problem
            log("error" if self._problem else "info", "registry", problem=self._problem)
        return registry.policy(server, tool, definition)

    def labels(self) -> tuple[str, ...]:
        """The registry's labels; none where it was not needed yet."""
        return () if self._registry is None else self._registry.current().labels

    def client(self) -> WorkerClient:
        """The worker's client, which needs the event loop's module: so it is loaded when the first call leaves."""
        if self._worker is None:
            from crp_mcp.relay.pool import WorkerClient

            command = [sys.executable, "-P", "-m", "crp_mcp.app.worker", self._settings.to_text()]
            self._worker = WorkerClient(command)
        return self._worker

    async def ask(self, header: Mapping[str, Any], blob: bytes, timeout: float) -> Reply:
        """One question to the worker. Raises CrpError of the kind it answers with."""
        reply, out = await self.client().call(header, blob, timeout=timeout)
        if not reply.get("ok"):
            kinds: dict[str, type[CrpError]] = {"NOT_FOUND": NotFound, "BAD_REQUEST": BadRequest, "REFUSED": Refused}
            code = str(reply.get("code"))
            raise kinds.get(code, CrpError)(str(reply.get("message")), code=code)
        return reply, out

    async def ask_twice(self, header: Mapping[str, Any], blob: bytes, timeout: float) -> Reply:
        """The same; a worker that died may have died of another job, so the second one gets a try."""
        try:
            return await self.ask(header, blob, timeout)
        except CrpError as failed:
            if failed.code != "WORKER":
                raise
            log("warning", "worker_failed", reason=str(failed))
            return await self.ask(header, blob, timeout)
