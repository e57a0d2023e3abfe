"""The chain as captures leave it: checkpoints when they are due, and everything built on others sealed as such."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crp_mcp.core.model import Entry
from crp_mcp.proof.chain import read_checkpoint
from crp_mcp.proof.eccr import Item
from crp_mcp.relay.sealing import Source, item_of
from crp_mcp.store import Head, Sealed
from tests.relay.support import Bench, bench, text_result


def marks(at: Bench) -> list[int]:
    ring = at.engine.keyring
    found = [
        read_checkpoint(m.body, keys=ring.own, verify_signature=ring.verify) for m in at.engine.store.checkpoints()
    ]
    return [mark.seq for mark in found]


def test_a_checkpoint_is_signed_every_thousand_records_in_the_captures_own_transaction(at: Bench) -> None:
    """Captures add two records each; the mark stands at the thousandth, whoever writes it."""
    for _ in range(502):
        at.engine.store.append(lambda head: note(at, head), lambda db: None, at.scope)
        at.engine.store.append(lambda head: note(at, head), lambda db: None, at.scope)
    assert marks(at) == [1_000]
    assert at.engine.auditor.verify().chain.sealed == 1_000


def note(at: Bench, head: Head) -> Sealed:
    return at.engine.reader.sealer.note(head, at.scope, "POLICY_CHANGED", {}, at.clock())


def test_the_head_is_sealed_when_a_process_that_wrote_ends(tmp_path: Path) -> None:
    """One that only read adds nothing."""
    with bench(tmp_path) as at:
        at.capture(text_result("x"))
    for _ in range(2):
        with bench(tmp_path) as at:
            assert marks(at) == [2]
            at.tool("scratch_list")


def test_a_derived_entry_below_its_sources_is_not_sealed(at: Bench) -> None:
    """Neither a lower label nor a longer life can be signed by mistake."""
    made = at.capture(text_result("x")).entry
    item = item_of(made, at.engine.store.salt(at.scope, made.scratch_id))
    above = Source("scratch_x_001", Item(item.digest, "RESTRICTED", item.expires_at))
    shorter = Source("scratch_x_001", Item(item.digest, item.sensitivity, item.expires_at - 1))
    for source in (above, shorter):
        with pytest.raises(ValueError, match="below its sources"):
            derive(at, made, [source])
    sealed = derive(at, made, [Source("scratch_x_001", item)])
    assert [json.loads(record.body)["event_type"] for record in sealed.records] == ["TOOL_CALL", "RECEIPT_ISSUED"]


def derive(at: Bench, entry: Entry, sources: list[Source]) -> Sealed:
    sealer = at.engine.reader.sealer
    return sealer.derived(Head(0, ""), entry, salt=bytes(16), arguments=b"{}", sources=sources, sent=None)
