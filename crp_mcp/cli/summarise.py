"""`crp-mcp summarise`: what a host would get for the bytes of a file, without storing anything."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import common
from .visible import complain

if TYPE_CHECKING:
    from crp_mcp.core.model import ToolPolicy
    from crp_mcp.tokens import Counter

FORMS = ("text", "call_tool_result")
ID = "scratch_file_001"
"""The id in the pointer: what is summarised here has no entry."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a tool's output; - for standard input")
    parser.add_argument("--form", choices=FORMS, default="text", help="text: one text block's text (default)")
    parser.add_argument("--tool", metavar="SERVER:NAME", help="use the registry's policy for this tool")
    parser.add_argument("--registry", metavar="FILE", help="a tool registry of your own, over the shipped one")
    common.add_json(parser)


def run(options: argparse.Namespace) -> int:
    from crp_mcp.tokens import open_counter

    policy, tool = policy_of(options), (options.tool or "file:file").partition(":")[2]
    counter = open_counter()
    failed = False
    for name in options.files:
        try:
            data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
            report = {"file": name, **summarise(data, options.form, tool, policy, counter)}
        except OSError as error:
            failed, report = True, {"file": name, "error": f"cannot be read: {error.strerror}"}
        if options.json:
            common.print_json(report)
        else:
            print_report(report, many=len(options.files) > 1)
    return 1 if failed else 0


def policy_of(options: argparse.Namespace) -> ToolPolicy:
    """The policy of `--tool`, or of an undeclared tool."""
    from crp_mcp.config import load_registry, registry_paths
    from crp_mcp.errors import ConfigError

    server, found, name = (options.tool or "file:file").partition(":")
    if not found or not server or not name:
        raise ConfigError(f"--tool: {options.tool!r} is not of the form SERVER:NAME")
    registry = load_registry(registry_paths(os.environ, Path(options.registry) if options.registry else None))
    return registry.policy(server, name, None)


def summarise(data: bytes, form: str, tool: str, policy: ToolPolicy, counter: Counter) -> dict[str, Any]:
    """Everything a host would see of these bytes, and what they were read as."""
    from crp_mcp.core.plan import Verdict, decide, render_all
    from crp_mcp.relay.results import read_result, read_text

    reading = read_result(data) if form == "call_tool_result" else read_text(data)
    shape = reading.shape
    verdict = decide(
        shape, reading.texts, policy, lambda text, limit: counter.over(text.decode("utf-8", "replace"), limit)
    )
    shown = verdict if verdict.summarise else Verdict(reading.texts, together=len(reading.texts) != 1)
    summaries = render_all(shown, shape, scratch_id=ID, tool=tool, count=counter.count, options=policy.summary)
    summary = "\n".join(summaries)
    hashed = Hashed()
    reading.payload(hashed)
    return {
        "kind": shape.kind.value,
        "rows": shape.rows,
        "rows_total": shape.rows_total,
        "partial": shape.partial,
        "columns": None if shape.columns is None else [column.name for column in shape.columns],
        "is_error": shape.is_error,
        "summary": summary,
        "summary_tokens": counter.count(summary),
        "raw_tokens": sum(counter.count_bytes(b"".join(text.pieces())) for text in reading.texts),
        "raw_bytes": len(data),
        "provenance_hash": hashed.text(),
        "inline": not verdict.summarise,
        "source": shape.source,
    }


class Hashed:
    """Takes a payload, and keeps its hash alone."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def write(self, piece: bytes) -> None:
        self._hash.update(piece)

    def text(self) -> str:
        return "sha256:" + self._hash.hexdigest()


def print_report(report: dict[str, Any], *, many: bool) -> None:
    """For a person: the summary, and one line about it."""
    if many:
        common.print_text(f"== {report['file']}")
    if "error" in report:
        complain(f"{report['file']}: {report['error']}")
        return
    common.print_text(report["summary"])
    what = "the host would get it untouched" if report["inline"] else "the host would get the summary"
    common.print_text(f"({report['raw_tokens']:,} tokens -> {report['summary_tokens']}; {what})")
