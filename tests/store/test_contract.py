"""What every store promises: captures, ids, names, lists, summaries, counters, receipts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crp_mcp.core.model import Entry, Kind, Persistence, Scope, ToolClass, Volatility
from crp_mcp.errors import BadRequest, NotFound
from crp_mcp.proof.chain_verify import Verdict, verify_chain
from crp_mcp.store import Filters, Head, Leaf, Sealed, SealedReceipt, SqliteStore, Store, Stub, open_store
from tests.store.support import MAC_KEY, NOW, SALT, SCOPE, capture, draft, noted, records, seal

EVENING = Scope(SCOPE.tenant, SCOPE.project, "evening")
ELSEWHERE = Scope(SCOPE.tenant, "/srv/other", SCOPE.conversation)
STRANGER = Scope("acme", SCOPE.project, SCOPE.conversation)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with open_store(tmp_path / "store") as opened:
        yield opened


def entry_of(store: SqliteStore, reference: str, scope: Scope = SCOPE) -> Entry:
    found = store.get(scope, reference)
    assert isinstance(found, Entry)
    return found


def test_a_capture_comes_back_as_it_went_in(store: SqliteStore) -> None:
    """Every member of an entry survives, odd arguments included."""
    given = draft(
        tool_call_args={"big": 2**80, "lone": "\ud800", "nested": [None, True, {"x": 1.5}]},
        raw_token_count=12,
        summary="3 rows",
        structured={"kind": "tabular", "columns": ["a"]},
        freshness_ttl=300,
        kind=Kind.TABULAR,
        tool_class=ToolClass.SQL,
        volatility=Volatility.STABLE,
        label="CONFIDENTIAL",
        is_error=True,
        rows=3,
        rows_total=30,
        partial=True,
        inline=True,
        turn_id=4,
        stream_id="s1",
        supersedes="scratch_sql_000",
        form="result",
        origin="query",
    )
    entry = store.commit_capture(given, store.write_payload(b"abc"), seal)
    assert entry_of(store, entry.scratch_id) == entry
    assert entry.provenance_hash == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert (entry.payload_bytes, entry.receipt is not None, entry.referenced_by) == (3, True, ())


def test_the_store_fulfils_its_protocol(store: SqliteStore) -> None:
    """The SQLite store is a Store, method by method."""
    port: Store = store
    assert all(hasattr(port, name) for name in vars(Store) if not name.startswith("_"))


def test_ids_count_up_for_each_tenant_and_are_never_used_twice(store: SqliteStore) -> None:
    """Slugs share one counter; reserved ids leave gaps; removing the newest entry frees nothing."""
    first = capture(store)
    reserved = store.reserve_id("local", "API call!")
    second = capture(store, slug="file")
    other = capture(store, scope=STRANGER)
    store.remove(SCOPE, second.scratch_id, noted("EVICTED"), why="evicted", at=NOW, erase=False)
    third = capture(store)
    ids = [first.scratch_id, reserved, second.scratch_id, other.scratch_id, third.scratch_id]
    assert ids == ["scratch_sql_001", "scratch_apicall_002", "scratch_file_003", "scratch_sql_001", "scratch_sql_004"]


def test_a_reserved_id_is_used(store: SqliteStore) -> None:
    """An id taken beforehand, so that a summary can name it, is the entry's id."""
    reserved = store.reserve_id("local", "sql")
    assert capture(store, scratch_id=reserved).scratch_id == reserved


def test_a_summary_can_be_made_while_sealing(store: SqliteStore) -> None:
    """The seal callback may hand back a summary that names the id it was just told."""

    def sealing(head: Head, entry: Entry) -> Sealed:
        done = seal(head, entry)
        return Sealed(done.records, done.receipt, summary=f"see {entry.scratch_id}", sent_tokens=4)

    entry = store.commit_capture(draft(raw_token_count=100), store.write_payload(b"x"), sealing)
    assert entry_of(store, entry.scratch_id).summary == f"see {entry.scratch_id}"
    assert store.counters(SCOPE).tokens_saved == 96


def test_an_id_resolves_within_tenant_and_project_only(store: SqliteStore) -> None:
    """Access is tenant and project: any conversation of them sees it, no other project or tenant does."""
    entry = capture(store)
    assert entry_of(store, entry.scratch_id, EVENING) == entry
    for scope in (ELSEWHERE, STRANGER):
        with pytest.raises(NotFound):
            store.get(scope, entry.scratch_id)


@pytest.mark.parametrize(
    "reference", ["scratch_sql_1", "scratch_api_001", "scratch_sql_0001", "", "x", "scratch_sql_٣٣٣"]
)
def test_what_only_looks_like_an_id_is_not_found(store: SqliteStore, reference: str) -> None:
    """An id matches letter by letter or not at all."""
    capture(store)
    with pytest.raises(NotFound):
        store.get(SCOPE, reference)


def test_text_that_is_no_text_is_a_bad_request(store: SqliteStore) -> None:
    """A lone surrogate where it cannot be kept is the caller's mistake, not a crash; the store goes on."""
    capture(store)
    with pytest.raises(BadRequest):
        store.get(SCOPE, "\ud800")
    with pytest.raises(BadRequest):
        capture(store, scope=Scope("local", "\udfff", "x"))
    with pytest.raises(BadRequest):
        capture(store, tool_name="\ud800")
    assert capture(store).scratch_id == "scratch_sql_002"


def test_nothing_is_stored_when_sealing_fails(store: SqliteStore) -> None:
    """Entry, payload, records and receipt stand or fall together."""

    def failing(head: Head, entry: Entry) -> Sealed:
        raise RuntimeError("no key")

    with pytest.raises(RuntimeError):
        store.commit_capture(draft(), store.write_payload(b"x" * 5_000), failing)
    stats = store.stats()
    assert (stats.counters.entries, stats.records, stats.receipts, store.list(SCOPE).entries) == (0, 0, 0, ())


def test_a_record_out_of_order_is_refused(store: SqliteStore) -> None:
    """The store takes only the record that follows its head, so a chain cannot fork."""
    capture(store)
    stale = records(Head(), "TOOL_CALL")
    with pytest.raises(ValueError, match="does not follow"):
        store.append(lambda head: Sealed(stale), lambda db: None)
    assert store.head().seq == 2


def test_the_store_must_not_be_called_while_sealing(store: SqliteStore) -> None:
    """A seal callback that writes is a programmer's mistake, and says so."""

    def writing(head: Head, entry: Entry) -> Sealed:
        store.reserve_id("local", "sql")
        return Sealed()

    with pytest.raises(RuntimeError, match="inside one of its own"):
        store.commit_capture(draft(), store.write_payload(b"x"), writing)


def test_records_come_back_as_one_verifiable_chain(store: SqliteStore) -> None:
    """Captures, pins and appends link into one chain that verifies over the stored bytes."""
    entry = capture(store)
    store.pin(SCOPE, entry.scratch_id, noted("PINNED"), name="sales")
    store.append(lambda head: Sealed(records(head, "POLICY_CHANGED")), lambda db: None)
    verdict = verify_chain(store.records(), mac_keys=lambda _: [MAC_KEY], expected_head=store.head())
    assert (verdict.faults, verdict.records, verdict.verdict in (Verdict.VALID, Verdict.PARTIAL)) == ((), 4, True)
    assert [record.seq for record in store.records(3)] == [3, 4]


def test_a_change_and_its_record_stand_or_fall_together(store: SqliteStore) -> None:
    """If the change fails, nothing is recorded; its result is handed back otherwise."""
    with pytest.raises(ZeroDivisionError):
        store.append(lambda head: Sealed(records(head, "EVICTED")), lambda db: 1 // 0)
    assert store.head().seq == 0
    assert store.append(lambda head: Sealed(records(head, "EVICTED")), lambda db: "done") == "done"
    assert store.head().seq == 1


def test_lists_are_newest_first_and_page_without_gaps(store: SqliteStore) -> None:
    """A cursor is not disturbed by captures made meanwhile, and ends with None."""
    ids = [capture(store).scratch_id for _ in range(7)]
    page = store.list(SCOPE, limit=3)
    seen = [entry.scratch_id for entry in page.entries]
    capture(store)
    while page.cursor:
        page = store.list(SCOPE, cursor=page.cursor, limit=3)
        seen += [entry.scratch_id for entry in page.entries]
    assert seen == ids[::-1]


def test_a_list_is_of_one_conversation_unless_asked_for_more(store: SqliteStore) -> None:
    """Reference is the conversation; the project and the whole store have to be asked for."""
    for scope in (SCOPE, EVENING, ELSEWHERE, STRANGER):
        capture(store, scope=scope)
    sizes = {within: len(store.list(SCOPE, within=within).entries) for within in ("conversation", "project", "store")}
    assert sizes == {"conversation": 1, "project": 2, "store": 4}
    assert len(store.list(None, within="store").entries) == 4
    assert store.list(Scope("local", "/never", "x")).entries == ()


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(kind=Kind.ERROR), [2]),
        (Filters(tool="read"), [3, 2]),
        (Filters(tool_class=ToolClass.FILE), [3]),
        (Filters(pinned=True), [1]),
        (Filters(pinned=False), [4, 3, 2]),
        (Filters(stream_id="s"), [4, 3]),
        (Filters(origin="query"), [4]),
        (Filters(since=NOW + 2), [3, 2]),
        (Filters(until=NOW + 2), [4, 1]),
        (Filters(since=NOW + 1, until=NOW + 3, kind=Kind.TEXT), [1]),
        (Filters(tool="read", tool_class=ToolClass.FILE, kind=Kind.TEXT, stream_id="s"), [3]),
        (Filters(pinned=True, kind=Kind.ERROR), []),
    ],
)
def test_filters_choose(store: SqliteStore, filters: Filters, expected: list[int]) -> None:
    """Each filter asks one thing, and all of them together."""
    capture(store, created_at=NOW + 1)
    capture(store, created_at=NOW + 2, kind=Kind.ERROR, tool_name="read")
    capture(store, created_at=NOW + 3, tool_name="read", tool_class=ToolClass.FILE, stream_id="s")
    capture(store, created_at=NOW, stream_id="s", origin="query")
    store.pin(SCOPE, "scratch_sql_001", noted("PINNED"))
    found = [int(entry.scratch_id[-3:]) for entry in store.list(SCOPE, filters=filters).entries]
    assert found == expected
    paged = [store.list(SCOPE, filters=filters, limit=1).entries]
    assert [int(entry.scratch_id[-3:]) for page in paged for entry in page] == expected[:1]


@pytest.mark.parametrize("bad", ["", "7", "s", "s-1", "sx", "s" + "9" * 30, "s²"])
def test_a_cursor_that_is_not_ours_is_refused(store: SqliteStore, bad: str) -> None:
    """A made-up cursor is the caller's mistake, never an empty page."""
    with pytest.raises(BadRequest):
        store.list(SCOPE, cursor=bad)


def test_a_list_needs_a_sensible_limit_and_range(store: SqliteStore) -> None:
    """A limit under one and an unknown range are refused."""
    with pytest.raises(BadRequest):
        store.list(SCOPE, limit=0)
    with pytest.raises(BadRequest):
        store.list(SCOPE, within="planet")


def test_latest_is_the_last_captured_of_its_sort(store: SqliteStore) -> None:
    """Capture order decides, not the clock; derived entries are never latest; nothing is None."""
    capture(store, created_at=NOW + 100, kind=Kind.ERROR)
    second = capture(store, created_at=NOW)
    capture(store, created_at=NOW + 200, origin="query")
    newest = store.latest(SCOPE)
    error = store.latest(SCOPE, filters=Filters(kind=Kind.ERROR))
    assert newest is not None
    assert error is not None
    assert (newest.scratch_id, error.scratch_id) == (second.scratch_id, "scratch_sql_001")
    assert store.latest(EVENING) is None


def test_lists_leave_out_what_is_wide(store: SqliteStore) -> None:
    """The parsed structure is not in a list; `get` has it."""
    entry = capture(store, structured={"rows": 3})
    assert store.list(SCOPE).entries[0].structured is None
    assert entry_of(store, entry.scratch_id).structured == {"rows": 3}


def test_the_first_summary_stays(store: SqliteStore) -> None:
    """A summary once sent never changes, and its receipt replaces the one of the capture."""
    entry = capture(store, raw_token_count=50, inline=True)
    assert entry.receipt is not None

    def resealing(head: Head, seen: Entry) -> Sealed:
        assert seen.summary == "short"
        return Sealed(records(head, "RECEIPT_ISSUED"), SealedReceipt("sha256:new", b"{}", (), entry.receipt))

    done = store.set_summary(SCOPE, entry.scratch_id, "short", 3, resealing)
    again = store.set_summary(SCOPE, entry.scratch_id, "other", 9, resealing)
    assert (done.summary, done.receipt, again) == ("short", "sha256:new", done)
    assert store.receipt(SCOPE, "sha256:new").supersedes == entry.receipt
    assert store.head().seq == 3


def test_a_token_count_is_filled_in_once(store: SqliteStore) -> None:
    """The exact count may follow the answer; it then counts in the totals, and stays."""
    entry = capture(store, sent_tokens=10)
    assert store.counters(SCOPE).tokens_saved == 0
    store.set_token_count(SCOPE, entry.scratch_id, 400)
    store.set_token_count(SCOPE, entry.scratch_id, 9)
    assert entry_of(store, entry.scratch_id).raw_token_count == 400
    assert (store.counters(SCOPE).raw_tokens, store.counters(SCOPE).tokens_saved) == (400, 390)


def test_a_pinned_name_finds_its_entry(store: SqliteStore) -> None:
    """A name works like an id within tenant and project, until it is unpinned."""
    entry = capture(store)
    pinned = store.pin(SCOPE, entry.scratch_id, noted("PINNED"), name="Q3 sales", expires_at=int(NOW) + 10**8).entry
    assert (pinned.persistence, pinned.expires_at) == (Persistence.PINNED, int(NOW) + 10**8)
    assert entry_of(store, "Q3 sales", EVENING) == pinned
    with pytest.raises(NotFound):
        store.get(ELSEWHERE, "Q3 sales")
    assert store.unpin(SCOPE, "Q3 sales", noted("UNPINNED")).name is None
    with pytest.raises(NotFound):
        store.get(SCOPE, "Q3 sales")


def test_pinning_again_without_a_name_keeps_it_and_never_shortens_life(store: SqliteStore) -> None:
    """A second pin changes only what it says."""
    entry = capture(store)
    store.pin(SCOPE, entry.scratch_id, noted("PINNED"), name="kept", expires_at=int(NOW) + 10**8)
    again = store.pin(SCOPE, "kept", noted("PINNED"), expires_at=5)
    assert (again.entry.name, again.entry.expires_at, again.taken_from) == ("kept", int(NOW) + 10**8, None)


def test_a_name_moves_and_the_move_is_reported(store: SqliteStore) -> None:
    """The entry that had the name is named, and stays pinned."""
    old, new = capture(store), capture(store)
    store.pin(SCOPE, old.scratch_id, noted("PINNED"), name="sales")
    moved = store.pin(SCOPE, new.scratch_id, noted("PINNED"), name="sales")
    left = entry_of(store, old.scratch_id)
    assert (moved.taken_from, left.name, left.persistence) == (old.scratch_id, None, Persistence.PINNED)
    assert entry_of(store, "sales").scratch_id == new.scratch_id


@pytest.mark.parametrize("name", ["", "  ", "scratch_sql_001", "x" * 201, "\ud800", "Latest", "sqlite_master"])
def test_a_name_cannot_pass_for_an_id(store: SqliteStore, name: str) -> None:
    """A name that is empty, an id, endless, not Unicode or one of SQL's own is refused, and nothing is pinned."""
    entry = capture(store)
    with pytest.raises(BadRequest):
        store.pin(SCOPE, entry.scratch_id, noted("PINNED"), name=name)
    assert store.counters(SCOPE).pinned == 0


def test_unpinning_what_is_not_pinned_records_nothing(store: SqliteStore) -> None:
    """Without a pin there is nothing to undo."""
    entry = capture(store)
    assert store.unpin(SCOPE, entry.scratch_id, noted("UNPINNED")) == entry
    assert store.head().seq == 2


def test_a_removed_entry_leaves_a_stub(store: SqliteStore) -> None:
    """An evicted entry still answers what it was, by id and by name, and how to get it again."""
    entry = capture(store, summary="3 rows", rows=3, kind=Kind.TABULAR)
    store.pin(SCOPE, entry.scratch_id, noted("PINNED"), name="sales")
    stub = store.remove(SCOPE, "sales", noted("EVICTED"), why="evicted", at=NOW + 9, erase=False)
    assert store.get(EVENING, entry.scratch_id) == store.get(SCOPE, "sales") == stub
    assert (stub.why, stub.gone_at, stub.rows, stub.summary) == ("evicted", NOW + 9, 3, "3 rows")
    assert (stub.tool_call_args, stub.provenance_hash) == ({"sql": "SELECT 1"}, entry.provenance_hash)
    with pytest.raises(NotFound, match="gone"):
        store.pin(SCOPE, entry.scratch_id, noted("PINNED"))
    with pytest.raises(NotFound, match="gone"):
        store.read(entry.payload_id, 0, 1)


def test_a_purged_entry_leaves_no_content(store: SqliteStore) -> None:
    """The stub of a purge has neither arguments, hash, name nor summary."""
    entry = capture(store, summary="3 rows")
    store.pin(SCOPE, entry.scratch_id, noted("PINNED"), name="sales")
    stub = store.remove(SCOPE, entry.scratch_id, noted("TOMBSTONED"), why="purged", at=NOW, erase=True)
    assert isinstance(store.get(SCOPE, entry.scratch_id), Stub)
    assert (stub.tool_call_args, stub.provenance_hash, stub.name, stub.summary) == (None, None, None, None)


def test_counters_agree_with_what_is_there(store: SqliteStore) -> None:
    """Totals of a conversation and of the store follow every capture, pin, count and removal."""
    capture(store, b"x" * 10, raw_token_count=100, sent_tokens=30)
    capture(store, b"y" * 20, raw_token_count=5, sent_tokens=5, inline=True)
    capture(store, b"z" * 40, scope=EVENING, raw_token_count=7, sent_tokens=9)
    store.pin(SCOPE, "scratch_sql_002", noted("PINNED"))
    mine, everything = store.counters(SCOPE), store.counters(None)
    assert (mine.entries, mine.pinned, mine.payload_bytes, mine.raw_tokens, mine.tokens_saved) == (2, 1, 30, 105, 70)
    assert (everything.entries, everything.payload_bytes, everything.tokens_saved) == (3, 70, 70)
    store.remove(SCOPE, "scratch_sql_001", noted("EVICTED"), why="evicted", at=NOW, erase=False)
    store.unpin(SCOPE, "scratch_sql_002", noted("UNPINNED"))
    mine, everything = store.counters(SCOPE), store.counters(None)
    assert (mine.entries, mine.pinned, mine.stored_bytes, mine.tokens_saved) == (1, 0, 20, 0)
    assert (everything.entries, everything.stored_bytes) == (2, 60)
    assert store.counters(STRANGER).entries == 0


def test_receipts_keep_their_bytes_and_leaves(store: SqliteStore) -> None:
    """A receipt comes back byte for byte, within its tenant and project."""
    entry = capture(store)
    assert entry.receipt is not None
    made = seal(Head(), entry).receipt
    assert made is not None
    stored = store.receipt(EVENING, entry.receipt)
    assert (stored.body, stored.leaves) == (made.body, tuple(leaf.body for leaf in made.leaves))
    assert store.receipt(None, entry.receipt) == stored
    for scope in (ELSEWHERE, STRANGER):
        with pytest.raises(NotFound):
            store.receipt(scope, entry.receipt)


def test_receipts_built_on_an_item_are_found(store: SqliteStore) -> None:
    """What a purge must invalidate: the item's own receipt and every one it is a source of."""
    base = capture(store)

    def joining(head: Head, entry: Entry) -> Sealed:
        leaves = (Leaf(b"a", base.scratch_id), Leaf(b"b", "turn:4"))
        return Sealed((), SealedReceipt("sha256:joined", b"{}", leaves))

    derived = store.commit_capture(draft(origin="query"), store.write_payload(b"x"), joining)
    assert store.receipts_on(SCOPE, base.scratch_id) == (base.receipt, "sha256:joined")
    assert store.receipts_on(SCOPE, "turn:4") == store.receipts_on(SCOPE, derived.scratch_id) == ("sha256:joined",)
    assert store.receipt(SCOPE, "sha256:joined").leaves == (b"a", b"b")
    assert store.receipts_on(STRANGER, base.scratch_id) == ()


def test_checkpoints_are_kept_in_order(store: SqliteStore) -> None:
    """Signed heads come back as they were given."""
    store.add_checkpoint(9, b"nine", NOW)
    store.add_checkpoint(2, b"two", NOW + 1)
    assert [(mark.seq, mark.body) for mark in store.checkpoints()] == [(2, b"two"), (9, b"nine")]


def test_conversations_are_found_by_their_host(store: SqliteStore) -> None:
    """The one this host used last, if that was recently enough, and never another project's."""
    store.touch_conversation(SCOPE, "host-1", NOW)
    store.touch_conversation(EVENING, "host-1", NOW + 50)
    store.touch_conversation(ELSEWHERE, "host-2", NOW + 60)
    find = store.conversation_of
    assert find("local", SCOPE.project, "host-1", since=NOW) == "evening"
    assert find("local", SCOPE.project, "host-1", since=NOW + 51) is None
    assert find("local", SCOPE.project, "host-2", since=NOW) is None
    capture(store, created_at=NOW + 70)
    assert find("local", SCOPE.project, "host-1", since=NOW + 51) == "morning"
    known = store.conversations(SCOPE)
    assert [(seen.scope.conversation, seen.last_used_at) for seen in known] == [
        ("morning", NOW + 70),
        ("evening", NOW + 50),
    ]
    assert known[0].counters.entries == 1
    assert len(store.conversations()) == 3
    assert store.spaces() == [Scope("local", "/srv/other"), Scope("local", "/srv/shop")]


def test_expired_entries_come_longest_expired_first(store: SqliteStore) -> None:
    """A retention epoch that is reached has passed; one that was never set (0) has not."""
    for number, expires in enumerate((300, 100, 200, 0), start=1):
        entry = draft(expires_at=expires)
        store.commit_capture(entry, store.write_payload(b"%d" % number), noted("TOOL_CALL"))
    assert [entry.expires_at for entry in store.expired(200.0)] == [100, 200]
    assert [entry.expires_at for entry in store.expired(1e9, limit=1)] == [100]


def test_turns_that_used_an_entry_are_sorted_and_distinct(store: SqliteStore) -> None:
    """`referenced_by` holds each turn once, in order, however often and in whatever way it was used."""
    entry = capture(store)
    rows = [(1, 9, "resolved", NOW), (1, 2, "injected", NOW), (1, 9, "cited", NOW)]
    store.append(
        lambda head: Sealed(),
        lambda db: (
            db.executemany("INSERT INTO reference (entry_seq, turn, how, at) VALUES (?, ?, ?, ?)", rows) and None
        ),
    )
    assert entry_of(store, entry.scratch_id).referenced_by == store.list(SCOPE).entries[0].referenced_by == (2, 9)


def test_the_salt_is_kept_with_the_entry(store: SqliteStore) -> None:
    """Later records about the entry need the salt its digests were made with."""
    entry = capture(store)
    assert store.salt(SCOPE, entry.scratch_id) == SALT
    with pytest.raises(NotFound):
        store.salt(STRANGER, entry.scratch_id)


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    """Ids, names, bytes, chain and counters survive; ids go on where they were."""
    with open_store(tmp_path / "store") as store:
        entries = [capture(store, b"%d" % number * 1_000) for number in range(5)]
        store.pin(SCOPE, "scratch_sql_003", noted("PINNED"), name="three")
        head = store.head()
    with open_store(tmp_path / "store", create=False) as store:
        assert [store.get(SCOPE, entry.scratch_id) for entry in entries[:2]] == entries[:2]
        assert [store.read(entry.payload_id, 0, 10**6) for entry in entries] == [b"%d" % n * 1_000 for n in range(5)]
        assert entry_of(store, "three").scratch_id == "scratch_sql_003"
        assert (store.head(), store.counters(None).entries) == (head, 5)
        assert capture(store).scratch_id == "scratch_sql_006"
