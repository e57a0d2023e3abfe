"""A hand-written MCP server that answers at once: `rows` gives JSON rows of the asked size, `tiny` a few bytes."""

import json
import sys

ROW = (
    '{"order_id": %d, "customer": "customer %d", "city": "Zürich", "status": "%s", "amount": %d.%02d, '
    '"paid": %s, "note": null}'
)
STATES = ("open", "closed", "refunded")
cache: dict[int, bytes] = {}


def rows(size: int) -> str:
    """JSON rows of at least `size` bytes in all."""
    out, total, number = [], 0, 0
    while total < size:
        out.append(
            ROW
            % (number, number % 997, STATES[number % 3], number % 5000, number % 100, "true" if number % 2 else "false")
        )
        total += len(out[-1]) + 3
        number += 1
    return "[" + ",\n".join(out) + "]"


def result(params: dict) -> bytes:
    """The `result` of one call, made once for each size."""
    size = int(params.get("arguments", {}).get("size", 0)) if params.get("name") == "rows" else 0
    if size not in cache:
        text = rows(size) if size else "ok 42"
        cache[size] = json.dumps({"content": [{"type": "text", "text": text}]}, ensure_ascii=False).encode()
    return cache[size]


def main() -> None:
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    for line in stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        method, number = message["method"], json.dumps(message["id"]).encode()
        if method == "initialize":
            answer = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "upstream", "version": "1"},
            }
            body = json.dumps(answer).encode()
        elif method == "tools/list":
            schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
            body = json.dumps(
                {"tools": [{"name": "rows", "inputSchema": schema}, {"name": "tiny", "inputSchema": schema}]}
            ).encode()
        elif method == "tools/call":
            body = result(message["params"])
        else:
            body = b"{}"
        stdout.write(b'{"jsonrpc":"2.0","id":' + number + b',"result":' + body + b"}\n")
        stdout.flush()


main()
