"""What is stored as nodes: entries, removed entries, turns, decisions and facts. Renders without an age or a clock."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from crp_mcp.core.ages import iso_time, rows_text
from crp_mcp.core.model import Entry, Fact, SummaryOptions, Turn
from crp_mcp.core.request.nodes import Node
from crp_mcp.core.shape import shape_from_json
from crp_mcp.core.shape.model import Column, Shape
from crp_mcp.core.summary import render_summary
from crp_mcp.core.summary.clean import printable
from crp_mcp.store import Stub

NAMES_MOST = 40
ARGUMENTS_MOST = 300
"""Characters of a call's arguments in a node."""
HEADING_MOST = 100
"""Characters of what a turn says in its handle."""
BODY_MOST = 128 << 10
"""Bytes of a payload that a node may hold; of a larger one it shows samples, and the way to the rest."""


def entry_uri(scratch_id: str) -> str:
    return f"uko-tool:entry/{scratch_id}"


def turn_uri(turn: Turn) -> str:
    return f"uko-turn:{'decision' if turn.decision else 'turn'}/{turn.number}"


def fact_uri(fact: Fact) -> str:
    return f"uko-fact:fact/{fact.id}"


def entry_node(entry: Entry, summary: str | None, body: str, relations: Sequence[tuple[str, Sequence[str]]]) -> Node:
    """An entry on its ladder: handle, names, arguments and relations, summary, types and ranges, samples, raw."""
    shape = shape_from_json(entry.structured) if entry.structured else None
    named = f' "{entry.name}"' if entry.name else ""
    whole = entry.payload_bytes <= BODY_MOST
    return Node(
        uri=entry_uri(entry.scratch_id),
        title=(
            f"{entry.scratch_id}{named}: {entry.server}:{entry.tool_name}, captured {iso_time(entry.created_at)}, "
            f"{_freshness(entry)}"
        ),
        resource_uri=f"scratch://{entry.scratch_id}",
        location=f"{entry.payload_bytes} bytes",
        children=names_of(shape),
        relations=tuple((what, tuple(names)) for what, names in relations if names),
        summary=summary or "",
        shape=tuple(shape_lines(entry, shape)),
        body=body,
        content_key=entry.provenance_hash,
        deepest=9 if whole else 8,
    )


def _freshness(entry: Entry) -> str:
    """Until when it counts, or since when it does not; a time, not an age."""
    if entry.stale_since is not None:
        return f"stale since {iso_time(entry.stale_since)}"
    if entry.freshness_ttl is None:
        return "fresh as long as it is kept"
    return f"fresh until {iso_time(entry.created_at + entry.freshness_ttl)}"


def summary_of(entry: Entry, count: object) -> str | None:
    """The summary the entry has, or the one it would get; nothing is stored."""
    if entry.summary is not None or entry.structured is None:
        return entry.summary
    return render_summary(
        shape_from_json(entry.structured),
        scratch_id=entry.scratch_id,
        tool=entry.tool_name,
        count=count,  # type: ignore[arg-type]
        options=SummaryOptions(),
    )


def arguments_text(entry: Entry) -> str:
    """`key=value` of each argument, cut where they are long."""
    parts = [f"{key}={_plain(value)}" for key, value in sorted(entry.tool_call_args.items())]
    text = ", ".join(parts)
    return text if len(text) <= ARGUMENTS_MOST else text[: ARGUMENTS_MOST - 1] + "…"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def names_of(shape: Shape | None) -> tuple[str, ...]:
    """Columns of a table, keys of an object, headings of a text."""
    if shape is None:
        return ()
    names = [column.name for column in shape.columns or ()]
    names = names or [name for name, _ in (*shape.scalars, *shape.members)]
    names = names or [str(one) for one in shape.text.get("headings") or ()]
    return tuple(names) if len(names) <= NAMES_MOST else (*names[:NAMES_MOST], f"and {len(names) - NAMES_MOST} more")


def shape_lines(entry: Entry, shape: Shape | None) -> list[str]:
    """Kind, counts, and each column's types and range."""
    rows = None if entry.rows is None else rows_text(entry.rows)
    total = f"of {entry.rows_total:,} at the source" if entry.rows_total and entry.partial else None
    first = ", ".join(part for part in (entry.kind.value, rows, total, f"{entry.payload_bytes:,} bytes") if part)
    return [first, *(column_line(column) for column in (shape.columns if shape and shape.columns else ())[:NAMES_MOST])]


def column_line(column: Column) -> str:
    span = f", {column.low} to {column.high}" if column.low is not None and column.high is not None else ""
    nulls = f", {column.nulls} null" if column.nulls else ""
    top = ", ".join(f"{text} ({times})" for text, times in column.top[:5]) if not span else ""
    return f"{column.name}: {'/'.join(column.types)}{span}{nulls}" + (f"; {top}" if top else "")


def stub_node(stub: Stub) -> Node:
    """What is left of a removed entry."""
    arguments = ", ".join(f"{key}={_plain(value)}" for key, value in sorted((stub.tool_call_args or {}).items()))
    return Node(
        uri=entry_uri(stub.scratch_id),
        title=f"{stub.scratch_id}: {stub.server}:{stub.tool_name}, captured {iso_time(stub.created_at)}, "
        f"{stub.why} {iso_time(stub.gone_at)}",
        resource_uri=f"scratch://{stub.scratch_id}",
        relations=(("arguments", (arguments[:ARGUMENTS_MOST],)),) if arguments else (),
        summary=_without_pointer(stub.summary or ""),
        content_key=f"stub {stub.scratch_id}",
        deepest=4,
    )


def _without_pointer(summary: str) -> str:
    """A summary without the way to its data, which has gone."""
    first, newline, rest = summary.partition("\n")
    return first.partition("; use ")[0] + newline + rest


def turn_node(turn: Turn) -> Node:
    """A turn: who spoke, what it used, its words; a decision says what was chosen and why."""
    text = printable(turn.text or "")
    decision = {name: printable(_plain(value)) for name, value in (turn.decision or {}).items()}
    said = [
        f"{name}: {decision[name]}" for name in ("question", "chosen", "alternatives", "rationale") if name in decision
    ]
    kind = "decision in turn" if decision else "turn"
    about = " → ".join(decision[name] for name in ("question", "chosen") if name in decision)
    heading = _first(about or text, HEADING_MOST)
    return Node(
        uri=turn_uri(turn),
        title=f"{kind} {turn.number} ({turn.role}, {iso_time(turn.at)})" + (f": {heading}" if heading else ""),
        resource_uri=f"turn:{turn.number}",
        children=(turn.role,),
        relations=tuple(
            (what, ids) for what, ids in (("produced", turn.produced), ("references", turn.referenced)) if ids
        ),
        summary="; ".join(said) or ("" if heading == text.strip() else _first(text)),
        shape=(f"{len(text.split())} words",) if text else (),
        body="\n".join([*said, text]).strip() if said or heading != text.strip() else "",
    )


def fact_node(fact: Fact) -> Node:
    """A fact: what it was derived from, and the statement."""
    flag = f", {fact.status.value}: {fact.flag}" if fact.flag else ""
    return Node(
        uri=fact_uri(fact),
        title=f"fact {fact.id} ({fact.provenance}, {iso_time(fact.created_at)}{flag})",
        resource_uri=f"fact:{fact.id}",
        relations=(("derived from", (fact.source,)),) if fact.source else (),
        summary=_first(printable(fact.content)),
        body=printable(fact.content),
        content_key=fact.content_hash,
    )


def _first(text: str, most: int = 240) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
