"""A hand-written MCP server for tests: raw JSON-RPC on stdio, both eras, and a tool to provoke everything.

Uses the standard library alone so that it starts at once. `raw_line` writes any bytes whatever as an answer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

OUT = os.fdopen(os.dup(1), "wb", buffering=0)
LOCK = threading.Lock()
META = "io.modelcontextprotocol/"

options: dict[str, str] = {}
for argument in sys.argv[1:]:
    key, _, value = argument.lstrip("-").partition("=")
    options[key] = value

received: list[str] = []
cancelled: list[object] = []
subscribed: list[str] = []
listening: list[object] = []
levels: list[str] = []
answers: dict[object, object] = {}
answered = threading.Condition()
stops: dict[object, threading.Event] = {}
extra_tools: list[dict] = []
next_id = [0]
initializations = [0]


def send_bytes(line: bytes) -> None:
    with LOCK:
        view = memoryview(line)
        while view:
            view = view[OUT.write(view) :]


def send(message: dict) -> None:
    send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def notify(method: str, params: dict | None = None) -> None:
    send({"method": method, **({"params": params} if params is not None else {})})


def ask(method: str, params: dict | None = None) -> object:
    """A request to the client; its whole answer."""
    next_id[0] += 1
    ident = next_id[0]
    send({"id": ident, "method": method, **({"params": params} if params is not None else {})})
    with answered:
        answered.wait_for(lambda: ident in answers, timeout=20)
    return answers.pop(ident, {"timeout": True})


def text(value: object, **rest: object) -> dict:
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}], **rest}


OBJECT = {"type": "object"}
WHO = {"type": "object", "properties": {"who": {"type": "string"}}}
SIMPLE = """
echo add sized raw_result raw_line progress logs grow elicit sample roots ping_host slow cancelled received crash
error fail image task input_required pid environment burst levels subscribed listening notify
"""
TOOLS = [{"name": name, "description": f"The fixture's {name}.", "inputSchema": OBJECT} for name in SIMPLE.split()]
TOOLS += [
    {
        "name": "typed",
        "title": "Typed",
        "description": "Has an output schema.",
        "inputSchema": OBJECT,
        "outputSchema": {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]},
        "annotations": {"readOnlyHint": True},
        "x-vendor": {"kept": [1, 2.50, None]},
        "icons": [{"src": "data:,"}],
    },
    {
        "name": "app",
        "description": "Feeds a user interface.",
        "inputSchema": OBJECT,
        "outputSchema": OBJECT,
        "_meta": {"ui": {"resourceUri": "ui://fixture/app"}},
    },
]
PROMPTS = [{"name": "greet", "arguments": [{"name": "who"}]}, {"name": options.get("prompt", "other")}]
RESOURCES = [{"uri": f"fixture://{options.get('name', 'fixture')}/{n}", "name": f"r{n}"} for n in range(3)]
TEMPLATES = [{"uriTemplate": f"fixture://{options.get('name', 'fixture')}/{{n}}", "name": "numbered"}]


def sized(arguments: dict, modern: bool) -> bytes:
    """A result of about so many bytes: `text` (plain), `rows` (JSON rows as text), `structured` (rows as both)."""
    size = int(arguments["bytes"])
    form = arguments.get("form", "text")
    head = '{"resultType":"complete","content":[' if modern else '{"content":['
    if form == "text":
        line = "All work and no play makes a dull flood of text. "
        body = (line * (size // len(line) + 1))[:size]
        return f'{head}{{"type":"text","text":{json.dumps(body)}}}]}}'.encode()
    row = '{"id": %d, "customer": "customer %d", "amount": %d.25, "status": "open"}'
    rows = "[" + ",".join(row % (n, n % 97, n) for n in range(max(1, size // 70))) + "]"
    encoded = json.dumps(rows)
    structured = f',"structuredContent":{{"rows":{rows}}}' if form == "structured" else ""
    return f'{head}{{"type":"text","text":{encoded}}}]{structured}}}'.encode()


def answer_raw(ident: object, result: bytes) -> None:
    if options.get("order") == "result-first":
        send_bytes(b'{"result":%b,"jsonrpc":"2.0","id":%b}\n' % (result, json.dumps(ident).encode()))
    else:
        send_bytes(b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (json.dumps(ident).encode(), result))


def progress(meta: dict, arguments: dict) -> dict:
    for step in range(int(arguments.get("steps", 3))):
        if "progressToken" in meta:
            notify("notifications/progress", {"progressToken": meta["progressToken"], "progress": step, "x-odd": None})
        time.sleep(float(arguments.get("delay", 0)))
    return text("done")


def slow(ident: object, arguments: dict) -> dict | None:
    stop = stops.setdefault(ident, threading.Event())
    return None if stop.wait(float(arguments.get("seconds", 1))) else text("slept")


def crash(arguments: dict) -> None:
    if arguments.get("signal"):
        os.kill(os.getpid(), int(arguments["signal"]))
    os._exit(int(arguments.get("code", 3)))


def burst(arguments: dict) -> dict:
    for n in range(int(arguments.get("count", 100))):
        notify("notifications/message", {"level": "info", "data": "x" * int(arguments.get("bytes", 100)), "n": n})
    return text("done")


def call(ident: object, params: dict, modern: bool) -> object:
    name, arguments, meta = params.get("name"), params.get("arguments") or {}, params.get("_meta") or {}
    if name == "echo":
        return text(arguments.get("text", json.dumps(arguments)))
    if name == "add":
        return text(str(arguments["a"] + arguments["b"]))
    if name == "sized":
        return sized(arguments, modern)
    if name == "raw_result":
        return arguments["result"].encode()
    if name == "raw_line":
        line = bytes.fromhex(arguments["hex"]) if "hex" in arguments else arguments["line"].encode()
        send_bytes(line.replace(b"@ID@", json.dumps(ident).encode()) + arguments.get("end", "\n").encode())
        return None
    if name == "typed":
        rows = [{"n": n} for n in range(int(arguments.get("rows", 2)))]
        return text({"rows": rows}, structuredContent={"rows": rows})
    if name == "app":
        return text("shown", structuredContent={"html": "x" * int(arguments.get("bytes", 10))})
    if name == "progress":
        return progress(meta, arguments)
    if name == "logs":
        notify("notifications/message", {"level": "warning", "logger": "fixture", "data": {"odd": [1e400]}})
        return text("logged")
    if name == "notify":
        notify(arguments["method"], arguments.get("params"))
        return text("notified")
    if name == "grow":
        extra_tools.append({"name": arguments.get("tool", "grown"), "inputSchema": OBJECT})
        notify("notifications/tools/list_changed")
        return text("grown")
    if name == "elicit":
        return text(ask("elicitation/create", {"message": "Who?", "requestedSchema": WHO}))
    if name == "sample":
        message = {"role": "user", "content": {"type": "text", "text": "hi"}}
        return text(ask("sampling/createMessage", {"messages": [message], "maxTokens": 5}))
    if name == "roots":
        return text(ask("roots/list"))
    if name == "ping_host":
        return text(ask("ping"))
    if name == "slow":
        return slow(ident, arguments)
    if name == "crash":
        return crash(arguments)
    if name == "burst":
        return burst(arguments)
    if name == "error":
        error = {"code": arguments.get("code", -32050), "message": "as asked", "data": {"why": [1, None], "big": 2**70}}
        send({"id": ident, "error": error, "x-top": True})
        return None
    if name == "fail":
        return text("ValueError: no such row", isError=True)
    if name == "image":
        data = "QUJD" * (int(arguments.get("bytes", 300)) // 4)
        image = {"type": "image", "data": data, "mimeType": "image/png", "annotations": {"priority": 0.5}}
        return {"content": [image]}
    if name == "task":
        return {"resultType": "task", "taskId": "t1"} if modern else {"task": {"taskId": "t1", "status": "working"}}
    if name == "input_required":
        if "inputResponses" in params:
            return text({"got": params["inputResponses"], "state": params.get("requestState")})
        asked = {"who": {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": WHO}}}
        return {"resultType": "input_required", "inputRequests": asked, "requestState": "opaque-1"}
    if name == "environment":
        return text({key: os.environ.get(key) for key in arguments.get("names", list(os.environ))})
    state = {
        "cancelled": cancelled,
        "received": received[-int(arguments.get("last", 50)) :],
        "pid": {"pid": os.getpid(), "initializations": initializations[0]},
        "levels": levels,
        "subscribed": subscribed,
        "listening": listening,
    }
    if name in state:
        return text(state[name])
    if any(tool["name"] == name for tool in extra_tools):
        return text("a grown tool")
    raise KeyError(name)


def page(items: list, params: dict, member: str, modern: bool) -> dict:
    size = int(options.get("page", "0")) or len(items) + 1
    start = int(params.get("cursor") or 0)
    found = {member: items[start : start + size]}
    if start + size < len(items):
        found["nextCursor"] = str(start + size)
    elif options.get("endless"):
        found["nextCursor"] = str(start)
    if modern:
        found.update(ttlMs=1000, cacheScope="public")
    return found


CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "logging": {},
    "completions": {},
    "experimental": {"x-odd": {"n": 12345678901234567890}},
}
if "without" in options:
    for name in options["without"].split(","):
        CAPABILITIES.pop(name, None)


def respond(ident: object, method: str, params: dict, modern: bool) -> object:
    if method == "initialize":
        initializations[0] += 1
        time.sleep(float(options.get("init-delay", 0)))
        return {
            "protocolVersion": params.get("protocolVersion", "2025-11-25"),
            "capabilities": CAPABILITIES,
            "serverInfo": {"name": options.get("name", "fixture"), "version": "1", "x-info": True},
            **({"instructions": options["instructions"]} if "instructions" in options else {}),
            "x-init": {"kept": 1.50},
        }
    if method == "server/discover":
        return {
            "supportedVersions": ["2026-07-28"],
            "capabilities": CAPABILITIES,
            "_meta": {META + "serverInfo": {"name": options.get("name", "fixture"), "version": "1"}},
            "ttlMs": 5000,
            "cacheScope": "public",
            **({"instructions": options["instructions"]} if "instructions" in options else {}),
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return page(TOOLS + extra_tools, params, "tools", modern)
    if method == "tools/call":
        return call(ident, params, modern)
    if method == "prompts/list":
        return page(PROMPTS, params, "prompts", modern)
    if method == "prompts/get":
        who = options.get("name", "fixture")
        message = {"role": "user", "content": {"type": "text", "text": f"{who}: {params.get('name')}"}}
        return {"messages": [message]}
    if method == "resources/list":
        return page(RESOURCES, params, "resources", modern)
    if method == "resources/templates/list":
        return page(TEMPLATES, params, "resourceTemplates", modern)
    if method == "resources/read":
        if not params.get("uri", "").startswith(f"fixture://{options.get('name', 'fixture')}/"):
            raise LookupError(params.get("uri"))
        return {"contents": [{"uri": params["uri"], "text": options.get("name", "fixture"), "x-odd": None}]}
    if method in ("resources/subscribe", "resources/unsubscribe"):
        subscribed.append(f"{method.rpartition('/')[2]} {params['uri']}")
        if method == "resources/subscribe":
            notify("notifications/resources/updated", {"uri": params["uri"]})
        return {}
    if method == "completion/complete":
        return {"completion": {"values": [options.get("name", "fixture"), params["argument"]["value"] + "!"]}}
    if method == "logging/setLevel":
        levels.append(params["level"])
        return {}
    if method == "subscriptions/listen":
        listening.append(ident)
        meta = {"_meta": {META + "subscriptionId": ident}}
        notify("notifications/subscriptions/acknowledged", {"notifications": params.get("notifications", {}), **meta})
        notify("notifications/tools/list_changed", meta)
        return None
    if method == "x/unknown-but-served":
        return {"x": params}
    raise NotImplementedError(method)


def serve(ident: object, method: str, params: dict, modern: bool) -> None:
    try:
        result = respond(ident, method, params, modern)
    except NotImplementedError:
        send({"id": ident, "error": {"code": -32601, "message": "Method not found"}})
    except LookupError as error:
        send({"id": ident, "error": {"code": -32602, "message": f"not found: {error}"}})
    except Exception as error:  # noqa: BLE001 - whatever was asked for cannot be done
        send({"id": ident, "error": {"code": -32603, "message": repr(error)}})
    else:
        if isinstance(result, bytes):
            answer_raw(ident, result)
        elif result is not None:
            answer_raw(ident, json.dumps({"resultType": "complete", **result} if modern else result).encode())


def receive(line: bytes) -> None:
    received.append(line.decode("utf-8", "backslashreplace").rstrip("\n"))
    del received[:-200]
    try:
        message = json.loads(line)
    except ValueError:
        return
    method, ident, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None:
        with answered:
            answers[ident] = {key: message[key] for key in ("result", "error") if key in message}
            answered.notify_all()
    elif method == "notifications/cancelled":
        cancelled.append(params.get("requestId"))
        stops.setdefault(params.get("requestId"), threading.Event()).set()
    elif ident is not None:
        modern = META + "protocolVersion" in (params.get("_meta") or {}) or method == "server/discover"
        if method == "server/discover" and "silent-discover" in options:
            return
        if method == "server/discover" and "legacy" in options:
            send({"id": ident, "error": {"code": -32601, "message": "Method not found"}})
            return
        if method == "initialize" and "modern" in options:
            send(
                {
                    "id": ident,
                    "error": {"code": -32022, "message": "Unsupported", "data": {"supported": ["2026-07-28"]}},
                }
            )
            return
        if method == "initialize" and "mute" in options:
            return
        if method == "initialize":
            serve(ident, method, params, modern)
        else:
            threading.Thread(target=serve, args=(ident, method, params, modern), daemon=True).start()


def be_stubborn() -> None:
    """Ignore everything but SIGKILL, and have a child that does the same."""
    import signal

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    script = "import signal,time;signal.signal(15,signal.SIG_IGN);signal.signal(1,signal.SIG_IGN);time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-S", "-c", script], start_new_session="detached" in options)
    with open(options["pids"], "w") as file:
        file.write(f"{os.getpid()} {child.pid}")


def main() -> None:
    if "crash-at-start" in options:
        print("cannot go on", file=sys.stderr)
        sys.exit(int(options["crash-at-start"] or 1))
    if "pids" in options and "stubborn" not in options:
        with open(options["pids"], "w") as file:
            file.write(str(os.getpid()))
    if "stubborn" in options:
        be_stubborn()
    if "stray" in options:
        send_bytes(b"Fixture server is starting...\n\n")
    for line in sys.stdin.buffer:
        receive(line)
    while "stubborn" in options:
        time.sleep(60)


main()
