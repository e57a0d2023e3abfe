"""The tool registry: what is declared of a tool, from parsed files. Knows neither YAML nor where files stand."""

from __future__ import annotations

from .lookup import Registry, Rule, merge, tool_matches
from .reading import parse_registry

__all__ = ["Registry", "Rule", "merge", "parse_registry", "tool_matches"]
