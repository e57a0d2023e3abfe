"""`crp-mcp receipt`: compaction receipts, shown, verified, and proofs that one source is in one."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crp_mcp.errors import BadRequest, ConfigError, CrpError, NotFound, Rejected

from . import common
from .files import public_keys_of, read_file
from .visible import complain

if TYPE_CHECKING:
    from crp_mcp.app.engine import Engine
    from crp_mcp.proof.eccr import VerifiedReceipt


MAX_RECEIPT = 65_536
"""Bytes of a receipt on the wire; one more is enough to refuse it."""


def add(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    showing = actions.add_parser("show", help="print a receipt, by its digest or by the id of what it is for")
    showing.add_argument("reference", metavar="DIGEST|SCRATCH_ID")
    showing.add_argument("--leaves", action="store_true", help="print its leaves instead, one a line")
    verifying = actions.add_parser("verify", help="verify receipts in files; says why one is refused")
    verifying.add_argument("files", metavar="FILE", nargs="+")
    verifying.add_argument("--public-key", metavar="HEX", action="append", default=[], help="believe this key only")
    verifying.add_argument("--now", type=int, metavar="EPOCH", help="the time to verify at, in epoch seconds")
    verifying.add_argument("--leaves", metavar="FILE", help="all leaves of the receipt: one a line, or a JSON array")
    verifying.add_argument("--proof", metavar="FILE", help="an inclusion proof to verify as well (`receipt prove`)")
    verifying.add_argument("--output", metavar="FILE", help="the artifact itself: its hash must be the receipt's")
    proving = actions.add_parser("prove", help="print the proof that one source is among a receipt's")
    proving.add_argument("reference", metavar="DIGEST|SCRATCH_ID")
    proving.add_argument("--item", metavar="SCRATCH_ID", help="the source, by its id")
    proving.add_argument("--index", type=int, metavar="N", help="the source, by its place (from 0)")
    for action in (showing, verifying, proving):
        common.add_store(action)
        common.add_json(action)


def run(options: argparse.Namespace) -> int:
    if options.action == "verify":
        return _verify(options)
    engine = common.engine_of(options)
    try:
        return _show(engine, options) if options.action == "show" else _prove(engine, options)
    finally:
        engine.close()


# -- show, prove


def _show(engine: Engine, options: argparse.Namespace) -> int:
    found = engine.receipts.find(None, options.reference)
    entry = engine.receipts.described(None, options.reference)
    reason = None
    try:
        if entry is None:
            engine.receipts.verify(found.body, scope=engine.settings.scope(), leaves=found.leaves or None)
        else:
            engine.receipts.verify_of(entry)
    except Rejected as refusal:
        reason = refusal.code
        complain(f"this receipt is not valid: {refusal}")
    leaves = [leaf.decode() for leaf in found.leaves]
    if options.json:
        receipt = json.loads(found.body)
        common.print_json(
            {"digest": found.digest, "receipt": receipt, "leaves": leaves, "valid": not reason, "reason": reason}
        )
    else:
        sys.stdout.write("".join(leaf + "\n" for leaf in leaves) if options.leaves else found.body.decode() + "\n")
    return 1 if reason else 0


def _prove(engine: Engine, options: argparse.Namespace) -> int:
    from crp_mcp.proof.lineage import prove

    found = engine.receipts.find(None, options.reference)
    if not found.leaves:
        raise NotFound(f"the leaves of {found.digest} are not here any more, so nothing can be proved of them")
    index = _index(engine, options, found.leaves)
    if not 0 <= index < len(found.leaves):
        raise BadRequest(f"index: the receipt has {len(found.leaves)} leaves, numbered from 0")
    sys.stdout.write(prove(found.leaves, index).to_json().decode() + "\n")
    return 0


def _index(engine: Engine, options: argparse.Namespace, leaves: Sequence[bytes]) -> int:
    from crp_mcp.proof.eccr import parse_leaf
    from crp_mcp.relay.sealing import item_of

    from .scratch import find

    if options.index is not None:
        return int(options.index)
    if options.item is None:
        if len(leaves) == 1:
            return 0
        raise BadRequest(f"the receipt has {len(leaves)} sources: say which with --item or --index")
    entry = find(engine, options.item)
    digest = item_of(entry, engine.store.salt(entry.scope, entry.scratch_id)).digest
    places = [place for place, leaf in enumerate(leaves) if parse_leaf(leaf)[0].digest == digest]
    if not places:
        raise NotFound(f"{entry.scratch_id} is not among the sources of this receipt")
    return places[0]


# -- verify


@dataclass(frozen=True, slots=True)
class _Checks:
    """What is checked besides the receipt itself; bytes as they were in their files."""

    keys: dict[str, bytes] | None
    now: int
    leaves: bytes | None
    proof: bytes | None
    output: bytes | None


def _verify(options: argparse.Namespace) -> int:
    checks = _Checks(
        public_keys_of(options.public_key) or None,
        int(time.time()) if options.now is None else options.now,
        *(None if name is None else read_file(name) for name in (options.leaves, options.proof, options.output)),
    )
    engine = _engine(options, needed=checks.keys is None)
    refused = 0
    try:
        for name in options.files:
            try:
                body = read_file(name, MAX_RECEIPT + 1)
                reason, sentence = _reason(engine, body, checks)
            except ConfigError as unread:
                body, reason, sentence = b"", "UNREADABLE", str(unread)
            refused += reason is not None
            if options.json:
                common.print_json({"file": name, "valid": reason is None, "reason": reason})
            else:
                common.print_text(f"{name}: valid" if reason is None else f"{name}: REJECTED, {sentence}")
            if reason is not None and reason != "UNREADABLE":
                _record(engine, body, reason)
    finally:
        if engine is not None:
            engine.close()
    return 1 if refused else 0


def _engine(options: argparse.Namespace, *, needed: bool) -> Engine | None:
    """The engine of the store, if there is one: it knows keys, lattice and what was erased, and keeps refusals."""
    try:
        return common.engine_of(options)
    except CrpError:
        if needed:
            raise
        return None  # a key was given: a receipt can be verified without any store


def _reason(engine: Engine | None, body: bytes, checks: _Checks) -> tuple[str | None, str]:
    """Why a receipt is refused: code and sentence; None if it is not."""
    try:
        _check(engine, body, checks)
    except Rejected as refusal:
        return refusal.code, str(refusal)
    return None, ""


def _check(engine: Engine | None, body: bytes, checks: _Checks) -> VerifiedReceipt:
    from hashlib import sha256

    from crp_mcp.keys import verify_signature
    from crp_mcp.proof.eccr import verify
    from crp_mcp.proof.lattice import DEFAULT_LATTICE
    from crp_mcp.proof.lineage import read_leaves, read_proof, verify_inclusion

    keys = checks.keys
    if keys is None:
        assert engine is not None
        keys = engine.keyring.public_keys()
    arguments: dict[str, Any] = {
        "keys": keys,
        "verify_signature": verify_signature,
        "now": checks.now,
        "lattice": DEFAULT_LATTICE if engine is None else engine.auditor.sealer.lattice,
    }
    found = verify(body, **arguments)
    if checks.leaves is not None:
        arguments["leaves"] = read_leaves(checks.leaves)
    if checks.output is not None:
        arguments["output_hash"] = "sha256:" + sha256(checks.output).hexdigest()
    found = verify(body, **arguments)
    if checks.proof is not None:
        verify_inclusion(found, read_proof(checks.proof))
    if engine is not None and (buried := engine.receipts.buried(found)):
        verify(body, **arguments, tombstoned=buried)
    return found


def _record(engine: Engine | None, body: bytes, reason: str) -> None:
    """Keep the refusal where there is a store; the verdict stands whether or not that works."""
    if engine is None:
        return
    try:
        engine.receipts.refuse(body, reason, engine.settings.scope())
    except CrpError as error:
        complain(f"the refusal could not be recorded: {error}")
