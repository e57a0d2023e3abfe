"""crp-mcp: a relay between an MCP host and its servers. See docs/architecture.md for the map of the rooms.

The Context Request Protocol's models are here by name; they load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crp_mcp.core.request import (
        AssembledContext,
        ContextBudget,
        ContextFragment,
        ContextRequest,
        DetailLevelMap,
        FragmentProvenance,
        TemporalScope,
    )

__version__ = "0.1.0"

_MODELS = (
    "AssembledContext",
    "ContextBudget",
    "ContextFragment",
    "ContextRequest",
    "DetailLevelMap",
    "FragmentProvenance",
    "TemporalScope",
)
__all__ = [
    "AssembledContext",
    "ContextBudget",
    "ContextFragment",
    "ContextRequest",
    "DetailLevelMap",
    "FragmentProvenance",
    "TemporalScope",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in _MODELS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from crp_mcp.core import request

    return getattr(request, name)
