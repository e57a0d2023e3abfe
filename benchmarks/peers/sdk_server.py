"""A bare server on the official SDK, the measure of start-up."""

from mcp.server import MCPServer

server = MCPServer("bare")


@server.tool()
def tiny() -> str:
    """A few bytes."""
    return "ok 42"


server.run("stdio")
