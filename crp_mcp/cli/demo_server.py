"""A real MCP server on the official SDK over real data every Python carries: the upstream of `crp-mcp demo`.

Run it alone with `python -m crp_mcp.cli.demo_server`; it knows nothing of the relay.
"""

from __future__ import annotations

import pydoc
import sys
import tokenize
import traceback
import unicodedata
from importlib.metadata import distributions
from typing import Any
from xml.etree import ElementTree

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer(
    "python-reference", instructions="Reference data of the Python that runs this server.", log_level="WARNING"
)


@server.tool()
def query_characters(block_start: str = "0", block_end: str = "2FFF") -> list[dict[str, Any]]:
    """Rows of the Unicode character database between two hexadecimal code points."""
    rows = []
    for point in range(int(block_start, 16), int(block_end, 16) + 1):
        character = chr(point)
        name = unicodedata.name(character, None)
        if name is None:
            continue
        rows.append(
            {
                "code_point": point,
                "hex": f"{point:04X}",
                "name": name,
                "category": unicodedata.category(character),
                "bidirectional": unicodedata.bidirectional(character),
                "combining": unicodedata.combining(character),
                "numeric": unicodedata.numeric(character, None),
            }
        )
    return rows


@server.tool()
def read_documentation(topic: str = "argparse") -> str:
    """The documentation of a module, class or function, as plain text."""
    return pydoc.plain(pydoc.render_doc(topic))


@server.tool()
def list_tokens(module: str = "json.decoder") -> str:
    """Every token of a standard library module's source, as CSV."""
    __import__(module)
    path = sys.modules[module].__file__
    assert path is not None
    lines = ["line,column,kind,text"]
    with open(path, "rb") as file:
        for token in tokenize.tokenize(file.readline):
            text = token.string.replace('"', '""')
            lines.append(f'{token.start[0]},{token.start[1]},{tokenize.tok_name[token.type]},"{text}"')
    return "\n".join(lines)


@server.tool()
def installed_packages() -> list[dict[str, Any]]:
    """The packages of this environment, with version and summary."""
    found = [
        {
            "name": d.metadata["Name"],
            "version": d.version,
            "summary": d.metadata["Summary"],
            "files": len(d.files or ()),
        }
        for d in distributions()
    ]
    return sorted(found, key=lambda row: str(row["name"]).lower())


@server.tool()
def current_python() -> dict[str, Any]:
    """Version and platform of the running Python: a result small enough to pass untouched."""
    return {"version": sys.version.split()[0], "platform": sys.platform}


@server.tool()
def parse_document(document: str = "") -> str:
    """Parse an XML document; without one it fails, deep inside, with the traceback as the error."""
    try:
        return str(ElementTree.fromstring(document).tag)
    except ElementTree.ParseError:
        raise ToolError(traceback.format_exc()) from None


if __name__ == "__main__":
    server.run("stdio")
