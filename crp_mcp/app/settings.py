"""Everything a process of ours is told: folders, registry files, whose data it is. No secrets, so it may be shown."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from crp_mcp.errors import ConfigError

if TYPE_CHECKING:
    from crp_mcp.core.model import Scope
    from crp_mcp.relay.buffer import Budget


class Settings(NamedTuple):
    """Where things are, and whose they are. No dataclass: that takes 8 ms to load, and a host waits for its answer."""

    store: str
    """Folder of the store (or its file)."""
    registry: tuple[str, ...] = ()
    """The operator's registry files, strongest first."""
    tenant: str = "local"
    project: str = ""
    host_key: str = ""
    clearance: tuple[tuple[str, str], ...] = ()
    """Who may see up to which label (`relay.labels`); nothing said: everything."""
    policy: str = ""
    """The operator's CRP-Safety-Policy."""
    budget: tuple[int, int, int, int] | None = None
    """Most bytes and entries of the store, and of one conversation; None: the usual ones."""
    roots: tuple[str, ...] = ()
    """Folders whose files `request_context` may read."""
    host_roots: bool = False
    """Whether the folders the host says it works in count as well: one on this machine, and nobody named `roots`."""
    window: int | None = None
    """Tokens of the model's context window, where it is known."""
    conversation: str | None = None
    """Set where the conversation is known; else it is found by host process and project folder."""

    confirm: bool = True
    """Whether a person is asked before a stored value goes into another tool's call."""

    @property
    def folder(self) -> Path:
        """The folder that holds store, keys and spool."""
        path = Path(self.store)
        return path.parent if path.suffix in (".db", ".sqlite", ".sqlite3") else path

    @property
    def spool(self) -> Path:
        return self.folder / "spool"

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def tables(self) -> Path:
        """The folder of tables derived from what is stored, for queries."""
        return self.folder / "tables"

    def limits(self) -> Budget:
        from crp_mcp.relay.buffer import Budget

        return Budget(*self.budget) if self.budget else Budget()

    def scope(self, conversation: str = "") -> Scope:
        from crp_mcp.core.model import Scope

        return Scope(self.tenant, self.project, conversation)

    def to_text(self) -> str:
        return json.dumps(self._asdict())

    @classmethod
    def from_text(cls, text: str) -> Settings:
        data = json.loads(text)
        pairs = tuple((whom, label) for whom, label in data["clearance"])
        budget = data["budget"]
        more = {"registry": tuple(data["registry"]), "clearance": pairs, "budget": tuple(budget) if budget else None}
        more["roots"] = tuple(data["roots"])
        return cls(**{**data, **more})


def load_settings(
    *,
    store: str | None = None,
    registry: str | None = None,
    config_store: Path | None = None,
    config_registry: Path | None = None,
    clearance: tuple[tuple[str, str], ...] = (),
    policy: str | None = None,
    budget: tuple[int, int, int, int] | None = None,
    roots: tuple[Path, ...] | None = None,
    window: int | None = None,
    env: Mapping[str, str] | None = None,
    host: bool = True,
    host_roots: bool = False,
) -> Settings:
    """Settings of this process: the command line, then the config file, then the environment, then the usual places.

    Raises ConfigError for a registry file that is named and not there.
    """
    from crp_mcp.config import registry_paths
    from crp_mcp.store.place import default_folder

    from .context import ROOTS_KEY, context_roots
    from .host import host_key, project_folder, read_ancestors

    env = os.environ if env is None else env
    named = Path(registry).expanduser() if registry else config_registry
    chosen = store or (str(config_store) if config_store else None)
    where = Path(chosen or str(default_folder(env, sys.platform))).expanduser().absolute()
    project = project_folder(env, Path.cwd())
    return Settings(
        store=str(where),
        registry=tuple(map(str, registry_paths(env, named))),
        project=project,
        roots=context_roots(env, project) if roots is None else tuple(str(root.resolve()) for root in roots),
        host_roots=host_roots and roots is None and ROOTS_KEY not in env,
        window=window,
        host_key=host_key(read_ancestors()) if host else "",
        clearance=(*clearance, *(_clearance(env) if host else ())),
        policy=policy if policy is not None else env.get("CRP_MCP_POLICY", ""),
        budget=budget or parse_budget(env.get("CRP_MCP_BUDGET", "")),
        confirm=env.get("CRP_MCP_CONFIRM", "").strip().lower() not in ("0", "off", "false", "no"),
    )


def _clearance(env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The clearance of the environment. Raises ConfigError for a blank one, which must not mean that all is cleared."""
    label = env.get("CRP_MCP_CLEARANCE")
    if label is None:
        return ()
    if not label.strip():
        raise ConfigError("CRP_MCP_CLEARANCE is set and empty: name a label such as INTERNAL, or unset it")
    return (("*", label.strip()),)


BUDGET_KEYS = ("store_bytes", "store_entries", "conversation_bytes", "conversation_entries")


def parse_budget(text: str) -> tuple[int, int, int, int] | None:
    """`store_bytes=2147483648; conversation_entries=1000`: what is not named stays as usual. Raises ConfigError."""
    if not text.strip():
        return None
    given: dict[str, int] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, _, value = (one.strip() for one in part.partition("="))
        if name not in BUDGET_KEYS or not re.fullmatch("[1-9][0-9]{0,14}", value):
            raise ConfigError(f"CRP_MCP_BUDGET: {part!r} is not `NAME=NUMBER` with one of {', '.join(BUDGET_KEYS)}")
        given[name] = int(value)
    return budget_of(given)


def budget_of(given: Mapping[str, int]) -> tuple[int, int, int, int]:
    """The budget as settings keep it."""
    from crp_mcp.relay.buffer import Budget

    made = Budget(**given)
    return made.store_bytes, made.store_entries, made.conversation_bytes, made.conversation_entries
