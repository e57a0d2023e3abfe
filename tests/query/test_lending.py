"""Stored values for calls: exact, only where the registry says so, never above the target, asked about and recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crp_mcp.core.substitution import fill, find_slots
from crp_mcp.errors import BadRequest, CrpError, NotFound, Refused
from crp_mcp.relay.lending import Lent, Wanted
from tests.query.support import Room, open_room

PAGE = {"page": {"body": "Zeile ä\n" * 2_000, "price": 12, "ids": [12345678901234567890, 1]}, "title": "t"}
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}, "body": {"type": "string"}}}


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Room, str]]:
    with open_room(tmp_path_factory.mktemp("lend"), 20) as room:
        yield room, room.capture(PAGE, tool="read_page", server="wiki")


def lend(room: Room, arguments: Any, *, agreed: bool = True, schema: Any = None, **policy: Any) -> Lent:
    given = {"accepts_scratch_from": ("wiki:*", "shop:*"), **policy}
    raw = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
    definition = None if schema is None else {"inputSchema": schema}
    wanted = Wanted("wiki", "update", raw, replace(room.bench.policy, **given), definition)
    return room.bench.engine.lender.lend(room.bench.scope, wanted, agreed=agreed)


def test_the_value_at_a_path_is_put_in_exactly(wiki: tuple[Room, str]) -> None:
    """Texts, big integers and whole objects arrive as they were stored; what is around them keeps its bytes."""
    room, page = wiki
    raw = b'{ "id":7e0 ,"body":{"$scratch":"%s","path":"$.page.body"}, "n":1.10}' % page.encode()
    filled = lend(room, raw).arguments or b""
    assert filled.startswith(b'{ "id":7e0 ,"body":"')
    assert filled.endswith(b', "n":1.10}')
    assert json.loads(filled)["body"] == PAGE["page"]["body"]
    whole = json.loads(lend(room, {"a": [{"$scratch": page, "path": "$.page"}]}).arguments or b"")
    assert whole == {"a": [PAGE["page"]]}


def test_without_a_path_the_whole_goes_as_text_or_as_json(wiki: tuple[Room, str]) -> None:
    """The exact stored text where the argument takes a string, its JSON where it takes something else."""
    room, page = wiki
    text = lend(room, {"body": {"$scratch": page}}, schema=SCHEMA).arguments or b""
    assert json.loads(text)["body"] == json.dumps(PAGE)
    shape = {"type": "object", "properties": {"body": {"type": "object"}}}
    assert json.loads(lend(room, {"body": {"$scratch": page}}, schema=shape).arguments or b"")["body"] == PAGE


def test_a_person_is_asked_with_source_size_and_first_line(wiki: tuple[Room, str]) -> None:
    """Before anyone agreed there are no arguments, only a question that names what would go where."""
    room, page = wiki
    before = list(room.bench.engine.store.records())[-1].seq
    lent = lend(room, {"body": {"$scratch": page, "path": "$.page.body"}}, agreed=False)
    assert lent.arguments is None
    for part in ("wiki:update", page, "wiki:read_page", "KB", "Zeile ä"):
        assert part in (lent.question or "")
    assert list(room.bench.engine.store.records())[-1].seq == before


def test_the_operator_can_switch_the_question_off(wiki: tuple[Room, str]) -> None:
    """Then nobody is asked, and the record says so."""
    room, page = wiki
    room.bench.engine.lender.confirm = False
    try:
        assert lend(room, {"body": {"$scratch": page, "path": "$.title"}}, agreed=False).arguments == b'{"body": "t"}'
    finally:
        room.bench.engine.lender.confirm = True
    record = json.loads(list(room.bench.engine.store.records())[-1].body)
    assert record["event_type"] == "SUBSTITUTED"
    assert record["data"]["confirmed"] == "operator"


def test_what_was_sent_is_in_the_audit_chain_without_its_content(wiki: tuple[Room, str]) -> None:
    """A record names source, target, argument and a salted digest."""
    room, page = wiki
    lend(room, {"body": {"$scratch": page, "path": "$.title"}})
    record = json.loads(list(room.bench.engine.store.records())[-1].body)
    assert record["event_type"] == "SUBSTITUTED"
    assert record["data"]["scratch_id"] == page
    assert record["data"]["target"] == "wiki:update"
    assert record["data"]["argument"] == "body"
    assert record["data"]["confirmed"] == "asked"
    assert record["data"]["value_hash"].startswith("sha256:")


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ({"accepts_scratch_from": ()}, "takes no stored values"),
        ({"accepts_scratch_from": ("crm:*",)}, "takes no stored values from wiki:read_page"),
        ({"accepts_scratch_from": ("wiki:write*",)}, "accepts wiki:write"),
        ({"max_sensitivity": "PUBLIC"}, "nothing above PUBLIC"),
        ({"sensitivity": "PUBLIC"}, "nothing above PUBLIC"),
    ],
)
def test_what_the_registry_does_not_allow_is_refused(wiki: tuple[Room, str], policy: dict[str, Any], why: str) -> None:
    """The source must be named and the label must not exceed the target's; the refusal says which rule it was."""
    room, page = wiki
    with pytest.raises(Refused, match=why):
        lend(room, {"body": {"$scratch": page}}, **policy)


def test_a_derived_result_is_as_far_as_all_its_sources_are(wiki: tuple[Room, str]) -> None:
    """A query over a source that is not accepted is not accepted either, however it was made."""
    room, _ = wiki
    answer = room.bench.tool("scratch_query", sql=room.named("SELECT city FROM {orders} JOIN {customers} USING (city)"))
    made = answer["structuredContent"]["scratch_id"]
    again = room.bench.tool("scratch_query", sql=f"SELECT count(*) AS n FROM {made}")["structuredContent"]["scratch_id"]
    with pytest.raises(Refused, match="crm:customers"):
        lend(room, {"body": {"$scratch": again}})
    assert lend(room, {"n": {"$scratch": again, "path": "$.rows[0][0]"}}, accepts_scratch_from=("*:*",)).arguments


@pytest.mark.parametrize(
    ("value", "kind", "why"),
    [
        ({"$scratch": "scratch_none_999"}, NotFound, "scratch_none_999"),
        ({"$scratch": "{page}", "path": "$.nothing"}, NotFound, "finds nothing"),
        ({"$scratch": "{page}", "path": "$[["}, BadRequest, "path"),
        ({"$scratch": "{page}", "path": "$.page"}, BadRequest, "does not fit the input schema"),
    ],
)
def test_a_wrong_reference_is_named(
    wiki: tuple[Room, str], value: dict[str, str], kind: type[CrpError], why: str
) -> None:
    """Unknown ids, paths that lead nowhere and values of the wrong type are errors that say what to change."""
    room, page = wiki
    filled = {key: text.replace("{page}", page) for key, text in value.items()}
    with pytest.raises(kind, match=why):
        lend(room, {"body": filled}, schema=SCHEMA)


def test_what_only_looks_like_a_reference_stays(wiki: tuple[Room, str]) -> None:
    """Other members beside it, another type, the word inside a text: no reference, and not a byte changes."""
    room, _ = wiki
    for raw in (
        b'{"body": {"$scratch": "x", "more": 1}}',
        b'{"body": {"$scratch": 7}}',
        b'{"body": "$scratch"}',
        b'{"$scratch": "x"}',
        b'{"body": {"path": "$.a"}}',
    ):
        assert lend(room, raw).arguments == raw


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(before=JSON, value=JSON, key=st.text(min_size=1, max_size=4), indent=st.sampled_from([None, 1]))
def test_filling_changes_the_slot_and_nothing_else(before: Any, value: Any, key: str, indent: int | None) -> None:
    """Wherever a slot stands and however the JSON is spelled, the value takes its place and the rest is as it was."""
    slot = {"$scratch": "scratch_a_1", "path": "$.x"}
    raw = json.dumps({"a": before, key + "!": [slot, {"in": slot}]}, indent=indent, ensure_ascii=False).encode()
    found = [one for one in find_slots(raw) if one.keys[0] == key + "!"]
    assert [(one.reference, one.path) for one in found] == [("scratch_a_1", "$.x")] * 2
    filled = json.loads(fill(raw, [(one, json.dumps(value)) for one in found]))
    assert filled == {"a": before, key + "!": [value, {"in": value}]}
