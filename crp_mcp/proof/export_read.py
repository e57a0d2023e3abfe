"""Reading an audit export: in two passes over its lines, of which none is kept.

The first takes what the second is held against (header, checkpoints, tombstones, seal) and the hash over all lines; the
second walks records and receipts as they come. Each line is read strictly, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from crp_mcp.errors import Rejected
from crp_mcp.proof.chain import Head
from crp_mcp.proof.chain_verify import MAX_FAULTS, Fault, FaultKind
from crp_mcp.proof.eccr import VerifiedReceipt, verify
from crp_mcp.proof.lattice import DEFAULT_LATTICE, Lattice
from crp_mcp.proof.reasons import Reason, rejected
from crp_mcp.proof.signed import Keys, VerifySignature, read_statement, verify_tombstone
from crp_mcp.proof.strict_json import read_object

FORMAT = "crp-audit-export"
VERSION = 1
MAX_LINE = 64 * 2**20
"""Bytes of the longest line read: a receipt over a great many sources carries all of its leaves."""
SEAL = "crp-export-seal"
_SEAL_NAMES = frozenset({"lines", "lines_hash", "time"})
_LATER = (b'"type":"record"}', b'"type":"receipt"}')
"""How lines end that only the second pass reads: in canonical spelling, members stand in alphabetical order."""


@dataclass(slots=True)
class Frame:
    """What one pass learns of an export without its records and receipts; what could not be read is a fault."""

    header: dict[str, Any] = field(default_factory=dict)
    checkpoints: list[bytes] = field(default_factory=list)
    tombstones: list[tuple[int, bytes]] = field(default_factory=list)
    seal: bytes | None = None
    lines: int = 0
    """Lines before the seal, and the hash over them."""
    lines_hash: str = ""
    faults: list[Fault] = field(default_factory=list)

    def fault(self, kind: FaultKind, line: int, message: str) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(Fault(kind, line, line, f"line {line}: {message}"))

    def head(self) -> Head | None:
        """Where the header says that the chain ends."""
        match self.header.get("head"):
            case {"seq": int(seq), "hash": str(digest)}:
                return Head(seq, digest)
        return None

    def lattice(self) -> Lattice:
        """The header's labels."""
        labels = self.header.get("lattice")
        try:
            return Lattice(tuple(labels)) if isinstance(labels, list) else DEFAULT_LATTICE
        except (ValueError, TypeError):
            self.fault(FaultKind.EXPORT, 1, "the header's lattice is malformed")
            return DEFAULT_LATTICE


def read_frame(lines: Iterable[bytes]) -> Frame:
    """The first pass."""
    frame, hasher = Frame(), sha256()
    for number, line in enumerate(lines, 1):
        if frame.seal is not None:
            frame.fault(FaultKind.EXPORT, number, "something follows the seal")
            break
        if not _is_later(line):
            try:
                _take(frame, number, read_object(line, max_bytes=MAX_LINE))
            except Rejected as refusal:
                frame.fault(FaultKind.EXPORT, number, str(refusal))
        if frame.seal is None:
            hasher.update(line)
            frame.lines = number
    frame.lines_hash = "sha256:" + hasher.hexdigest()
    if not frame.header:
        frame.fault(FaultKind.EXPORT, 1, f"the header of a {FORMAT} is missing")
    return frame


def _is_later(line: bytes) -> bool:
    return line.rstrip(b"\r\n").endswith(_LATER)


def _take(frame: Frame, number: int, document: dict[str, Any]) -> None:
    """Sort one line into its place. Raises Rejected for a line that is of no known form."""
    match document:
        case {"type": "header", "format": "crp-audit-export", "v": 1} if number == 1:
            frame.header = document
        case {"type": "checkpoint", "body": str(body)}:
            frame.checkpoints.append(body.encode())
        case {"type": "tombstone", "body": str(body)}:
            frame.tombstones.append((number, body.encode()))
        case {"type": "seal", "body": str(body)}:
            frame.seal = body.encode()
        case {"type": "record" | "receipt"}:
            pass  # spelled unlike ours: the second pass reads it
        case _:
            raise rejected(Reason.UNKNOWN_MEMBER, f"no line of a {FORMAT}, version {VERSION}")


class Contents:
    """The second pass: hands records on, and verifies each receipt as it comes. `good`: receipts that verified."""

    def __init__(self, frame: Frame, keys: Keys, verify_signature: VerifySignature, lattice: Lattice) -> None:
        self.good = 0
        self._frame = frame
        self._keys = keys
        self._verify = verify_signature
        self._lattice = lattice
        self._issued: set[bytes] = set()
        self._purged = dict(self._tombstones())

    def records(self, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes, str, str]]:
        """Yield the records; receipts are verified on the way, which come after the records that tell of them."""
        for number, line in enumerate(lines, 1):
            if number > self._frame.lines:
                return
            if _is_later(line) or b'"record"' in line or b'"receipt"' in line:
                try:
                    document: dict[str, Any] = read_object(line, max_bytes=MAX_LINE)
                except Rejected as refusal:
                    if _is_later(line):
                        self._frame.fault(FaultKind.EXPORT, number, str(refusal))
                    continue
                yield from self._of_line(number, document)

    def _of_line(self, number: int, document: dict[str, Any]) -> Iterator[tuple[int, bytes, str, str]]:
        match document:
            case {"type": "record", "seq": int(seq), "body": str(body), "hash": str(stored_hash), "mac": str(mac)}:
                self._note(body.encode())
                yield seq, body.encode(), stored_hash, mac
            case {"type": "receipt", "body": str(body), "leaves": list(leaves)} if all(
                isinstance(leaf, str) for leaf in leaves
            ):
                self._check(number, body.encode(), [leaf.encode() for leaf in leaves])
            case {"type": "record" | "receipt"}:
                self._frame.fault(FaultKind.EXPORT, number, f"no line of a {FORMAT}, version {VERSION}")

    def _note(self, body: bytes) -> None:
        """Digests of all receipts the chain says were issued (`eccr.event_data`)."""
        if b'"event_type":"RECEIPT_ISSUED"' not in body:
            return
        try:
            document: dict[str, Any] = read_object(body)
        except Rejected:
            return  # the chain's own walk names it
        match document:
            case {"event_type": "RECEIPT_ISSUED", "data": {"receipt": str(digest)}}:
                self._issued.add(_raw(digest))

    def _tombstones(self) -> Iterator[tuple[bytes, int]]:
        for line, body in self._frame.tombstones:
            try:
                stone = verify_tombstone(body, keys=self._keys, verify_signature=self._verify)
            except Rejected as refusal:
                self._frame.fault(FaultKind.RECEIPT, line, f"the tombstone does not verify: {refusal}")
            else:
                yield _raw(stone.item_digest), stone.at

    def _check(self, line: int, body: bytes, leaves: list[bytes]) -> None:
        """A receipt as history (its times are past); and that it is not over what was purged before."""
        try:  # leaves erased with what they stood for: the receipt itself still is what was signed
            found = verify(
                body,
                keys=self._keys,
                verify_signature=self._verify,
                now=None,
                lattice=self._lattice,
                leaves=leaves or None,
            )
        except Rejected as refusal:
            self._frame.fault(FaultKind.RECEIPT, line, f"the receipt does not verify: {refusal}")
            return
        objection = self._objection(found)
        if objection:
            self._frame.fault(FaultKind.RECEIPT, line, objection)
        self.good += not objection

    def _objection(self, found: VerifiedReceipt) -> str | None:
        """What speaks against a receipt whose signature and leaves are right; None if nothing does."""
        receipt = found.receipt
        at = receipt.issued_at
        if any(self._purged.get(_raw(item.digest), at) < at for item in found.items or ()):
            return "the receipt was issued over an item that had been purged before"
        if _raw(receipt.digest) not in self._issued:
            return "no record of the chain says that this receipt was issued"
        return None

    def check_seal(self) -> bool:
        """Whether the file is, byte for byte, the one that was sealed."""
        frame = self._frame
        if frame.seal is None:
            return False
        line = frame.lines + 1
        try:
            fields = read_statement(frame.seal, SEAL, _SEAL_NAMES, keys=self._keys, verify_signature=self._verify)
        except Rejected as refusal:
            frame.fault(FaultKind.EXPORT, line, f"the seal does not verify: {refusal}")
            return False
        if fields["lines"] != frame.lines or fields["lines_hash"] != frame.lines_hash:
            frame.fault(FaultKind.EXPORT, line, "the seal is over other lines: some were changed, removed or added")
            return False
        return True


def _raw(digest: str) -> bytes:
    """A digest in half the room; what is none stands for itself."""
    try:
        return bytes.fromhex(digest.removeprefix("sha256:"))
    except ValueError:
        return digest.encode("utf-8", "surrogatepass")
