"""What our tools cost in every prompt, and what a model is told of them."""

from __future__ import annotations

import json

from crp_mcp.mcp.tools.definitions import OWN_TOOLS
from crp_mcp.tokens import open_counter


def test_our_tools_cost_at_most_a_thousand_tokens() -> None:
    """Name, description and input schema of all of them, as one JSON object each; ten tools, no more."""
    counter = open_counter()
    shown = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in OWN_TOOLS]
    assert sum(counter.count(json.dumps(tool, separators=(",", ":"))) for tool in shown) <= 1_000
    assert len(OWN_TOOLS) <= 10


def test_every_tool_says_what_it_does_and_how_it_acts() -> None:
    """A first sentence that stands alone, typed inputs, annotations; readers that a tool search must not hide."""
    for tool in OWN_TOOLS:
        assert 20 < len(tool["description"].split(". ")[0]) < 200
        assert tool["inputSchema"]["type"] == "object"
        assert isinstance(tool["annotations"]["readOnlyHint"], bool)
        if tool["name"] in ("scratch_get", "scratch_list", "scratch_query"):
            assert tool["_meta"]["anthropic/alwaysLoad"] is True
