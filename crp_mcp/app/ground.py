"""What everything of one store stands on: its file, keys, registry, token counter, clock, labels and signatures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crp_mcp.config import LiveRegistry
from crp_mcp.core.model import Entry, ToolPolicy
from crp_mcp.keys import Keyring, load_keyring
from crp_mcp.proof.lattice import Lattice
from crp_mcp.relay.ceilings import Ceilings
from crp_mcp.relay.counting import LazyCounter
from crp_mcp.relay.labels import Clearances, Guard
from crp_mcp.relay.sealing import Sealer
from crp_mcp.store import SqliteStore, open_store, store_file

from .memory import give_back
from .settings import Settings


@dataclass(frozen=True, slots=True)
class Ground:
    """`now`: epoch seconds."""

    settings: Settings
    store: SqliteStore
    keyring: Keyring
    registry: LiveRegistry
    counter: LazyCounter
    now: Callable[[], float]
    ceilings: Ceilings
    sealer: Sealer
    guard: Guard

    def policy(self, server: str, tool: str, definition: Mapping[str, Any] | None = None) -> ToolPolicy:
        """What the registry says now; it follows its files."""
        return self.registry.current().policy(server, tool, definition)

    def policy_of(self, entry: Entry) -> ToolPolicy:
        """The same for the tool that an entry came from."""
        return self.policy(entry.server, entry.tool_name)


def open_ground(settings: Settings, *, create: bool, now: Callable[[], float]) -> Ground:
    """Open store, keys and registry. Raises StoreError, KeyringError or ConfigError."""
    if not create and not store_file(Path(settings.store)).exists():
        open_store(Path(settings.store), create=False)  # says so: "no store" tells more than "no key"
    keyring = load_keyring(settings.keys, create=create)
    store = open_store(Path(settings.store), create=create, clock=now)
    registry = LiveRegistry(tuple(map(Path, settings.registry)), cache=settings.cache)
    lattice = Lattice(registry.registry.labels)
    ceilings = Ceilings(store, keyring, lattice)
    sealer = Sealer(keyring, lattice, ceilings.raised)
    guard = Guard(store, sealer, Clearances(settings.clearance, lattice), now)
    return Ground(settings, store, keyring, registry, LazyCounter(give_back), now, ceilings, sealer, guard)
