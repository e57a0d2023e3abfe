"""The audit chain: what was tampered with is found, and located."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.proof.canonical import canonicalize
from crp_mcp.proof.chain import (
    EMPTY_CHAIN,
    Head,
    Record,
    link,
    make_checkpoint,
    rfc3339,
    salted_digest,
    salted_hash,
)
from crp_mcp.proof.chain_verify import MAX_FAULTS, ChainVerdict, FaultKind, Verdict, verify_chain
from tests.proof.chains import SESSIONS, Chain, chain
from tests.proof.support import NOW, OTHER, RING, SIGN, TRUST

Rows = list[Record]


def insider(rows: Any, made: Chain, **more: Any) -> ChainVerdict:
    """Verify as one who holds the secret."""
    return verify_chain(rows, checkpoints=made.seals, **{**TRUST, "mac_keys": RING.mac_keys, **more})


def outsider(rows: Any, made: Chain, **more: Any) -> ChainVerdict:
    """Verify with public keys alone."""
    return verify_chain(rows, checkpoints=made.seals, **{**TRUST, **more})


def places(found: ChainVerdict) -> list[tuple[str, int, int]]:
    return [(fault.kind.value, fault.first, fault.last) for fault in found.faults]


def rewritten(rows: Rows, seq: int, **changes: Any) -> Rows:
    """History rewritten from `seq` on by one who can hash but has no key: everything is linked again, MACs stay."""
    new = rows[: seq - 1]
    for row in rows[seq - 1 :]:
        document = {**json.loads(row.body), "prev": new[-1].hash if new else ""}
        if row.seq == seq:
            document.update(changes)
        body = canonicalize(document)
        new.append(Record(row.seq, body, "sha256:" + sha256(body).hexdigest(), row.mac))
    return new


def test_record_is_canonical_linked_and_authenticated() -> None:
    """Members, hash, link and MAC are those of the specification."""
    made = chain(2)
    first, second = made.records
    document = json.loads(second.body)
    assert set(document) == {"v", "seq", "event_type", "timestamp", "session_id", "turn_id", "data", "prev"}
    assert canonicalize(document) == second.body
    assert document["prev"] == first.hash == "sha256:" + sha256(first.body).hexdigest()
    assert json.loads(first.body)["prev"] == ""
    key = RING.mac_key(SESSIONS[0])
    assert second.mac == hmac.new(key, second.body, "sha256").hexdigest()
    assert document["timestamp"] == rfc3339(NOW + 1.125) == "2026-11-03T00:00:01.125Z"


def test_untouched_chain_is_valid_for_both() -> None:
    """The insider needs no checkpoint; the outsider is told where the sealed part ends."""
    made = chain(35)
    assert insider(made.records, made).verdict is Verdict.VALID
    found = outsider(made.records, made)
    assert (found.verdict, found.sealed, found.head) == (Verdict.PARTIAL, 30, made.head)
    made.seal()
    assert outsider(made.records, made, expected_head=made.head).verdict is Verdict.VALID


def test_verdicts_without_means() -> None:
    """No secret and no trusted key: the records fit together, and that is all that can be said."""
    made = chain(12)
    assert verify_chain(made.records).verdict is Verdict.UNVERIFIED
    assert verify_chain(made.records, checkpoints=made.seals).verdict is Verdict.UNVERIFIED
    assert verify_chain([]).verdict is Verdict.UNVERIFIED
    assert verify_chain([], expected_head=EMPTY_CHAIN).verdict is Verdict.VALID
    some = verify_chain(made.records, mac_keys=lambda session: RING.mac_keys(session) if session == "alpha" else ())
    assert (some.verdict, some.macs_checked) == (Verdict.PARTIAL, 6)


@given(st.integers(1, 35), st.integers(0, 10_000), st.integers(1, 255))
def test_changed_byte_is_located_to_the_record(seq: int, position: int, change: int) -> None:
    """Whoever looks, whichever byte it was: the record is named, and nothing before or after it is accused."""
    made = chain(35)
    row = made.records[seq - 1]
    body = bytearray(row.body)
    body[position % len(body)] ^= change
    rows = [*made.records[: seq - 1], row._replace(body=bytes(body)), *made.records[seq:]]
    for found in (insider(rows, made), outsider(rows, made)):
        assert found.verdict is Verdict.BROKEN
        assert {place[1:] for place in places(found)} == {(seq, seq)}


@pytest.mark.parametrize("seq", [1, 7, 10, 20, 34, 35])
def test_rewritten_history_is_located(seq: int) -> None:
    """With the secret to the record; without it to the gap between two checkpoints, if one follows."""
    made = chain(35)
    made.seal()
    rows = rewritten(made.records, seq, data={"tool_name": "nothing to see"})
    assert places(insider(rows, made))[0] == ("MAC", seq, seq)
    end = min(mark.seq for mark in made.checkpoints if mark.seq >= seq)
    start = max([0, *(mark.seq for mark in made.checkpoints if mark.seq < seq)])
    assert places(outsider(rows, made)) == [("GAP", start + 1, end)]


@pytest.mark.parametrize("lost", [(1,), (7,), (10,), (20, 21, 22), (1, 2, 3)])
def test_dropped_records_are_named(lost: tuple[int, ...]) -> None:
    """A hole is located from its first to its last record."""
    made = chain(35)
    rows = [row for row in made.records if row.seq not in lost]
    for found in (insider(rows, made), outsider(rows, made)):
        assert (found.verdict, places(found)) == (Verdict.BROKEN, [("MISSING", lost[0], lost[-1])])


def test_dropped_and_renumbered_is_located() -> None:
    """A record removed and the rest renumbered and linked again: found at its place, or in its gap."""
    made = chain(35)
    rows = [row for row in made.records if row.seq != 14]
    renumbered = [
        Record(number, canonicalize({**json.loads(row.body), "seq": number}), row.hash, row.mac)
        for number, row in enumerate(rows, 1)
    ]
    rows = rewritten(renumbered, 14)
    assert places(insider(rows, made))[0] == ("MAC", 14, 14)
    assert places(outsider(rows, made))[0] == ("GAP", 11, 20)


def test_swapped_and_inserted_records_are_named() -> None:
    """Rows whose contents were exchanged, or that stand where none belongs."""
    made = chain(35)
    a, b = made.records[11], made.records[12]
    rows = [*made.records]
    rows[11], rows[12] = a._replace(seq=13), b._replace(seq=12)
    rows[11], rows[12] = Record(12, b.body, b.hash, b.mac), Record(13, a.body, a.hash, a.mac)
    found = outsider(rows, made)
    assert {place for place in places(found) if place[0] == "FORM"} == {("FORM", 12, 12), ("FORM", 13, 13)}
    out_of_order = [*made.records[:11], b, a, *made.records[13:]]
    assert places(outsider(out_of_order, made)) == [("MISSING", 12, 12), ("ORDER", 12, 12)]
    forged = link(
        made.records[11].head,
        event_type="PINNED",
        timestamp=NOW,
        session_id="alpha",
        turn_id=None,
        data={},
        mac_key=OTHER.mac_key("alpha"),
    )
    inserted = [*made.records[:12], forged, *made.records[12:]]
    assert ("ORDER", 13, 13) in places(outsider(inserted, made))
    replaced = [*made.records[:12], forged, *made.records[13:]]
    assert places(outsider(replaced, made)) == [("LINK", 13, 14)]
    assert places(insider(replaced, made)) == [("MAC", 13, 13), ("LINK", 13, 14)]


def test_resigned_record_is_named() -> None:
    """A MAC made with another key does not fit, though hash and links do."""
    made = chain(35)
    row = made.records[16]
    mac = hmac.new(OTHER.mac_key("alpha"), row.body, "sha256").hexdigest()
    rows = [*made.records[:16], row._replace(mac=mac), *made.records[17:]]
    assert places(insider(rows, made)) == [("MAC", 17, 17)]


@pytest.mark.parametrize("left", [0, 1, 29, 30, 34])
def test_cut_tail_is_shown_by_what_vouches_for_it(left: int) -> None:
    """A checkpoint, the store's own or one kept elsewhere, or a known head says how far the chain went."""
    made = chain(35)
    kept = make_checkpoint(made.head, time=NOW, **SIGN)
    rows = made.records[:left]
    elsewhere = verify_chain(rows, checkpoints=[kept.body], **TRUST)
    assert (elsewhere.verdict, places(elsewhere)) == (Verdict.BROKEN, [("TAIL", left + 1, 35)])
    assert ("TAIL", left + 1, 35) in places(outsider(rows, made, expected_head=made.head))
    if left < 30:
        assert places(outsider(rows, made)) == [("TAIL", left + 1, 30)]


def test_known_head_shows_an_extended_or_exchanged_end() -> None:
    """Records beyond the head, or another last record, are named."""
    made = chain(12, every=0)
    assert places(outsider(made.records, made, expected_head=made.records[9].head)) == [("TAIL", 11, 12)]
    assert places(outsider(made.records, made, expected_head=Head(12, "sha256:" + "0" * 64))) == [("LINK", 12, 12)]


def test_removed_conversation_is_found() -> None:
    """Taking out everything one conversation did leaves holes, or MACs that do not fit."""
    made = chain(35)
    rows = [row for row in made.records if json.loads(row.body)["session_id"] != "alpha"]
    assert insider(rows, made).verdict is Verdict.BROKEN
    renumbered = [
        Record(number, canonicalize({**json.loads(row.body), "seq": number}), "", row.mac)
        for number, row in enumerate(rows, 1)
    ]
    relinked = rewritten(renumbered, 1)
    assert insider(relinked, made).verdict is Verdict.BROKEN
    assert places(outsider(relinked, made))[0] == ("GAP", 1, 10)


def test_wrong_key_is_said_to_be_one() -> None:
    """With another secret no MAC fits, and the note says so; with another public key the checkpoints do not."""
    made = chain(12)
    found = insider(made.records, made, mac_keys=OTHER.mac_keys)
    assert found.verdict is Verdict.BROKEN
    assert "not the key" in found.note
    found = outsider(made.records, made, keys=OTHER.public_keys())
    assert (found.verdict, [fault.kind for fault in found.faults]) == (Verdict.BROKEN, [FaultKind.CHECKPOINT])


def test_former_keys_still_verify() -> None:
    """Any of the keys a conversation may be under will do."""
    made = chain(12)
    both = lambda session: (*OTHER.mac_keys(session), *RING.mac_keys(session))  # noqa: E731
    assert insider(made.records, made, mac_keys=both).verdict is Verdict.VALID


def test_forged_checkpoint_is_a_fault() -> None:
    """A checkpoint signed by a stranger, or damaged, does not vouch for anything and is reported."""
    made = chain(12)
    stranger = make_checkpoint(made.head, time=NOW, kid=OTHER.kid, sign=OTHER.sign).body
    for bad in (stranger, b"{}", made.seals[0].replace(b'"seq":10', b'"seq":11')):
        found = verify_chain(made.records, checkpoints=[*made.seals, bad], **TRUST)
        assert (found.verdict, [fault.kind for fault in found.faults]) == (Verdict.BROKEN, [FaultKind.CHECKPOINT])


def test_one_conversation_is_checked_within_the_whole_chain() -> None:
    """Only its MACs are asked for; links and hashes are those of everything."""
    made = chain(35)
    asked: list[str] = []

    def keys(session: str) -> tuple[bytes, ...]:
        asked.append(session)
        return RING.mac_keys(session)

    found = verify_chain(made.records, mac_keys=keys, session=SESSIONS[1])
    assert (found.verdict, found.macs_checked, asked) == (Verdict.VALID, 18, [SESSIONS[1]])


def test_extract_is_partial_and_still_checked() -> None:
    """An extract that begins late is named as one; from a known head on it is linked to it."""
    made = chain(35)
    part = made.records[20:]
    assert insider(part, made, start=None).verdict is Verdict.PARTIAL
    assert insider(part, made, start=made.records[19].head).verdict is Verdict.PARTIAL
    assert places(insider(part, made, start=made.records[18].head)) == [("MISSING", 20, 20)]
    assert places(insider(part, made, start=Head(20, "sha256:" + "0" * 64))) == [("LINK", 20, 21)]
    assert places(insider(part, made)) == [("MISSING", 1, 20)]


@given(
    st.lists(
        st.tuples(
            st.integers(-3, 12) | st.none() | st.text(max_size=3),
            st.binary(max_size=40)
            | st.none()
            | st.text(max_size=3)
            | st.sampled_from([r.body for r in chain(9).records]),
            st.none() | st.text(max_size=5),
            st.none() | st.text(max_size=5) | st.integers(),
        ),
        max_size=8,
    )
)
def test_no_exception_for_any_rows(rows: list[Any]) -> None:
    """Whatever stands in the rows, a verdict comes back."""
    made = chain(9)
    assert insider(rows, made).verdict in (Verdict.BROKEN, Verdict.UNVERIFIED)
    assert outsider(rows, made, start=None).records == len(rows)


def test_session_that_is_no_text_is_broken_not_an_error() -> None:
    """A record whose session cannot be read has no key it could have been written with."""
    made = chain(3)
    row = made.records[1]
    for session in (b'"\\x"', b'"\\ud800"', b'"\xff"'):
        body = row.body.replace(b'"alpha"', session)
        forged = row._replace(body=body, hash="sha256:" + sha256(body).hexdigest())
        assert places(insider([made.records[0], forged], made)) == [("FORM", 2, 2)]


def test_faults_are_capped() -> None:
    """A wholly foreign chain does not give a fault for each of its records."""
    made = chain(300, every=0)
    assert len(insider(made.records, made, mac_keys=OTHER.mac_keys).faults) == MAX_FAULTS


@pytest.mark.parametrize(
    "call",
    [
        lambda: link(EMPTY_CHAIN, event_type="NO", timestamp=1, session_id="", turn_id=None, data={}, mac_key=b"k"),
        lambda: link(
            EMPTY_CHAIN, event_type="PINNED", timestamp=1, session_id="", turn_id=None, data={"a": b""}, mac_key=b"k"
        ),
        lambda: salted_digest(b"short", "sha256:" + "0" * 64),
        lambda: salted_digest(b"s" * 16, "0" * 64),
    ],
)
def test_refuses_what_must_not_be_written(call: Callable[[], object]) -> None:
    """Unknown events, data without a canonical form, salts and digests that are none."""
    with pytest.raises(ValueError):
        call()


def test_salted_digest_depends_on_salt_and_content() -> None:
    """Equal contents under two salts have nothing in common."""
    plain = "sha256:" + sha256(b"4711").hexdigest()
    a, b = salted_digest(b"a" * 16, plain), salted_digest(b"b" * 16, plain)
    assert a != b
    assert a == salted_hash(b"a" * 16, b"4711")
    assert a == "sha256:" + sha256(b"a" * 16 + sha256(b"4711").digest()).hexdigest()
