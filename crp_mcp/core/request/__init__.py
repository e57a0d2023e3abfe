"""The Context Request Protocol's models by their own names, the ladders of every domain, and how a node is rendered.

Names load when they are first used: pydantic is not on the way to a host's first answer.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ladders import LADDERS, ladder_of, resolve_depth
    from .levels import DetailLevelMap, LevelError
    from .models import (
        AssembledContext,
        ContextBudget,
        ContextFragment,
        ContextRequest,
        FragmentProvenance,
        TemporalScope,
    )
    from .nodes import Node, render

__all__ = [
    "LADDERS",
    "AssembledContext",
    "ContextBudget",
    "ContextFragment",
    "ContextRequest",
    "DetailLevelMap",
    "FragmentProvenance",
    "LevelError",
    "Node",
    "TemporalScope",
    "ladder_of",
    "render",
    "resolve_depth",
]

_MODULES = {
    "ladders": ("LADDERS", "ladder_of", "resolve_depth"),
    "levels": ("DetailLevelMap", "LevelError"),
    "models": (
        "AssembledContext",
        "ContextBudget",
        "ContextFragment",
        "ContextRequest",
        "FragmentProvenance",
        "TemporalScope",
    ),
    "nodes": ("Node", "render"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
