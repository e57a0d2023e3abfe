"""A hand-written MCP server whose tools answer how often they were called: `level`, `fetch`. Handshake era only."""

import json
import sys

CALLS = {"level": 0, "fetch": 0}


def answer(message: dict) -> dict:
    method = message["method"]
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "counting", "version": "1"},
        }
    if method == "tools/list":
        annotations = {"readOnlyHint": "--writes" not in sys.argv}
        return {
            "tools": [{"name": name, "inputSchema": {"type": "object"}, "annotations": annotations} for name in CALLS]
        }
    name = message["params"]["name"]
    CALLS[name] += 1
    arguments = json.dumps(message["params"].get("arguments"))
    return {"content": [{"type": "text", "text": f"{name} call {CALLS[name]} with {arguments}"}]}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)}), flush=True)
