"""How deep each node may be shown: closer to the focus, deeper (`depth_gradient`)."""

from __future__ import annotations

from collections.abc import Mapping

from crp_mcp.core.request.nodes import MAX_DEPTH

from .strategies import Reach, Search

OTHER_RELATION = 3
"""Levels that a first step by another relation than containment costs."""
FURTHER = 2
"""Levels that each further step costs."""


def deepest(search: Search, uri: str, depth: Mapping[str, int]) -> int:
    """The deepest rendering a node may have. `depth`: the requested depth of every domain."""
    asked = depth.get(uri.partition(":")[0] + ":", depth["uko:"])
    if not search.request.depth_gradient:
        return asked
    reach = search.reached.get(uri)
    if search.focus:
        if uri in search.focus:
            return MAX_DEPTH
        hit = asked if uri in search.hit_uris else 0
        return max(hit, _walked(reach, asked) if reach else asked)
    found = asked if "depth" in search.request.model_fields_set else MAX_DEPTH  # what only words found
    if reach is None or reach.hop == 0:
        return found
    return found if uri in search.hit_uris else min(found, _walked(reach, asked))


def _walked(reach: Reach, asked: int) -> int:
    if reach.hop == 0:
        return MAX_DEPTH
    first = asked if reach.contained else max(0, asked - OTHER_RELATION)
    return max(0, first - FURTHER * (reach.hop - 1))
