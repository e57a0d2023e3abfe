"""A server of nine large results of different kinds, and a tiny one: what proxies are measured on. Standard library."""

import base64
import json
import sys

STATES = ("open", "closed", "refunded", "open", "shipped")


def orders(count: int) -> list[dict]:
    return [
        {
            "order_id": n,
            "customer": f"customer {n % 997}",
            "city": ("Zürich", "Oslo", "Porto")[n % 3],
            "status": STATES[n * 7 % 5],
            "amount": round(n % 5000 + n % 100 / 100, 2),
            "paid": n % 2 == 0,
            "note": None,
        }
        for n in range(count)
    ]


def log() -> str:
    lines = [
        f"2026-03-01T10:{n // 60 % 60:02}:{n % 60:02}Z INFO worker-{n % 7} handled request {n}" for n in range(8000)
    ]
    lines[4880] = "2026-03-01T11:21:20Z ERROR worker-3 payment gateway refused order 17: card expired"
    return "\n".join(lines)


def nested() -> dict:
    return {
        "regions": [
            {
                "name": f"region {r}",
                "sites": [
                    {
                        "id": f"{r}-{s}",
                        "devices": [{"serial": f"d{r}{s}{d}", "load": d * 3 % 97 / 100} for d in range(12)],
                        "tags": [f"tag{t}" for t in range(s % 5)],
                    }
                    for s in range(22)
                ],
            }
            for r in range(30)
        ]
    }


def csv() -> str:
    return "id,name,qty,price\n" + "\n".join(f"{n},item {n % 211},{n * 3 % 40},{n % 90}.5" for n in range(4000))


def error() -> str:
    frames = "\n".join(
        f'  File "/srv/app/step{n}.py", line {n}, in run_{n}\n    return step_{n}(order)' for n in range(900)
    )
    return f"Traceback (most recent call last):\n{frames}\nValueError: order 17 has no customer"


def page() -> str:
    rows = "".join(f"<tr><td>{n}</td><td>Product {n}</td><td>{n * 1.25:.2f}</td></tr>\n" for n in range(2500))
    head = "<!doctype html><html><head><title>Prices</title></head><body><h1>Prices</h1>"
    return f"{head}<table>{rows}</table></body></html>"


def text(value: str, **rest: object) -> dict:
    return {"content": [{"type": "text", "text": value}], **rest}


def blocks() -> dict:
    image = base64.b64encode(bytes(range(256)) * 40).decode()
    report = {"uri": "file:///report.md", "mimeType": "text/markdown", "text": "# Report\n" + "All is well. " * 500}
    return {
        "content": [
            {"type": "text", "text": "Three hundred results, a chart and a report follow."},
            {"type": "text", "text": json.dumps(orders(2500))},
            {"type": "image", "data": image, "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///data.csv", "name": "data.csv"},
            {"type": "resource", "resource": report},
        ]
    }


def make(name: str, arguments: dict) -> dict:
    if name == "rows":
        return text(json.dumps(orders(max(1, int(arguments["size"]) // 128)), ensure_ascii=False))
    if name == "orders":
        return text(json.dumps(orders(8000), ensure_ascii=False))
    if name == "orders_structured":
        rows = {"orders": orders(8000)}
        return text(json.dumps(rows, ensure_ascii=False), structuredContent=rows)
    made = {
        "orders_100": lambda: text(json.dumps(orders(100), ensure_ascii=False)),
        "log": lambda: text(log()),
        "blocks": blocks,
        "nested": lambda: text(json.dumps(nested())),
        "csv": lambda: text(csv()),
        "error": lambda: text(error(), isError=True),
        "page": lambda: text(page()),
        "tiny": lambda: text("ok 42"),
    }
    return made[name]()


NAMES = ("orders", "orders_structured", "orders_100", "log", "blocks", "nested", "csv", "error", "page", "tiny", "rows")
SCHEMA = {"type": "object", "properties": {"size": {"type": "integer"}}}
cache: dict[str, bytes] = {}


def called(params: dict) -> bytes:
    key = json.dumps([params["name"], params.get("arguments")])
    if key not in cache:
        cache[key] = json.dumps(make(params["name"], params.get("arguments") or {}), ensure_ascii=False).encode()
    return cache[key]


def main() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        method, answer = message["method"], b"{}"
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "nine", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            answer = json.dumps(result).encode()
        elif method == "tools/list":
            tools = [{"name": name, "description": f"Gives {name}.", "inputSchema": SCHEMA} for name in NAMES]
            answer = json.dumps({"tools": tools}).encode()
        elif method == "tools/call":
            answer = called(message["params"])
        elif method != "ping":
            head = b'{"jsonrpc":"2.0","id":%b,"error":' % json.dumps(message["id"]).encode()
            sys.stdout.buffer.write(head + b'{"code":-32601,"message":"Method not found"}}\n')
            sys.stdout.buffer.flush()
            continue
        ident = json.dumps(message["id"]).encode()
        sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":' + ident + b',"result":' + answer + b"}\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
