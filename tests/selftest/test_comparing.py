"""How the transparency report tells same from different: pure parts alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.selftest.compare import Probe, Recording, judge, judge_stderr
from crp_mcp.selftest.expected import Ours
from crp_mcp.selftest.peer import GONE
from crp_mcp.selftest.report import as_json, as_text, summed
from crp_mcp.selftest.tokens import NotJson, differences, parse, write

OURS = Ours(frozenset({"scratch_get"}), frozenset({"scratch://{scratch_id}"}), "Read with scratch_get.")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def judged(direct: str, through: str, again: str | None = None, method: str = "x", **more: bool):
    probe = Probe("x", {"1": method}, **more)
    sides = (Recording((line,)) for line in (direct, direct if again is None else again, through))
    return judge("handshake", probe, *sides, OURS)


def answer(**members: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, **members})


@given(VALUES)
def test_any_json_is_itself(value: object) -> None:
    """What is parsed is written again token by token, and differs in nothing from itself."""
    text = json.dumps(value, separators=(",", ":"))
    assert write(parse(text)) == text
    assert not list(differences(parse(text), parse(json.dumps(value, indent=2))))


@pytest.mark.parametrize("text", ["", "{", "[1,", '{"a"}', "1 2", '{"a":}', "[}", '"a'])
def test_what_is_no_json_is_refused(text: str) -> None:
    """And does not pass for something else."""
    with pytest.raises(NotJson):
        parse(text)


@pytest.mark.parametrize(
    ("direct", "through"),
    [
        ('{"a":1}', '{"a":1.0}'),
        ('{"a":12345678901234567890}', '{"a":12345678901234567000}'),
        ('{"a":"\\u00e9"}', '{"a":"é"}'),
        ('{"a":null}', "{}"),
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"a":1,"b":2}', '{"b":2,"a":1}'),
        ("[1,2]", "[1]"),
    ],
)
def test_every_token_counts(direct: str, through: str) -> None:
    """Numbers, escapes, nulls, duplicates and the order of members: each is a difference."""
    assert list(differences(parse(direct), parse(through)))
    assert not judged(f'{{"id":1,"result":{direct}}}', f'{{"id":1,"result":{through}}}').same


def test_a_lost_added_or_moved_message_is_a_difference() -> None:
    """Whichever side has more, and whatever the order is."""
    one, note = answer(result={}), '{"method":"n"}'
    probe = Probe("x", {"1": "x"})
    for direct, through in (((note, one), (one,)), ((one,), (note, one)), ((note, one), (one, note))):
        finding = judge("handshake", probe, Recording(direct), Recording(direct), Recording(through), OURS)
        assert not finding.same


def test_what_changes_by_itself_is_held_to_its_shape() -> None:
    """A time may differ, a time that has become something else may not."""
    at = [answer(result={"at": f"12:00:0{n}", "n": 1}) for n in range(3)]
    assert judged(at[0], at[2], again=at[1]).same
    assert not judged(at[0], answer(result={"at": None, "n": 1}), again=at[1]).same
    assert not judged(at[0], answer(result={"at": "12:00:09", "n": 2}), again=at[1]).same


def test_what_we_add_is_named_and_nothing_else_is_forgiven() -> None:
    """Our tools, our template, our sentence, our capability; another tool or another word is a difference."""
    theirs = [{"name": "t", "outputSchema": {}}]
    listed = answer(result={"tools": theirs})
    shown = answer(result={"tools": [{"name": "t"}, {"name": "scratch_get"}]})
    finding = judged(listed, shown, method="tools/list")
    assert finding.same
    assert finding.notes == ("1 of our own", "outputSchema left out of 1: results may become summaries")
    assert not judged(listed, answer(result={"tools": [*theirs, {"name": "other"}]}), method="tools/list").same
    hello = answer(result={"capabilities": {}, "instructions": "Be kind."})
    said = {"capabilities": {"tools": {}}, "instructions": "Be kind.\n\nRead with scratch_get."}
    assert judged(hello, answer(result=said), method="initialize").same
    assert not judged(hello, answer(result={**said, "instructions": "Be."}), method="initialize").same
    unknown, missing = answer(error={"code": -32601}), answer(error={"code": -32002, "message": "Resource not found"})
    assert judged(unknown, missing, method="resources/read").same
    assert judged(unknown, answer(result={"completion": {"values": []}}), method="completion/complete").same
    assert not judged(unknown, missing, method="prompts/get").same
    assert not judged(unknown, answer(result={"completion": {"values": ["x"]}}), method="completion/complete").same


def test_a_summary_in_place_of_a_large_result_is_named() -> None:
    """With both sizes; a result that is simply another one is a difference."""
    large = answer(result={"content": [{"type": "text", "text": "x" * 9000}]})
    short = answer(result={"content": [], "_meta": {"dev.crp/scratch_id": "scratch_x_001"}})
    assert "9,0" in judged(large, short, method="tools/call").notes[0]
    assert not judged(large, answer(result={"content": []}), method="tools/call").same


def test_ids_given_back_exactly_are_a_mend() -> None:
    """Where the server rounds an id, or does not manage it at all, the host still gets its own."""
    big = "9007199254740993"
    probe = Probe("ids", {big: "ping"})
    right = Recording((f'{{"id":{big},"result":{{}}}}',))
    for direct in (('{"id":9007199254740992,"result":{}}',), ('{"id":null,"error":{"code":-32600}}',), ()):
        finding = judge("handshake", probe, Recording(direct), Recording(direct), right, OURS)
        assert finding.same
        assert finding.notes[0].startswith("mended: ")
    unknown = Recording((f'{{"id":{big},"error":{{"code":-32601}}}}',))  # a revision without ping
    assert judge("2026-07-28", probe, Recording(()), Recording(()), unknown, OURS).notes[0].startswith("mended: ")
    wrong = Recording(('{"id":7,"result":{}}',))
    assert not judge("handshake", probe, right, right, wrong, OURS).same


def test_broken_input_may_be_refused_but_not_forgotten() -> None:
    """An error where the server is silent is a mend; silence where it answers is a difference."""
    probe, error = Probe("bad JSON", {}, unreadable=True), Recording(('{"id":null,"error":{"code":-32700}}',))
    assert judge("handshake", probe, Recording(()), Recording(()), error, OURS).same
    assert not judge("handshake", probe, error, error, Recording(()), OURS).same


def test_a_server_that_falls_silent_must_not_be_ours() -> None:
    """Silent by itself and there through us is a mend; the other way round is a difference."""
    probe, gone = Probe("x", {"1": "x"}), Recording((GONE,))
    error = Recording((answer(error={"code": -32000}),))
    assert judge("handshake", probe, gone, gone, error, OURS).same
    assert not judge("handshake", probe, error, error, gone, OURS).same


def test_complaints_of_what_is_mended_need_not_come_through() -> None:
    """A server that writes of an id which it gets from nobody but a direct client."""
    said = "cannot read id 1000.0"
    assert not judge_stderr("handshake", said, said, "").same
    finding = judge_stderr("handshake", said, said, "", mended=True)
    assert finding.same
    assert finding.notes == ("mended: 1 lines fewer, of what the server does not manage",)


def test_stderr_must_come_through() -> None:
    """Lines the server writes twice must be seen; ours are counted, numbers in them may change."""
    assert judge_stderr("handshake", "up at 1\n", "up at 2\n", "ours\nup at 3\n").notes == ("1 lines of our own",)
    assert not judge_stderr("handshake", "up at 1\n", "up at 2\n", "ours\n").same


def test_the_report_says_what_differs_and_where() -> None:
    """Features once each, every difference with its path and both values; the same as JSON."""
    good, bad = judged(answer(result=1), answer(result=1)), judged(answer(result=1), answer(result=2))
    (row,) = summed([good, bad])
    assert (row.messages, row.exact, len(row.differences)) == (2, 1, 1)
    shown = as_text("time", [row])
    assert "DIFFERS in 1 places" in shown
    assert "$.result" in shown
    assert as_json("time", [row])["same"] is False
