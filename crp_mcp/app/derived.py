"""What was made from entries and stands outside the store: tables of queries, remembered evidence, spooled lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crp_mcp.core.model import Scope
from crp_mcp.mcp.spool import sweep as sweep_spool
from crp_mcp.query.desk import Desk
from crp_mcp.relay.rebuilding import sweep_leftovers
from crp_mcp.store import SqliteStore

from .checking import Checking
from .settings import Settings


@dataclass(frozen=True, slots=True)
class Derived:
    """It goes when its entries do. What answers False could not be done yet: ask again."""

    settings: Settings
    store: SqliteStore
    desk: Desk
    checking: Checking

    def forget(self, scope: Scope, ids: Sequence[str]) -> bool:
        """Remove what was derived from these entries."""
        self.checking.forget(ids)
        return self.desk.forget(scope, ids)

    def sweep(self) -> None:
        """Remove what was derived from entries that are gone, and all that is merely remembered."""
        self.desk.sweep()
        self.checking.forget()

    def tidy(self) -> bool:
        """What an erasure removes besides the store's rows; spooled lines of dead processes are among it."""
        sweep_spool(self.settings.spool)
        sweep_leftovers(self.settings.tables)
        self.desk.sweep()
        return all([self.desk.forget(scope, ()) for scope in self.store.spaces()])  # noqa: C419 - each is to be asked
