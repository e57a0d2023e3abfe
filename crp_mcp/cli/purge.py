"""`crp-mcp purge`: erase what is chosen and everything made from it, leaving proof and no bytes."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from crp_mcp.errors import BadRequest

from . import common

if TYPE_CHECKING:
    from crp_mcp.relay.erasure import Report
    from crp_mcp.relay.planning import Plan


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="SCRATCH_ID", help="results by id or pinned name")
    parser.add_argument("--tool", metavar="GLOB", help="results of this tool, or of `server:tool`")
    parser.add_argument("--conversation", metavar="NAME", help="results of this conversation")
    parser.add_argument(
        "--argument", metavar="[NAME=]VALUE", help="results of calls with this value in their arguments"
    )
    parser.add_argument("--matching", metavar="TEXT", help="results that contain this text, anywhere")
    parser.add_argument("--rows", action="store_true", help="with --matching: keep the other rows of a table")
    parser.add_argument(
        "--dry-run", action="store_true", help="only list what would go, everything downstream included"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    common.add_store(parser)
    common.add_json(parser)


def run(options: argparse.Namespace) -> int:
    from crp_mcp.relay.choosing import Selection

    if options.rows and not options.matching:
        raise BadRequest("--rows goes with --matching: it keeps the rows in which the text is not found")
    selection = Selection(tuple(options.ids), options.tool, options.conversation, options.argument, options.matching)
    engine = common.engine_of(options)
    try:
        plan = engine.eraser.plan(selection, rows=options.rows)
        if options.dry_run or (plan.is_empty() and not options.json):
            _show(plan, options.json)
            return 0
        if not (options.yes or options.json) and sys.stdin.isatty() and not _confirmed(plan):
            return 1
        report = engine.eraser.carry_out(plan, reason="purge", rows=options.rows)
        _tell(plan, report, options.json)
    finally:
        engine.close()
    return 0


def plan_json(plan: Plan) -> dict[str, Any]:
    """A plan as a script gets it."""
    return {
        "steps": [
            {
                "scratch_id": step.entry.scratch_id,
                "action": step.action,
                "because": step.because,
                "tool": f"{step.entry.server}:{step.entry.tool_name}",
                "conversation": step.entry.scope.conversation,
                "name": step.entry.name,
                "rows_removed": step.removed,
                "rows_kept": step.kept,
            }
            for step in plan.steps
        ],
        "stubs": [stub.scratch_id for stub in plan.stubs],
        "texts": [{"what": text.what, "id": text.id} for text in (*plan.texts, *plan.along)],
    }


def _show(plan: Plan, as_json: bool) -> None:
    if as_json:
        common.print_json({"dry_run": True, **plan_json(plan)})
        return
    for step in plan.steps:
        entry = step.entry
        why = "" if step.because is None else f", made from {step.because}"
        rows = f" ({step.removed:,} rows go, {step.kept:,} stay)" if step.kept else ""
        name = f' "{entry.name}"' if entry.name else ""
        common.print_text(f"{step.action}: {entry.scratch_id}{name} {entry.server}:{entry.tool_name}{rows}{why}")
    for stub in plan.stubs:
        common.print_text(f"purge: what is left of {stub.scratch_id} {stub.server}:{stub.tool_name}")
    for text in (*plan.texts, *plan.along):
        common.print_text(f"{'remove' if text.what == 'fact' else 'erase the text of'}: {text.id}")
    if plan.is_empty():
        print("nothing is stored that fits", file=sys.stderr)


def _confirmed(plan: Plan) -> bool:
    _show(plan, False)
    return input("Erase this for good? [y/N] ").strip().lower() in ("y", "yes")


def report_json(report: Report) -> dict[str, Any]:
    """A report as a script gets it."""
    return {
        "purged": report.purged,
        "rebuilt": report.rebuilt,
        "stubs": report.stubs,
        "texts": report.texts,
        "tombstones": report.tombstones,
        "pending": report.pending,
        "finished": report.finished,
    }


def _tell(plan: Plan, report: Report, as_json: bool) -> None:
    if as_json:
        common.print_json({"dry_run": False, **plan_json(plan), **report_json(report)})
        return
    say(report)


def say(report: Report) -> None:
    """A report for a person."""
    common.print_text(
        f"{len(report.purged) + len(report.stubs):,} results and {report.texts:,} texts erased, "
        f"{report.tombstones:,} tombstones signed"
    )
    for old, new in report.rebuilt.items():
        common.print_text(f"{old} was made anew as {new}")
    if report.finished:
        common.print_text(
            f"{report.finished:,} earlier erasures that had to wait are finished: no byte of them is left in the "
            "store's files"
        )
    if report.pending:
        common.print_text(
            "pending: another process still reads the store's log, so erased bytes may stand there until it lets go; "
            "`crp-mcp sweep` finishes, and so does a running `crp-mcp serve`"
        )
