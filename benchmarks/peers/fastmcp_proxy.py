"""FastMCP's own proxy in front of a command: run by a Python that has fastmcp."""

import sys

from fastmcp import FastMCP
from fastmcp.server import create_proxy

command, *args = sys.argv[1:]
proxy: FastMCP = create_proxy({"mcpServers": {"up": {"command": command, "args": args}}})
proxy.run(show_banner=False)
