"""A hand-written MCP server with one tool: `rows` answers `count` JSON rows. Standard library only, fast to start."""

import json
import sys


def answer(message: dict) -> dict:
    method = message["method"]
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "rows", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": "rows", "inputSchema": {"type": "object"}}]}
    count = message["params"]["arguments"]["count"]
    rows = [{"n": n, "word": f"word {n}", "half": n / 2} for n in range(count)]
    return {"content": [{"type": "text", "text": json.dumps(rows)}]}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)}), flush=True)
