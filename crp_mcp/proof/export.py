"""The audit export: NDJSON that an outsider can verify with public keys alone. Format: docs/proof.md.

Signed texts travel as JSON strings, so that nobody has to re-create their bytes. The last line seals the file: a
signature over the hash of every line before it. Writing and verifying are pure: lines out, lines in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from crp_mcp.proof.canonical import canonicalize
from crp_mcp.proof.chain import Checkpoint, Head, rfc3339
from crp_mcp.proof.chain_verify import ChainVerdict, Fault, Verdict, verify_chain
from crp_mcp.proof.export_read import FORMAT, SEAL, VERSION, Contents, read_frame
from crp_mcp.proof.lattice import DEFAULT_LATTICE, Lattice
from crp_mcp.proof.signed import Keys, Sign, VerifySignature, sign_statement


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
    seal = sign_statement(SEAL, fields, kid=kid, sign=sign)
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


def verify_export(
    lines: Iterable[bytes],
    *,
    keys: Keys,
    verify_signature: VerifySignature,
    more_checkpoints: Iterable[bytes] = (),
    lattice: Lattice | None = None,
) -> ExportVerdict:
    """Verify an export with `keys`, which the caller trusts for a reason of their own; the header's are not believed.

    `lines` is gone through twice, and not held: a list, or what opens a file anew each time. `more_checkpoints`:
    signed bodies kept elsewhere, against a tail cut off together with its checkpoints. `lattice`: the one to judge
    ceilings by; the header's when None. Never raises for what is in the lines.
    """
    frame = read_frame(lines)
    walk = Contents(frame, keys, verify_signature, lattice or frame.lattice())
    chain = verify_chain(
        walk.records(lines),
        checkpoints=[*frame.checkpoints, *more_checkpoints],
        keys=keys,
        verify_signature=verify_signature,
        expected_head=frame.head(),
    )
    sealed = walk.check_seal()
    verdict, note = _judge(chain, frame.faults, sealed)
    named = frame.header.get("keys")
    if keys and isinstance(named, dict) and not keys.keys() & named.keys():
        note = "Nothing in the file is signed with a key that is believed: it is another's, or forged. " + note
    return ExportVerdict(verdict, chain, walk.good, sealed, (*chain.faults, *frame.faults), note)


def _judge(chain: ChainVerdict, faults: Sequence[Fault], sealed: bool) -> tuple[Verdict, str]:
    if chain.verdict is Verdict.BROKEN:
        return Verdict.BROKEN, chain.note
    if faults:
        return Verdict.BROKEN, f"The export is broken: {faults[0].message}."
    if not sealed and chain.verdict is Verdict.VALID:
        return Verdict.PARTIAL, chain.note + " The file has no seal: lines may be missing."
    return chain.verdict, chain.note
