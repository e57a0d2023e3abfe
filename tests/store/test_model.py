"""The store against a dictionary: any sequence of captures, pins, removals and restarts leaves both the same."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from crp_mcp.core.model import Entry, Kind, Persistence, Scope
from crp_mcp.errors import NotFound
from crp_mcp.proof.chain_verify import verify_chain
from crp_mcp.store import Filters, Stub, open_store
from tests.store.support import MAC_KEY, NOW, capture, noted

SCOPES = [Scope("local", "/a", "one"), Scope("local", "/a", "two"), Scope("acme", "/a", "one")]
NAMES = ["sales", "costs"]


@dataclass
class Known:
    scope: Scope
    payload_id: int
    data: bytes
    kind: Kind
    tokens: int
    name: str | None = None
    pinned: bool = False
    gone: bool = False


class StoreMachine(RuleBasedStateMachine):
    """`known` is what must be true: scratch_id by (tenant, id)."""

    ids = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.store = open_store(self.folder)
        self.known: dict[tuple[str, str], Known] = {}

    def teardown(self) -> None:
        verdict = verify_chain(self.store.records(), mac_keys=lambda _: [MAC_KEY], expected_head=self.store.head())
        self.store.close()
        shutil.rmtree(self.folder)
        assert verdict.faults == ()

    @rule(
        target=ids,
        scope=st.sampled_from(SCOPES),
        data=st.binary(max_size=40) | st.integers(2_000, 600_000).map(lambda size: b"row," * (size // 4)),
        kind=st.sampled_from([Kind.TEXT, Kind.ERROR]),
        tokens=st.integers(0, 50),
    )
    def capture(self, scope: Scope, data: bytes, kind: Kind, tokens: int) -> tuple[str, str]:
        entry = capture(self.store, data, scope=scope, kind=kind, raw_token_count=tokens, sent_tokens=20)
        key = scope.tenant, entry.scratch_id
        assert key not in self.known
        self.known[key] = Known(scope, entry.payload_id, data, kind, tokens)
        return key

    @rule(key=ids, name=st.sampled_from([None, *NAMES]))
    def pin(self, key: tuple[str, str], name: str | None) -> None:
        known = self.known[key]
        if known.gone:
            return
        holders = [
            (other, it)
            for other, it in self.known.items()
            if it.name == name and other[0] == key[0] and it is not known and not it.gone
        ]
        pinned = self.store.pin(known.scope, key[1], noted("PINNED"), name=name)
        assert pinned.taken_from == (holders[0][0][1] if name and holders else None)
        if name:
            for _, holder in holders:
                holder.name = None
            known.name = name
        known.pinned = True

    @rule(key=ids)
    def unpin(self, key: tuple[str, str]) -> None:
        known = self.known[key]
        if not known.gone:
            self.store.unpin(known.scope, key[1], noted("UNPINNED"))
            known.name, known.pinned = None, False

    @rule(key=ids, erase=st.booleans())
    def remove(self, key: tuple[str, str], erase: bool) -> None:
        known = self.known[key]
        if not known.gone:
            why = "purged" if erase else "evicted"
            self.store.remove(known.scope, key[1], noted("EVICTED"), why=why, at=NOW, erase=erase)
            known.gone, known.pinned, known.name = True, False, None

    @rule()
    def sweep(self) -> None:
        self.store.sweep_uploads()
        self.store.shrink(5)

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = open_store(self.folder, create=False)

    @rule(key=ids)
    def resolve(self, key: tuple[str, str]) -> None:
        known = self.known[key]
        found = self.store.get(known.scope, key[1])
        if known.gone:
            assert isinstance(found, Stub)
            return
        assert isinstance(found, Entry)
        expected = (known.payload_id, known.kind, known.name, known.pinned)
        assert expected == (found.payload_id, found.kind, found.name, found.persistence is Persistence.PINNED)
        assert b"".join(self.store.iter_payload(found.payload_id)) == known.data

    @rule(scope=st.sampled_from(SCOPES), name=st.sampled_from(NAMES))
    def by_name(self, scope: Scope, name: str) -> None:
        holder = [key[1] for key, it in self.known.items() if it.name == name and key[0] == scope.tenant]
        try:
            found = self.store.get(scope, name)
        except NotFound:
            assert holder == []
            return
        if holder:
            assert isinstance(found, Entry)
            assert found.scratch_id == holder[0]
        else:
            assert isinstance(found, Stub)

    @invariant()
    def lists_and_counters_agree(self) -> None:
        for scope in SCOPES:
            living = [(key[1], it) for key, it in self.known.items() if it.scope == scope and not it.gone]
            newest_first = [scratch_id for scratch_id, _ in reversed(living)]
            assert [entry.scratch_id for entry in self.store.list(scope, limit=500).entries] == newest_first
            errors = self.store.list(scope, filters=Filters(kind=Kind.ERROR), limit=500).entries
            assert len(errors) == sum(it.kind is Kind.ERROR for _, it in living)
            counted = self.store.counters(scope)
            assert counted.entries == len(living)
            assert counted.pinned == sum(it.pinned for _, it in living)
            assert counted.payload_bytes == sum(len(it.data) for _, it in living)
            assert counted.tokens_saved == sum(max(0, it.tokens - 20) for _, it in living)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(
    max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
