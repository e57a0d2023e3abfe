"""`crp-mcp context`: what a request for context would get, from the project's files and what is stored."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crp_mcp.errors import BadRequest

from . import common

if TYPE_CHECKING:
    from crp_mcp.core.assemble.reply import Reply


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="?", help="the question, in words")
    parser.add_argument("--root", action="append", metavar="DIR", help="a folder to read (default: the project's)")
    parser.add_argument("--max-tokens", type=int, default=2_000, help="size of the answer (default: 2000)")
    parser.add_argument("--focus", nargs="+", default=[], metavar="NAME", help="names, ids or URIs to centre on")
    parser.add_argument("--entities", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--uko-types", nargs="+", default=[], metavar="TYPE", help="uko-py:class, uko-doc:, …")
    parser.add_argument("--breadth", type=int, default=None, help="steps outward from the focus")
    parser.add_argument("--depth", help="0 to 9, or a level: SIGNATURES, FULL_SOURCE, …")
    parser.add_argument("--no-gradient", action="store_true", help="the same depth everywhere")
    parser.add_argument("--temporal", choices=("CURRENT", "RECENT", "HISTORICAL", "ALL"))
    parser.add_argument("--as-of", metavar="TIME", help="ISO 8601")
    parser.add_argument("--priority", type=float)
    parser.add_argument("--purpose", default="")
    parser.add_argument("--strategies", nargs="+", default=[], metavar="NAME", help="preferred strategies")
    parser.add_argument("--backends", nargs="+", default=[], metavar="NAME", help="required backends")
    parser.add_argument("--cursor", help="go on where the answer that named it ended; give the same options with it")
    parser.add_argument("--explain", action="store_true", help="tell how it came about")
    parser.add_argument("--conversation", help="the conversation whose results and turns count")
    common.add_store(parser)
    common.add_json(parser)


def run(options: argparse.Namespace) -> int:
    from crp_mcp.mcp.tools.context import parse_request

    if not options.query and not options.focus and not options.entities:
        raise BadRequest("give a question, or --focus or --entities")
    request = parse_request(_fields(options))
    reply, more = _ask(options, request)
    if options.json:
        common.print_json({**reply.to_json(), "text": reply.text, **more})
        return 0
    for line in reply.explained if options.explain else ():
        print(common.visible(line), file=sys.stderr)
    print(common.visible(reply.context.preamble or "nothing found"), file=sys.stderr)
    if "cursor" in more:
        print(f"more with --cursor {more['cursor']}", file=sys.stderr)
    for name, why in reply.ignored.items():
        print(common.visible(f"ignored {name}: {why}"), file=sys.stderr)
    if reply.text:
        common.print_text(reply.text)
    return 0


def _fields(options: argparse.Namespace) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "query": options.query,
        "focus": options.focus,
        "entities": options.entities,
        "uko_types": options.uko_types,
        "breadth": options.breadth,
        "depth": options.depth,
        "temporal": options.temporal,
        "as_of": options.as_of,
        "priority": options.priority,
        "purpose": options.purpose,
        "preferred_strategies": options.strategies,
        "required_backends": options.backends,
        "max_tokens": options.max_tokens,
    }
    if options.no_gradient:
        fields["depth_gradient"] = False
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _ask(options: argparse.Namespace, request: Any) -> tuple[Reply, dict[str, str]]:
    """From the store and the files; from the files alone where there is no store yet: looking must not make one.

    Beside the reply: receipt and cursor, which only a store has.
    """
    from crp_mcp.app.context import assemble_context
    from crp_mcp.core.request.models import ContextBudget
    from crp_mcp.store import store_file

    roots = [Path(one).expanduser().resolve() for one in options.root or ()]
    for root in roots:
        if not root.is_dir():
            raise BadRequest(f"--root: {root} is no folder")
    settings = common.settings_of(options)
    if roots:
        settings = settings._replace(roots=tuple(map(str, roots)))
    budget = ContextBudget(max_tokens=options.max_tokens)
    if not store_file(Path(settings.store)).exists():
        if options.cursor:
            raise BadRequest("--cursor: there is no store that could know it; leave it out")
        return assemble_context(request, settings.roots, budget, why=options.explain), {}
    engine = _engine(settings)
    try:
        from crp_mcp.relay.using import Ask

        requester = engine.tools.context().requester
        scope = settings.scope(options.conversation or _latest(engine, settings))
        ask = Ask(scope, policy=engine.life.operator)
        made = requester.request(ask, request, budget, why=options.explain, cursor=options.cursor)
        named = {"receipt": made.receipt, "cursor": made.cursor}
        return made.reply, {name: value for name, value in named.items() if value}
    finally:
        engine.close()


def _engine(settings: Any) -> Any:
    from crp_mcp.app.engine import open_engine

    return open_engine(settings, create=False)


def _latest(engine: Any, settings: Any) -> str:
    """The conversation of this project that was used last."""
    known = engine.store.conversations(settings.scope())
    return str(known[0].scope.conversation) if known else "cli"
