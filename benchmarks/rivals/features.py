"""What of the protocol arrives on the other side of a proxy: one check for each feature, on the tests' fixture."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .measure import Broken, Running

FIXTURE = [sys.executable, "-S", str(Path(__file__).resolve().parents[2] / "tests" / "servers" / "fixture_server.py")]
OPTIONS = ("--instructions=Be kind.",)
WAIT = 4.0
LOGGED = "notifications/message"


def text(answer: dict[str, Any]) -> str:
    content = (answer.get("result") or {}).get("content") or [{}]
    return str(content[0].get("text", ""))


def asked(running: Running, tool: str, method: str, mark: str) -> bool:
    """Whether a question of the server's came to the client, and its answer to the server."""
    running.peer.take()
    said = text(running.call(tool))
    questions = [json.loads(line).get("method") for line in running.peer.take()]
    return method in questions and mark in said


def notified(running: Running, tool: str, method: str, arguments: dict[str, Any] | None = None) -> bool:
    running.peer.take()
    running.call(tool, arguments)
    end = time.monotonic() + WAIT / 4
    lines: list[str] = []
    while time.monotonic() < end and not any(method in line for line in lines):
        lines += running.peer.take()
    return any(json.loads(line).get("method") == method for line in lines)


def progress(running: Running) -> bool:
    running.peer.take()
    params = {"name": "progress", "arguments": {}, "_meta": {"progressToken": "mine"}}
    running.ask("tools/call", json.dumps(params))
    seen = [json.loads(line) for line in running.peer.take()]
    return any(m.get("method") == "notifications/progress" and m["params"]["progressToken"] == "mine" for m in seen)


def cancelled(running: Running) -> bool:
    running.peer.post("900", "tools/call", '{"name":"slow","arguments":{"seconds":20}}')
    running.call("echo", {"text": "meanwhile"})
    running.peer.tell("notifications/cancelled", '{"requestId":900}')
    end = time.monotonic() + WAIT / 2
    while time.monotonic() < end:
        if text(running.call("cancelled")) not in ("[]", ""):
            return True
    return False


def resources(running: Running) -> bool:
    listed = (running.ask("resources/list").get("result") or {}).get("resources") or []
    uri = "fixture://fixture/1"
    read = running.ask("resources/read", json.dumps({"uri": uri})).get("result") or {}
    got = running.ask("prompts/get", '{"name":"greet"}').get("result") or {}
    return uri in [one.get("uri") for one in listed] and bool(read.get("contents")) and bool(got.get("messages"))


def completion(running: Running) -> bool:
    params = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "A"}}
    done = running.ask("completion/complete", json.dumps(params)).get("result") or {}
    return "A!" in (done.get("completion") or {}).get("values", [])


def subscribed(running: Running) -> bool:
    running.peer.take()
    running.ask("resources/subscribe", '{"uri":"fixture://fixture/1"}')
    return any("resources/updated" in line for line in running.peer.take(2))


def instructions(running: Running) -> bool:
    return "Be kind." in str((running.hello.get("result") or {}).get("instructions"))


def error_data(running: Running) -> bool:
    error = running.call("error").get("error") or {}
    return error.get("code") == -32050 and (error.get("data") or {}).get("big") == 2**70


def unknown_members(running: Running) -> bool:
    tools = (running.ask("tools/list").get("result") or {}).get("tools") or []
    typed = next((tool for tool in tools if tool.get("name") == "typed"), {})
    return typed.get("x-vendor") == {"kept": [1, 2.5, None]}


def children_gone(running: Running) -> bool:
    """kill -9 of the proxy leaves no server running."""
    pid = json.loads(text(running.call("pid")))["pid"]
    os.kill(running.peer.pid, signal.SIGKILL)
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    return False


FEATURES: dict[str, Callable[[Running], bool]] = {
    "progress": progress,
    "log messages": lambda r: notified(
        r, "notify", LOGGED, {"method": LOGGED, "params": {"level": "info", "data": "x"}}
    ),
    "list_changed": lambda r: notified(r, "grow", "notifications/tools/list_changed"),
    "elicitation": lambda r: asked(r, "elicit", "elicitation/create", "decline"),
    "sampling": lambda r: asked(r, "sample", "sampling/createMessage", "A fixed answer."),
    "roots": lambda r: asked(r, "roots", "roots/list", "file:///selftest"),
    "cancel reaches the server": cancelled,
    "resources and prompts": resources,
    "completion": completion,
    "subscriptions": subscribed,
    "instructions kept": instructions,
    "error code and data": error_data,
    "unknown members": unknown_members,
    "no orphans after kill -9": children_gone,
}


def matrix_row(command: Sequence[str]) -> dict[str, str]:
    """Feature → yes or no, or what went wrong. Each is tried on a connection of its own."""
    row = {}
    for name, check in FEATURES.items():
        try:
            running = Running(command, timeout=WAIT * 4)
        except Broken as problem:
            row[name] = str(problem)
            continue
        try:
            row[name] = "yes" if check(running) else "**no**"
        except (Broken, KeyError, ValueError, TypeError, OSError) as problem:
            row[name] = f"**no** ({type(problem).__name__})"
        finally:
            running.close()
    return row
