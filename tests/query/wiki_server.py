"""A small server: one tool gives a long page, one takes a body and says what it got. Standard library alone."""

from __future__ import annotations

import hashlib
import json
import sys

from wiki_server_body import BODY

TOOLS = [
    {"name": "get_page", "inputSchema": {"type": "object", "properties": {}}},
    {
        "name": "update_page",
        "inputSchema": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "body": {"type": "string"}},
            "required": ["id", "body"],
        },
    },
    {"name": "rows", "inputSchema": {"type": "object", "properties": {}}},
]


def call(name: str, arguments: dict) -> dict:
    if name == "get_page":
        text = json.dumps({"id": 7, "title": "A page", "body": BODY}, ensure_ascii=False)
    elif name == "rows":
        text = json.dumps([{"n": n, "price": f"{n}.10", "city": ("Oslo", "Rome")[n % 2]} for n in range(500)])
    else:
        body = arguments["body"]
        digest = hashlib.sha256(body.encode()).hexdigest() if isinstance(body, str) else "no text"
        text = f"id {arguments['id']}, {len(body)} characters, sha256 {digest}"
    return {"content": [{"type": "text", "text": text}]}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params", {})
        if "id" not in message:
            continue
        if method == "initialize":
            info = {"name": "wiki", "version": "1"}
            version = params["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif method == "tools/call":
            result = call(params["name"], params.get("arguments", {}))
        else:
            result = {}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}, ensure_ascii=False), flush=True)


main()
