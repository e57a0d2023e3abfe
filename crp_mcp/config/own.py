"""The `crp` section of a config file: where results are kept, who may see them, and how much there may be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from crp_mcp.core.safety import parse_policy
from crp_mcp.errors import BadRequest

from .expand import Expander
from .fields import Field
from .http import read_http

_BUDGET_KEYS = ("store_bytes", "store_entries", "conversation_bytes", "conversation_entries")


def read_own(section: Field, path: Path, expander: Expander) -> dict[str, Any]:
    """What stands there, as members of a Config. Raises ConfigError."""
    read: dict[str, Callable[[Field], object]] = {
        "registry": lambda one: one.path_under(path.parent, expander),
        "store": lambda one: one.path_under(path.parent, expander),
        "clearance": _clearance,
        "policy": lambda one: _policy(one, expander),
        "budget": lambda one: {key: member.whole() for key, member in one.mapping(_BUDGET_KEYS).items()},
        "roots": lambda one: tuple(root.path_under(path.parent, expander) for root in one.items()),
        "window": lambda one: one.whole(),
        "http": lambda one: read_http(one, path, expander),
    }
    return {key: read[key](one) for key, one in section.mapping(tuple(read)).items()}


def _policy(one: Field, expander: Expander) -> str:
    """A CRP-Safety-Policy, checked."""
    text = one.text(expander)
    try:
        return parse_policy(text).to_text()
    except BadRequest as problem:
        raise one.error(f"is no policy: {problem}") from None


def _clearance(one: Field) -> tuple[tuple[str, str], ...]:
    """One label for all, or `{default, tenants: {name: label}, conversations: {name: label}}`."""
    if isinstance(one.value, str):
        return (("*", one.label()),)
    parts = one.mapping(("default", "tenants", "conversations"))
    found = [("*", parts["default"].label())] if "default" in parts else []
    for kind in ("tenant", "conversation"):
        named = parts[f"{kind}s"].mapping() if f"{kind}s" in parts else {}
        found += [(f"{kind}:{name}", label.label()) for name, label in named.items()]
    return tuple(found)
