"""The audit export: NDJSON that an outsider can verify with public keys alone. Format: docs/proof.md.

Signed texts travel as JSON strings, so that nobody has to re-create their bytes. The last line seals the file: a
signature over the hash of every line before it. Writing and verifying are pure: lines out, lines in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from crp_mcp.errors import Rejected
from crp_mcp.proof.canonical import canonicalize
from crp_mcp.proof.chain import Checkpoint, Head, rfc3339
from crp_mcp.proof.chain_verify import MAX_FAULTS, ChainVerdict, Fault, FaultKind, Verdict, verify_chain
from crp_mcp.proof.eccr import VerifiedReceipt, verify
from crp_mcp.proof.lattice import DEFAULT_LATTICE, Lattice
from crp_mcp.proof.reasons import Reason, rejected
from crp_mcp.proof.signed import Keys, Sign, VerifySignature, read_statement, sign_statement, verify_tombstone
from crp_mcp.proof.strict_json import read_object

FORMAT = "crp-audit-export"
VERSION = 1
MAX_LINE = 64 * 2**20
"""Bytes of the longest line read: a receipt over a great many sources carries all of its leaves."""
_SEAL = "crp-export-seal"
_SEAL_NAMES = frozenset({"lines", "lines_hash", "time"})


@dataclass(frozen=True, slots=True)
class ExportedReceipt:
    """A receipt's body and its leaves, in order; no leaves where they were erased with what they stood for."""

    body: bytes
    leaves: Sequence[bytes] = ()


def export_lines(
    *,
    head: Head,
    records: Iterable[tuple[int, bytes, str, str]],
    checkpoints: Iterable[Checkpoint],
    receipts: Iterable[ExportedReceipt],
    tombstones: Iterable[bytes] = (),
    public_keys: Keys,
    at: int,
    kid: str,
    sign: Sign,
    lattice: Lattice = DEFAULT_LATTICE,
) -> Iterator[bytes]:
    """Yield the lines, each with its newline. `checkpoints` should end with one over `head`, made for this export."""
    hasher, count = sha256(), 0
    for line in _content(head, records, checkpoints, receipts, tombstones, public_keys, at, lattice):
        data = canonicalize(line) + b"\n"
        hasher.update(data)
        count += 1
        yield data
    fields = {"lines": count, "lines_hash": "sha256:" + hasher.hexdigest(), "time": at}
    seal = sign_statement(_SEAL, fields, kid=kid, sign=sign)
    yield canonicalize({"type": "seal", "body": seal.decode("utf-8")}) + b"\n"


def _content(
    head: Head,
    records: Iterable[tuple[int, bytes, str, str]],
    checkpoints: Iterable[Checkpoint],
    receipts: Iterable[ExportedReceipt],
    tombstones: Iterable[bytes],
    public_keys: Keys,
    at: int,
    lattice: Lattice,
) -> Iterator[dict[str, Any]]:
    yield {
        "type": "header",
        "format": FORMAT,
        "v": VERSION,
        "exported_at": rfc3339(at),
        "head": {"seq": head.seq, "hash": head.hash},
        "keys": {kid: key.hex() for kid, key in public_keys.items()},
        "lattice": list(lattice.labels),
    }
    for seq, body, stored_hash, mac in records:
        yield {"type": "record", "seq": seq, "body": body.decode("utf-8", "replace"), "hash": stored_hash, "mac": mac}
    for checkpoint in checkpoints:
        yield {"type": "checkpoint", "body": checkpoint.body.decode("utf-8")}
    for receipt in receipts:
        leaves = [leaf.decode("utf-8") for leaf in receipt.leaves]
        yield {"type": "receipt", "body": receipt.body.decode("utf-8"), "leaves": leaves}
    for tombstone in tombstones:
        yield {"type": "tombstone", "body": tombstone.decode("utf-8")}


@dataclass(frozen=True, slots=True)
class ExportVerdict:
    """What an export shows: the chain's verdict, worsened by what else did not fit."""

    verdict: Verdict
    chain: ChainVerdict
    receipts: int
    """How many receipts verified."""
    sealed: bool
    """Whether the file is, byte for byte, the one that was written."""
    faults: tuple[Fault, ...]
    """The chain's faults and the file's own (located by line)."""
    note: str


@dataclass(slots=True)
class _Contents:
    """An export read into its parts; what could not be read is a fault already."""

    header: dict[str, Any] = field(default_factory=dict)
    records: list[tuple[int, bytes, str, str]] = field(default_factory=list)
    checkpoints: list[bytes] = field(default_factory=list)
    receipts: list[tuple[int, bytes, list[bytes]]] = field(default_factory=list)
    tombstones: list[tuple[int, bytes]] = field(default_factory=list)
    seal: bytes | None = None
    lines: int = 0
    """Lines before the seal, and the hash over them."""
    lines_hash: str = ""
    faults: list[Fault] = field(default_factory=list)

    def fault(self, kind: FaultKind, line: int, message: str) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(Fault(kind, line, line, f"line {line}: {message}"))


def verify_export(
    lines: Iterable[bytes],
    *,
    keys: Keys,
    verify_signature: VerifySignature,
    more_checkpoints: Iterable[bytes] = (),
    lattice: Lattice | None = None,
) -> ExportVerdict:
    """Verify an export with `keys`, which the caller trusts for a reason of their own; the header's are not believed.

    `more_checkpoints`: signed bodies kept elsewhere, against a tail cut off together with its checkpoints. `lattice`:
    the one to judge ceilings by; the header's when None. Never raises for what is in the lines.
    """
    contents = _read(lines)
    chain = verify_chain(
        contents.records,
        checkpoints=[*contents.checkpoints, *more_checkpoints],
        keys=keys,
        verify_signature=verify_signature,
        expected_head=_header_head(contents),
    )
    sealed = _check_seal(contents, keys, verify_signature)
    good = _check_receipts(contents, keys, verify_signature, lattice or _header_lattice(contents))
    faults = (*chain.faults, *contents.faults)
    verdict, note = _judge(chain, contents.faults, sealed)
    return ExportVerdict(verdict, chain, good, sealed, faults, note)


def _judge(chain: ChainVerdict, faults: Sequence[Fault], sealed: bool) -> tuple[Verdict, str]:
    if chain.verdict is Verdict.BROKEN:
        return Verdict.BROKEN, chain.note
    if faults:
        return Verdict.BROKEN, f"The export is broken: {faults[0].message}."
    if not sealed and chain.verdict is Verdict.VALID:
        return Verdict.PARTIAL, chain.note + " The file has no seal: lines may be missing."
    return chain.verdict, chain.note


def _read(lines: Iterable[bytes]) -> _Contents:
    contents = _Contents()
    hasher = sha256()
    for number, line in enumerate(lines, 1):
        if contents.seal is not None:
            contents.fault(FaultKind.EXPORT, number, "something follows the seal")
            break
        try:
            document: dict[str, Any] = read_object(line, max_bytes=MAX_LINE)
            _take(contents, number, document)
        except Rejected as refusal:
            contents.fault(FaultKind.EXPORT, number, str(refusal))
        if contents.seal is None:
            hasher.update(line)
            contents.lines = number
    contents.lines_hash = "sha256:" + hasher.hexdigest()
    if not contents.header:
        contents.fault(FaultKind.EXPORT, 1, f"the header of a {FORMAT} is missing")
    return contents


def _take(contents: _Contents, number: int, document: dict[str, Any]) -> None:
    """Sort one line into its place. Raises Rejected for a line that is of no known form."""
    match document:
        case {"type": "header", "format": "crp-audit-export", "v": 1} if number == 1:
            contents.header = document
        case {"type": "record", "seq": int(seq), "body": str(body), "hash": str(stored_hash), "mac": str(mac)}:
            contents.records.append((seq, body.encode(), stored_hash, mac))
        case {"type": "checkpoint", "body": str(body)}:
            contents.checkpoints.append(body.encode())
        case {"type": "receipt", "body": str(body), "leaves": list(leaves)} if all(isinstance(x, str) for x in leaves):
            contents.receipts.append((number, body.encode(), [leaf.encode() for leaf in leaves]))
        case {"type": "tombstone", "body": str(body)}:
            contents.tombstones.append((number, body.encode()))
        case {"type": "seal", "body": str(body)}:
            contents.seal = body.encode()
        case _:
            raise rejected(Reason.UNKNOWN_MEMBER, f"no line of a {FORMAT}, version {VERSION}")


def _header_head(contents: _Contents) -> Head | None:
    match contents.header.get("head"):
        case {"seq": int(seq), "hash": str(digest)}:
            return Head(seq, digest)
    return None


def _header_lattice(contents: _Contents) -> Lattice:
    labels = contents.header.get("lattice")
    try:
        return Lattice(tuple(labels)) if isinstance(labels, list) else DEFAULT_LATTICE
    except (ValueError, TypeError):
        contents.fault(FaultKind.EXPORT, 1, "the header's lattice is malformed")
        return DEFAULT_LATTICE


def _check_seal(contents: _Contents, keys: Keys, verify_signature: VerifySignature) -> bool:
    if contents.seal is None:
        return False
    line = contents.lines + 1
    try:
        fields = read_statement(contents.seal, _SEAL, _SEAL_NAMES, keys=keys, verify_signature=verify_signature)
    except Rejected as refusal:
        contents.fault(FaultKind.EXPORT, line, f"the seal does not verify: {refusal}")
        return False
    if fields["lines"] != contents.lines or fields["lines_hash"] != contents.lines_hash:
        contents.fault(FaultKind.EXPORT, line, "the seal is over other lines: some were changed, removed or added")
        return False
    return True


def _check_receipts(contents: _Contents, keys: Keys, verify_signature: VerifySignature, lattice: Lattice) -> int:
    """Verify each receipt as history (its times are past), and that none is valid over what was purged."""
    purged: dict[str, int] = {}
    for line, body in contents.tombstones:
        try:
            stone = verify_tombstone(body, keys=keys, verify_signature=verify_signature)
            purged[stone.item_digest] = stone.at
        except Rejected as refusal:
            contents.fault(FaultKind.RECEIPT, line, f"the tombstone does not verify: {refusal}")
    recorded = _recorded_receipts(contents)
    good = 0
    for line, body, leaves in contents.receipts:
        try:  # leaves erased with what they stood for: the receipt itself still is what was signed
            found = verify(
                body, keys=keys, verify_signature=verify_signature, now=None, lattice=lattice, leaves=leaves or None
            )
        except Rejected as refusal:
            contents.fault(FaultKind.RECEIPT, line, f"the receipt does not verify: {refusal}")
            continue
        objection = _objection(found, purged, recorded)
        if objection:
            contents.fault(FaultKind.RECEIPT, line, objection)
        good += not objection
    return good


def _objection(found: VerifiedReceipt, purged: dict[str, int], recorded: set[str]) -> str | None:
    """What speaks against a receipt whose signature and leaves are right; None if nothing does."""
    receipt = found.receipt
    if any(purged.get(item.digest, receipt.issued_at) < receipt.issued_at for item in found.items or ()):
        return "the receipt was issued over an item that had been purged before"
    if receipt.digest not in recorded:
        return "no record of the chain says that this receipt was issued"
    return None


def _recorded_receipts(contents: _Contents) -> set[str]:
    """Digests of all receipts the chain says were issued (`eccr.event_data`)."""
    digests: set[str] = set()
    for _, body, _, _ in contents.records:
        if b'"event_type":"RECEIPT_ISSUED"' in body:
            try:
                document: dict[str, Any] = read_object(body)
            except Rejected:
                continue  # the chain's own walk has named it already
            match document:
                case {"event_type": "RECEIPT_ISSUED", "data": {"receipt": str(digest)}}:
                    digests.add(digest)
    return digests
