"""crp-mcp: a relay between an MCP host and its servers. See docs/architecture.md for the map of the rooms."""

__version__ = "0.1.0"
