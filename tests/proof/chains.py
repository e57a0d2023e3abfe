"""Small audit chains for the tests, with two conversations, a checkpoint every ten records, and receipts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from crp_mcp.proof import eccr, export
from crp_mcp.proof.chain import EMPTY_CHAIN, Checkpoint, Head, Record, link, make_checkpoint
from tests.proof.support import NOW, RING, SIGN, item, receipt

SESSIONS = ("alpha", 'b"e\\t\u00e4')


@dataclass(slots=True)
class Chain:
    records: list[Record] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    receipts: list[eccr.Receipt] = field(default_factory=list)

    @property
    def head(self) -> Head:
        return self.records[-1].head if self.records else EMPTY_CHAIN

    def add(self, event: str = "TOOL_CALL", session: str = SESSIONS[0], **data: Any) -> Record:
        record = link(
            self.head,
            event_type=event,
            timestamp=NOW + len(self.records) + 0.125,
            session_id=session,
            turn_id=None if len(self.records) % 3 else len(self.records),
            data=data,
            mac_key=RING.mac_key(session),
        )
        self.records.append(record)
        return record

    def seal(self) -> None:
        self.checkpoints.append(make_checkpoint(self.head, time=NOW, **SIGN))

    @property
    def seals(self) -> list[bytes]:
        return [mark.body for mark in self.checkpoints]

    def lines(self, **more: Any) -> list[bytes]:
        """The export of this chain, without the checkpoint an export makes of its own."""
        return list(self.stream(**more))

    def stream(self, **more: Any) -> Iterator[bytes]:
        """The same, a line at a time."""
        content: dict[str, Any] = {
            "head": self.head,
            "records": self.records,
            "checkpoints": self.checkpoints,
            "receipts": [export.ExportedReceipt(found.body, found.leaves) for found in self.receipts],
            "public_keys": RING.public_keys(),
            "at": NOW,
            **SIGN,
        }
        return export.export_lines(**{**content, **more})


def chain(length: int = 35, *, every: int = 10) -> Chain:
    """A chain in which every fifth record issues a receipt, sealed every `every` records (0: never)."""
    made = Chain()
    for number in range(1, length + 1):
        session = SESSIONS[number % 2]
        if number % 5:
            made.add(session=session, tool_name=f"db:query {number}", nested={"event_type": "X", "prev": ""})
        else:
            made.receipts.append(receipt(item(number), item(number + 1, "CONFIDENTIAL")))
            made.add("RECEIPT_ISSUED", session, **eccr.event_data(made.receipts[-1]))
        if every and number % every == 0:
            made.seal()
    return made
