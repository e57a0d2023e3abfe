"""crp-mcp: a relay between an MCP host and its servers. See docs/architecture.md for the map of the rooms.

The Context Request Protocol's models are here by name, with the ladders of every domain, and `assemble_context`, which
answers a request from files. They load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from crp_mcp.core.request import (
        LADDERS,
        AssembledContext,
        ContextBudget,
        ContextFragment,
        ContextRequest,
        DetailLevelMap,
        FragmentProvenance,
        TemporalScope,
    )

    assemble_context: Callable[..., Any]
    """See `crp_mcp.app.context`: that room imports this one."""

__version__ = "0.1.0"

__all__ = [
    "LADDERS",
    "AssembledContext",
    "ContextBudget",
    "ContextFragment",
    "ContextRequest",
    "DetailLevelMap",
    "FragmentProvenance",
    "TemporalScope",
    "__version__",
    "assemble_context",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "app.context" if name == "assemble_context" else "core.request"
    return getattr(import_module(f"{__name__}.{home}"), name)
