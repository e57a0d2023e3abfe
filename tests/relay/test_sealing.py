"""The chain as captures leave it: checkpoints when they are due, and everything built on others sealed as such."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.core.model import Entry, Volatility
from crp_mcp.errors import Rejected
from crp_mcp.proof.chain import read_checkpoint
from crp_mcp.proof.eccr import Item
from crp_mcp.relay.choosing import Selection
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


def receipt_in_force(at: Bench, name: str) -> dict[str, Any]:
    entry = at.engine.reader.entry(at.scope, name)
    stored = at.engine.store.receipt(at.scope, str(entry.receipt))
    at.engine.receipts.verify(stored.body, scope=at.scope, leaves=stored.leaves)
    return {**json.loads(stored.body), "leaves": [json.loads(leaf) for leaf in stored.leaves]}


def test_a_pin_lengthens_the_life_and_says_so_in_a_receipt(at: Bench) -> None:
    """365 days instead of 30; the receipt supersedes the first one. A shorter declared retention holds."""
    made = at.capture(text_result("x")).entry
    at.tool("scratch_pin", scratch_id=made.scratch_id)
    found = receipt_in_force(at, made.scratch_id)
    until = int(made.created_at) + 365 * 86_400
    assert (found["retention_purge_epoch"], found["supersedes"]) == (until, made.receipt)
    assert [leaf["expires_at"] for leaf in found["leaves"]] == [until]
    assert at.engine.reader.entry(at.scope, made.scratch_id).expires_at == until
    assert at.engine.auditor.verify().faults == ()


def test_a_fact_has_a_receipt_over_its_source_and_goes_with_it(at: Bench) -> None:
    """Promotion is a compaction: same label, same epoch; purging the source ends the fact and its receipt."""
    lasting = {"volatility": Volatility.STATIC, "ttl": None, "sensitivity": "CONFIDENTIAL"}
    made = at.capture(text_result("the office is in Bergen"), policy=lasting).entry
    assert not at.tool("scratch_pin", scratch_id=made.scratch_id, promote=True)["isError"]
    issued = [json.loads(record.body)["data"] for record in at.engine.store.records()][-1]
    stored = at.engine.store.receipt(at.scope, issued["receipt"])
    at.engine.receipts.verify(stored.body, scope=at.scope, leaves=stored.leaves)
    assert json.loads(stored.body)["inherited_sensitivity_ceiling"] == "CONFIDENTIAL"
    plan = at.engine.eraser.plan(Selection(ids=(made.scratch_id,)))
    at.engine.eraser.carry_out(plan, reason="purge")
    assert at.engine.tools.life.facts.search(at.scope, "Bergen") == []
    with pytest.raises(Rejected) as refused:
        at.engine.receipts.verify(stored.body, scope=at.scope)
    assert refused.value.code == "TOMBSTONED"


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
