"""`crp-mcp demo`: a real upstream on real data, with and without us, side by side."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from crp_mcp.errors import UpstreamError

from . import common

if TYPE_CHECKING:
    from mcp import Client

    from crp_mcp.tokens import Counter

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("query_characters", {"block_start": "0", "block_end": "2FFF"}),
    ("list_tokens", {"module": "json.decoder"}),
    ("read_documentation", {"topic": "argparse"}),
    ("installed_packages", {}),
    ("parse_document", {"document": "<orders><order id='1'>" + "<line/>" * 400}),
    ("current_python", {}),
)
FOLLOW_UPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("scratch_get", {"view": "rows", "offset": 900, "limit": 5}),
    ("scratch_pin", {"name": "characters"}),
    ("scratch_list", {}),
)
BAR = 30


@dataclass(frozen=True, slots=True)
class Row:
    """One call, both ways: what it is, tokens without us, tokens with us, what the model reads."""

    call: str
    direct: int
    relayed: int
    text: str


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("upstream", nargs="*", metavar="COMMAND", help="after --: a server of your own to show instead")
    parser.add_argument(
        "--store", metavar="FOLDER", help="keep what the demo captures here (default: a folder it removes)"
    )
    common.add_json(parser)


def run(options: argparse.Namespace) -> int:
    with common.passing_folder("crp-mcp-demo-") as folder:
        return anyio.run(_run, options, options.store or str(folder))


async def _run(options: argparse.Namespace, store: str) -> int:
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    from crp_mcp.tokens import open_counter

    upstream = options.upstream or [sys.executable, "-P", "-m", "crp_mcp.cli.demo_server"]
    ours = [sys.executable, "-P", "-m", "crp_mcp", "serve", "--store", store, "--", *upstream]
    counter = await anyio.to_thread.run_sync(open_counter)
    direct_to, through = (
        StdioServerParameters(command=argv[0], args=list(argv[1:]), env=dict(os.environ)) for argv in (upstream, ours)
    )
    async with Client(direct_to, mode="legacy") as direct, Client(through, mode="legacy") as relayed:
        calls = CALLS if not options.upstream else await harmless_calls(direct)
        rows = [
            await both(direct, relayed, name, given, counter, i, len(calls)) for i, (name, given) in enumerate(calls)
        ]
        follow_ups = [] if options.upstream else await follow(relayed, counter, rows)
    report(rows, follow_ups, as_json=options.json)
    return 0


async def both(
    direct: Client, relayed: Client, name: str, given: dict[str, Any], counter: Counter, number: int, of: int
) -> Row:
    """Call a tool directly and through us."""
    progress(number, of, name)
    plain = await direct.call_tool(name, given)
    ours = await relayed.call_tool(name, given)
    progress(number + 1, of, name)
    return Row(name, tokens_of(plain, counter), tokens_of(ours, counter), text_of(ours))


async def harmless_calls(client: Client) -> list[tuple[str, dict[str, Any]]]:
    """Tools of a foreign server that say they only read and need no arguments. Raises UpstreamError without any."""
    listed = await client.list_tools()
    found = [
        (tool.name, dict[str, Any]())
        for tool in listed.tools
        if tool.annotations and tool.annotations.read_only_hint and not tool.input_schema.get("required")
    ]
    if not found:
        raise UpstreamError(
            "this server has no tool that says it only reads and needs no arguments: nothing to show safely"
        )
    return found


async def follow(client: Client, counter: Counter, rows: Sequence[Row]) -> list[Row]:
    """What a model does next with a summary: reads rows deep inside, pins, finds it again."""
    word = next((w for w in rows[0].text.replace(";", " ").split() if w.startswith("scratch_")), "")
    done = []
    for name, given in FOLLOW_UPS:
        arguments = given if name == "scratch_list" else {"scratch_id": word, **given}
        answer = await client.call_tool(name, arguments)
        shown = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
        done.append(Row(f"{name}({shown})", 0, tokens_of(answer, counter), text_of(answer)))
    return done


def tokens_of(result: Any, counter: Counter) -> int:
    """Tokens a model is shown: text blocks, and structured content where the host passes it on."""
    import orjson

    structured = result.structured_content
    extra = counter.count(orjson.dumps(structured).decode()) if structured is not None else 0
    return counter.count(text_of(result)) + extra


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def progress(done: int, of: int, name: str) -> None:
    """A bar on stderr, where a person watches."""
    if sys.stderr.isatty():
        full = BAR * done // of
        end = "\r\x1b[K" if done == of else ""
        sys.stderr.write(f"\r\x1b[K[{'#' * full}{'.' * (BAR - full)}] {done}/{of} {name}{end}")
        sys.stderr.flush()


def report(rows: Sequence[Row], follow_ups: Sequence[Row], *, as_json: bool) -> None:
    """The comparison, the summaries as the model reads them, the follow-ups, the total."""
    direct, relayed = sum(row.direct for row in rows), sum(row.relayed for row in rows)
    if as_json:
        calls = [{"call": r.call, "direct_tokens": r.direct, "relayed_tokens": r.relayed, "text": r.text} for r in rows]
        after = [{"call": r.call, "relayed_tokens": r.relayed, "text": r.text} for r in follow_ups]
        common.print_json({"calls": calls, "follow_ups": after, "direct_tokens": direct, "relayed_tokens": relayed})
        return
    common.print_text("What the model reads through crp-mcp\n")
    for row in (*rows, *follow_ups):
        common.print_text(f"> {row.call}\n{indent(row.text)}\n")
    common.print_text(f"{'tokens the model is shown':40} {'directly':>12} {'through us':>12}")
    for row in rows:
        common.print_text(f"{row.call:40} {row.direct:>12,} {row.relayed:>12,}")
    spent = sum(row.relayed for row in follow_ups)
    if follow_ups:
        common.print_text(f"{'follow-ups on the stored results':40} {'':>12} {spent:>12,}")
    common.print_text(f"{'all':40} {direct:>12,} {relayed + spent:>12,}")
    saved = direct - relayed - spent
    common.print_text(
        f"\n{saved:,} tokens saved; every result is stored in full, hashed, signed and readable by its id."
    )


def indent(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())
