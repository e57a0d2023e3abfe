"""`crp-mcp check`: what a text says, held against tool results in files or in the store."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crp_mcp.errors import ConfigError, NotFound

from . import common
from .files import read_file

if TYPE_CHECKING:
    from crp_mcp.app.engine import Engine
    from crp_mcp.core.claims import Evidence, Options, Verdict
    from crp_mcp.core.model import Scope


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", default="-", metavar="FILE", help="the text to check (default: stdin)")
    parser.add_argument("--against", nargs="+", metavar="FILE", help="results to hold it against; whole MCP ones too")
    parser.add_argument("--ids", nargs="+", metavar="ID", help="stored results: scratch_ids or pinned names")
    parser.add_argument("--conversation", metavar="ID", help="the results of this conversation (default: the latest)")
    parser.add_argument("--require-citation", action="store_true", help="a claim must cite its [scratch_id]")
    parser.add_argument("--batch", metavar="FILE", help='one {"id", "claim", "against": [FILE...]} a line; - for stdin')
    common.add_store(parser)
    common.add_json(parser)


def run(options: argparse.Namespace) -> int:
    """0: nothing is contradicted; 1: something is. A batch is always 0: each line has its verdict."""
    from crp_mcp.core.claims import Options, check_claims

    if options.batch is not None:
        return _batch(options.batch, Options(require_citation=options.require_citation))
    if options.against and (options.ids or options.conversation):
        raise ConfigError("--against holds a text against files; --ids and --conversation are of the store")
    text = _text(options.text)
    verdicts: Sequence[Verdict]
    notes: Mapping[str, str] = {}
    if options.against:
        evidence = [_evidence(name) for name in options.against]
        verdicts = check_claims(text, evidence, options=Options(require_citation=options.require_citation))
    else:
        verdicts, notes = _stored(text, options)
    _print(verdicts, notes, json=options.json)
    return 1 if any(verdict.outcome == "contradicted" for verdict in verdicts) else 0


# -- files ---------------------------------------------------------------------------------------------------------


def _text(name: str) -> str:
    data = sys.stdin.buffer.read() if name == "-" else read_file(name)
    return data.decode("utf-8", "replace")


def _evidence(name: str) -> Evidence:
    """A file as evidence, which a sentence may call by the file's name. Raises ConfigError that names it."""
    try:
        return replace(_load(name), names=(Path(name).stem,))
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read ({error.strerror})") from None


def _load(name: str) -> Evidence:
    """A file as evidence, called by its path. Raises OSError."""
    from errno import EINVAL
    from hashlib import sha256

    from crp_mcp.core.claims import make_evidence

    try:
        data = Path(name).read_bytes()
    except ValueError:
        raise OSError(EINVAL, "not the name of a file", name) from None
    return make_evidence(name, lambda: data, provenance_hash="sha256:" + sha256(data).hexdigest(), size=len(data))


def _batch(name: str, options: Options) -> int:
    from functools import lru_cache

    from crp_mcp.core.claims import run_batch

    load = lru_cache(maxsize=16)(_load)
    for row in run_batch(_lines(name), load, options=options):
        common.print_json(row)
    return 0


def _lines(name: str) -> Iterator[str]:
    """Lines of a batch, whatever their bytes. Raises ConfigError for a file that cannot be read."""
    if name == "-":
        yield from _decoded(sys.stdin.buffer)
        return
    yield from _decoded(read_file(name).split(b"\n"))


def _decoded(lines: Iterable[bytes]) -> Iterator[str]:
    for line in lines:
        yield line.decode("utf-8", "replace")


# -- store ---------------------------------------------------------------------------------------------------------


def _stored(text: str, options: argparse.Namespace) -> tuple[Sequence[Verdict], Mapping[str, str]]:
    """Verdicts from stored results, recorded as those of `verify_claims` are; and what is stale, by id."""
    from crp_mcp.relay.using import Ask

    from .scratch import find

    engine = common.engine_of(options)
    try:
        scope = find(engine, options.ids[0]).scope if options.ids else _conversation(engine, options.conversation)
        ask = Ask(scope, policy=engine.life.operator)
        checker = engine.checking.checker()
        checked = checker.check(ask, text, options.ids, require_citation=options.require_citation)
        return checked.verdicts, checked.notes
    finally:
        engine.close()


def _conversation(engine: Engine, wanted: str | None) -> Scope:
    """The scope of a conversation, or of the one used last. Raises NotFound."""
    from .scratch import scopes

    known = [one for space in scopes(engine) for one in engine.store.conversations(space)]
    if wanted is not None:
        known = [one for one in known if one.scope.conversation == wanted]
    if not known:
        raise NotFound("the store has no conversation" + (f" {wanted!r}" if wanted else ""))
    return max(known, key=lambda one: one.last_used_at).scope


# -- printing ------------------------------------------------------------------------------------------------------


def _print(verdicts: Sequence[Verdict], notes: Mapping[str, str], *, json: bool) -> None:
    for verdict in verdicts:
        if json:
            common.print_json(verdict_json(verdict))
        else:
            common.print_text(verdict_line(verdict))
    for scratch_id, note in notes.items():
        print(common.visible(f"{scratch_id}: {note}"), file=sys.stderr)
    if not verdicts:
        print("it claims nothing that can be checked", file=sys.stderr)


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as a script gets it."""
    names = ("scratch_id", "provenance_hash", "computed", "found", "stated")
    return {
        "claim": verdict.claim.text,
        "start": verdict.claim.start,
        "end": verdict.claim.end,
        "verdict": str(verdict.outcome),
        "attribution": str(verdict.attribution),
        "distortion": str(verdict.distortion) if verdict.distortion else None,
        "evidence": [{name: getattr(finding, name) for name in names} for finding in verdict.findings],
        "reason": verdict.reason,
        "citation": verdict.citation,
    }


def verdict_line(verdict: Verdict) -> str:
    """A verdict on one line."""
    where = " ".join(dict.fromkeys(f"[{finding.scratch_id}]" for finding in verdict.findings))
    kind = f" ({verdict.distortion})" if verdict.distortion else ""
    cited = f"; citation {verdict.citation}" if verdict.citation else ""
    return f"{verdict.outcome}{kind}: {verdict.claim.text}\n    {verdict.reason} {where}".rstrip() + cited
