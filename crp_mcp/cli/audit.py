"""`crp-mcp audit`: whether the record of everything that happened is whole, and the same for others to check."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crp_mcp.errors import ConfigError, NotFound

from . import common
from .files import open_private, public_keys_of, read_file

if TYPE_CHECKING:
    from crp_mcp.proof.chain_verify import Fault

EXIT = {"VALID": 0, "BROKEN": 1, "PARTIAL": 2, "UNVERIFIED": 3}
"""Exit codes of the verdicts, the same as examples/verify_audit.py has."""
FAILED = 4
"""Exit code where there is no verdict: a wrong option, no such file, store, key or conversation."""


def add(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    verifying = actions.add_parser("verify", help="hold a store against its records and receipts, or check an export")
    verifying.add_argument("--conversation", metavar="NAME", help="check what is of this conversation only")
    verifying.add_argument("--quick", action="store_true", help="do not read the bytes of payloads")
    verifying.add_argument("--checkpoint", metavar="FILE", action="append", default=[], help="one kept elsewhere")
    verifying.add_argument("--export", metavar="FILE", help="check this export instead of the store")
    verifying.add_argument(
        "--key", metavar="HEX", action="append", default=[], help="public key to believe an export by"
    )
    exporting = actions.add_parser("export", help="write everything an outsider needs to check, as NDJSON")
    exporting.add_argument("--output", "-o", metavar="FILE", help="default: standard output")
    sealing = actions.add_parser("checkpoint", help="sign the chain as it is now, to be kept elsewhere")
    for action in (verifying, exporting, sealing):
        common.add_store(action)
        common.add_json(action)


def run(options: argparse.Namespace) -> int:
    if options.action == "verify" and options.export:
        return _verify_export(options)
    engine = common.engine_of(options)
    try:
        if options.action == "verify":
            return _verify(engine, options)
        if options.action == "export":
            return _export(engine, options)
        return _checkpoint(engine)
    finally:
        engine.close()


def _verify(engine: Any, options: argparse.Namespace) -> int:
    kept = kept_checkpoints(options.checkpoint)
    found = engine.auditor.verify(conversation=options.conversation, kept=kept, payloads=not options.quick)
    report = {
        "verdict": found.verdict.value,
        "records": found.chain.records,
        "head": {"seq": found.chain.head.seq, "hash": found.chain.head.hash},
        "sealed": found.chain.sealed,
        "macs_checked": found.chain.macs_checked,
        "receipts": found.receipts,
        "entries": found.entries,
        "payload_bytes": found.payload_bytes,
        "quick": options.quick,
        "conversation": options.conversation,
        "checkpoints_kept": len(kept),
        "faults": [_fault(fault) for fault in found.faults],
        "faults_total": found.total,
        "note": found.note,
    }
    return _say(report, options.json)


def _verify_export(options: argparse.Namespace) -> int:
    from crp_mcp.keys import load_keyring, verify_signature
    from crp_mcp.proof.export import verify_export

    keys = (
        public_keys_of(options.key) if options.key else load_keyring(common.settings_of(options).keys, create=False).own
    )
    found = verify_export(
        _Lines(options.export),
        keys=keys,
        verify_signature=verify_signature,
        more_checkpoints=kept_checkpoints(options.checkpoint),
    )
    report = {
        "verdict": found.verdict.value,
        "records": found.chain.records,
        "head": {"seq": found.chain.head.seq, "hash": found.chain.head.hash},
        "sealed": found.chain.sealed,
        "receipts": found.receipts,
        "file_sealed": found.sealed,
        "faults": [_fault(fault) for fault in found.faults],
        "note": found.note,
    }
    return _say(report, options.json)


def _say(report: dict[str, Any], as_json: bool) -> int:
    if as_json:
        common.print_json(report)
    else:
        common.print_text(f"{report['verdict']}: {report['note']}")
        for fault in report["faults"]:
            common.print_text(f"  {fault['kind']} {fault['message']}")
        if (more := report.get("faults_total", 0) - len(report["faults"])) > 0:
            common.print_text(f"  and {more:,} more")
        seen = ", ".join(
            f"{report[key]:,} {key.replace('_', ' ')}"
            for key in ("records", "receipts", "entries", "payload_bytes")
            if key in report
        )
        common.print_text(f"{seen}; head {report['head']['seq']} {report['head']['hash']}")
    return EXIT[report["verdict"]]


def _fault(fault: Fault) -> dict[str, Any]:
    where = {"first": fault.first, "last": fault.last, "item": fault.item or None}
    return {"kind": fault.kind.value, **where, "message": fault.message}


def _export(engine: Any, options: argparse.Namespace) -> int:
    lines: Iterator[bytes] = engine.auditor.export()
    count = 0
    if options.output:
        with open_private(Path(options.output)) as file:
            for line in lines:
                file.write(line)
                count += 1
        report = {"file": options.output, "lines": count, "kid": engine.keyring.kid}
        if options.json:
            common.print_json(report)
        else:
            common.print_text(f"{options.output}: {count:,} lines, sealed with {engine.keyring.kid}")
        return 0
    for line in lines:
        sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
    return 0


def _checkpoint(engine: Any) -> int:
    engine.auditor.seal()
    marks = engine.store.checkpoints()
    if not marks:
        raise NotFound("nothing is recorded yet, so there is nothing to sign")
    sys.stdout.write(marks[-1].body.decode() + "\n")
    return 0


def kept_checkpoints(files: Sequence[str]) -> list[bytes]:
    """Signed checkpoints from files kept elsewhere: what `audit checkpoint` printed, or earlier exports."""
    from crp_mcp.relay.auditing import checkpoint_bodies

    bodies = []
    for name in files:
        found = checkpoint_bodies([read_file(name)])
        if not found:
            raise ConfigError(f"{name}: holds no checkpoint; give what `crp-mcp audit checkpoint` printed")
        bodies += found
    return bodies


class _Lines:
    """The lines of a file, read anew each time they are gone through; a longer one than may be comes in pieces."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __iter__(self) -> Iterator[bytes]:
        from crp_mcp.proof.export_read import MAX_LINE

        try:
            with open(self._name, "rb") as file:
                while line := file.readline(MAX_LINE + 2):
                    yield line
        except OSError as error:
            raise ConfigError(f"{self._name}: cannot be read ({error.strerror})") from None
