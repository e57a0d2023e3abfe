"""Tenants of the HTTP front: a store, a signing key and a worker each, so that none can reach or exhaust another's."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING

from crp_mcp.errors import Refused
from crp_mcp.log import log
from crp_mcp.mcp.spool import Spool

from .port import Port

if TYPE_CHECKING:
    from .settings import Settings

IDLE_SECONDS = 300.0
"""A worker that no hub uses for so long is ended."""
LEAST_FREE = 64 * 1024 * 1024
"""With less room on the disk than this we say that we are not ready."""
FOLDER = "tenants"


class Tenant:
    """One tenant's part. Used by as many hubs as hold it."""

    def __init__(self, name: str, settings: Settings, *, tools: bool) -> None:
        self.name = name
        self.spool = Spool(settings.spool)
        self.used_at = 0.0
        self.holders = 0
        self._port = Port(settings, tools=tools)

    def relay(self, conversation: Callable[[], str]) -> Port:
        return self._port.for_host(conversation)

    def hold(self) -> None:
        self.holders += 1

    def let_go(self) -> None:
        self.holders -= 1
        self.used_at = asyncio.get_running_loop().time()

    async def close(self) -> None:
        await self._port.close()
        self.spool.close()


class Tenants:
    """Opens tenants as they come. `alone`: there is no authentication, and one tenant, whose store is the usual one."""

    def __init__(
        self,
        settings: Settings,
        *,
        tools: bool,
        most: int,
        alone: bool,
        clearances: Callable[[str], str | None] = lambda name: None,
    ) -> None:
        self._settings = settings
        self._tools = tools
        self._most = most
        self._alone = alone
        self._clearances = clearances
        self._open: dict[str, Tenant] = {}
        self._endings: set[asyncio.Task[None]] = set()

    @property
    def open_count(self) -> int:
        return len(self._open)

    def get(self, name: str) -> Tenant:
        """The tenant of that name. Raises Refused where too many are in use."""
        known = self._open.get(name)
        if known is None:
            if len(self._open) >= self._most:
                self._make_room()
            settings = self.settings_of(name)
            for folder in (settings.folder.parent, settings.folder) if not self._alone else ():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            known = self._open[name] = Tenant(name, settings, tools=self._tools)
        known.used_at = asyncio.get_running_loop().time()
        return known

    def settings_of(self, name: str) -> Settings:
        """Where a tenant's results are, and what may be shown to it."""
        if self._alone:
            return self._settings
        clearance = self._clearances(name)
        return self._settings._replace(
            store=str(self._settings.folder / FOLDER / folder_name(name)),
            clearance=(*_of_tenant(self._settings.clearance, name), *((("*", clearance),) if clearance else ())),
        )

    def _make_room(self) -> None:
        idle = [one for one in self._open.values() if not one.holders]
        if not idle:
            raise Refused("Too many tenants are in use here.")
        self._end(min(idle, key=lambda one: one.used_at))

    def _end(self, tenant: Tenant) -> None:
        del self._open[tenant.name]
        task = asyncio.ensure_future(tenant.close())
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    async def sweep(self) -> None:
        oldest = asyncio.get_running_loop().time() - IDLE_SECONDS
        for tenant in list(self._open.values()):
            if not tenant.holders and tenant.used_at < oldest:
                self._end(tenant)

    async def close(self) -> None:
        for tenant in list(self._open.values()):
            self._end(tenant)
        while self._endings:
            await asyncio.wait(self._endings)

    def health(self) -> str:
        """ "" where results can be stored; else why not."""
        folder = self._settings.folder
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        try:
            free = shutil.disk_usage(folder).free
        except OSError as error:
            log("error", "store_not_ready", reason=str(error))
            return "cannot be read"
        if not os.access(folder, os.W_OK):
            return "cannot be written"
        return "" if free >= LEAST_FREE else "the disk is full"


def folder_name(tenant: str) -> str:
    """A folder of its own for every name, readable where the name allows it."""
    digest = hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9_-]+", "_", tenant)[:40].strip("_")
    return f"{readable}-{digest}" if readable else digest


def _of_tenant(given: tuple[tuple[str, str], ...], name: str) -> tuple[tuple[str, str], ...]:
    """The operator's clearances, for a store that knows its one tenant under the usual name."""
    return tuple(("*" if whom == f"tenant:{name}" else whom, label) for whom, label in given if _concerns(whom, name))


def _concerns(whom: str, name: str) -> bool:
    return not whom.startswith("tenant:") or whom == f"tenant:{name}"
