"""`crp-mcp scratch`: the stored results, for a person or a script. Operators see every conversation of the store."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crp_mcp.errors import BadRequest, NotFound

from . import common

if TYPE_CHECKING:
    from crp_mcp.app.engine import Engine
    from crp_mcp.core.model import Entry, Scope

MAX_TOKENS = 20_000


def add(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="what is stored, newest first")
    listing.add_argument("--tool", help="only results of this tool")
    listing.add_argument("--kind", help="only results of this kind")
    listing.add_argument("--pinned", action="store_true", help="only pinned results")
    listing.add_argument("--limit", type=int, default=50)
    listing.add_argument("--cursor", help="where the last page ended")
    getting = actions.add_parser("get", help="one result: its summary, rows, exact text or provenance")
    getting.add_argument("--view", choices=("summary", "rows", "raw", "provenance"), default="summary")
    getting.add_argument("--offset", type=int, default=0)
    getting.add_argument("--limit", type=int, default=1_000)
    getting.add_argument("--columns", nargs="+")
    pinning = actions.add_parser("pin", help="keep a result, under a name if one is given")
    pinning.add_argument("--name")
    unpinning = actions.add_parser("unpin", help="let a result go again")
    promoting = actions.add_parser("promote", help="keep what a pinned, lasting result says as a fact of the project")
    exporting = actions.add_parser("export", help="write a result's exact bytes to a file")
    exporting.add_argument("--output", "-o", metavar="FILE", help="default: standard output")
    counting = actions.add_parser("stats", help="how much is stored")
    finding = actions.add_parser("facts", help="the facts of this project, or those that hold some words")
    finding.add_argument("words", nargs="*", metavar="WORD")
    for action in (getting, pinning, unpinning, promoting, exporting):
        action.add_argument("scratch_id", help="a scratch_id or a pinned name")
    for action in (listing, getting, pinning, unpinning, promoting, exporting, counting, finding):
        common.add_store(action)
        common.add_json(action)


def run(options: argparse.Namespace) -> int:
    engine = common.engine_of(options)
    actions = {
        "list": _list,
        "get": _get,
        "pin": _pin,
        "unpin": _pin,
        "promote": _pin,
        "export": _export,
        "stats": _stats,
        "facts": _facts,
    }
    try:
        actions[options.action](engine, options)
    finally:
        engine.close()
    return 0


def _list(engine: Engine, options: argparse.Namespace) -> None:
    from crp_mcp.mcp.tools.listing import kind_of
    from crp_mcp.store import Filters

    filters = Filters(kind=kind_of(options.kind), tool=options.tool, pinned=True if options.pinned else None)
    page = engine.store.list(None, filters=filters, cursor=options.cursor, limit=options.limit, within="store")
    if options.json:
        common.print_json({"entries": [entry_json(entry) for entry in page.entries], "cursor": page.cursor})
        return
    for entry in page.entries:
        common.print_text(engine.tools.list_line(entry))
    if not page.entries:
        print("nothing is stored", file=sys.stderr)
    if page.cursor:
        print(f"more: --cursor {page.cursor}", file=sys.stderr)


def _get(engine: Engine, options: argparse.Namespace) -> None:
    entry = find(engine, options.scratch_id)
    arguments: dict[str, Any] = {"scratch_id": entry.scratch_id, "view": options.view, "offset": options.offset}
    arguments |= {"limit": options.limit, "max_tokens": MAX_TOKENS}
    if options.columns:
        arguments["columns"] = options.columns
    from crp_mcp.relay.using import Ask

    ask = Ask(entry.scope, policy=engine.life.operator)
    result = engine.tools.call("scratch_get", arguments, entry.scope, ask)
    texts = [block["text"] for block in result["content"]]
    if result["isError"]:
        raise BadRequest(texts[0])
    if options.json:
        handles = result.get("structuredContent", {})
        text = texts[1] if len(texts) > 1 else ""  # a stale reading is left out: the line says what to call
        common.print_json({**entry_json(entry), "view": options.view, "line": texts[0], "text": text, **handles})
        return
    print(common.visible(texts[0]), file=sys.stderr)
    common.print_text(texts[1].removesuffix("\n") if len(texts) > 1 else "")


def _pin(engine: Engine, options: argparse.Namespace) -> None:
    entry = find(engine, options.scratch_id)
    from crp_mcp.relay.using import Ask

    name = getattr(options, "name", None)
    promote = options.action == "promote"
    unpin = options.action == "unpin"
    ask = Ask(entry.scope, policy=engine.life.operator)
    line, handles = engine.tools.life.set_pin(ask, entry.scratch_id, name, unpin=unpin, promote=promote)
    if options.json:
        common.print_json(handles)
    else:
        common.print_text(line)


def _export(engine: Engine, options: argparse.Namespace) -> None:
    entry = find(engine, options.scratch_id)
    if options.output:
        target = Path(options.output)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            for piece in engine.store.iter_payload(entry.payload_id):
                file.write(piece)
        report = {"file": str(target), "bytes": entry.payload_bytes, "provenance_hash": entry.provenance_hash}
        if options.json:
            common.print_json(report)
        else:
            common.print_text(f"{target}: {entry.payload_bytes:,} bytes, {entry.provenance_hash}")
        return
    for piece in engine.store.iter_payload(entry.payload_id):
        sys.stdout.buffer.write(piece)


def _stats(engine: Engine, options: argparse.Namespace) -> None:
    stats = asdict(engine.store.stats())
    if options.json:
        common.print_json(stats)
        return
    for key, value in stats.items():
        shown = ", ".join(f"{k} {v:,}" for k, v in value.items()) if isinstance(value, dict) else value
        if shown is not None:
            common.print_text(f"{key}: {shown}")


def _facts(engine: Engine, options: argparse.Namespace) -> None:
    found = engine.facts.search(engine.settings.scope(), " ".join(options.words), 100)
    for fact in found:
        if options.json:
            common.print_json(asdict(fact))
        else:
            doubt = f" ({fact.flag})" if fact.flag else ""
            common.print_text(f"{fact.id} {fact.status.value}{doubt}: {fact.content}")
    if not found:
        print("no facts", file=sys.stderr)


def find(engine: Engine, reference: str) -> Entry:
    """The entry of an id or pinned name, in whichever project of the store it is. Raises NotFound."""
    for scope in (engine.settings.scope(), *scopes(engine)):
        try:
            return engine.reader.entry(scope, reference)
        except NotFound as error:
            missing = error
    raise missing


def scopes(engine: Engine) -> list[Scope]:
    """Every tenant and project the store knows."""
    return engine.store.spaces()


def entry_json(entry: Entry) -> dict[str, Any]:
    """An entry as a script gets it: SPEC-029 §2.1's names, and ours; no content but the summary."""
    from crp_mcp.core.ages import iso_duration, iso_time

    return {
        "scratch_id": entry.scratch_id,
        "tool_name": entry.tool_name,
        "tool_call_args": dict(entry.tool_call_args),
        "raw_token_count": entry.raw_token_count,
        "summary": entry.summary,
        "created_at": iso_time(entry.created_at),
        "freshness_ttl": None if entry.freshness_ttl is None else iso_duration(entry.freshness_ttl),
        "persistence": entry.persistence.value,
        "referenced_by": list(entry.referenced_by),
        "provenance_hash": entry.provenance_hash,
        "kind": entry.kind.value,
        "class": entry.tool_class.value,
        "label": entry.label,
        "stream_id": entry.stream_id,
        "supersedes": entry.supersedes,
        "server": entry.server,
        "name": entry.name,
        "rows": entry.rows,
        "rows_total": entry.rows_total,
        "partial": entry.partial,
        "is_error": entry.is_error,
        "raw_bytes": entry.payload_bytes,
        "receipt": entry.receipt,
        "conversation": entry.scope.conversation,
        "project": entry.scope.project,
    }
