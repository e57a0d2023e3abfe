"""What becomes of a result: stored exactly, forwarded or summarised, sealed."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from crp_mcp.core.model import Kind
from crp_mcp.proof.chain import salted_digest
from crp_mcp.proof.eccr import verify
from crp_mcp.relay.counting import LazyCounter
from crp_mcp.relay.sealing import text_hash
from crp_mcp.relay.service import Outcome
from tests.relay.support import Bench, dump, order_rows, text_result, texts

FLOOD = json.dumps(order_rows(3_000))


def test_a_small_result_goes_on_untouched_and_is_stored_exactly(at: Bench) -> None:
    """ok 42 costs nothing and changes nothing."""
    outcome = at.capture(text_result("ok 42"))
    assert outcome.result is None
    assert at.payload(outcome) == b"ok 42"
    assert outcome.entry.provenance_hash == "sha256:" + hashlib.sha256(b"ok 42").hexdigest()
    assert outcome.entry.inline
    assert outcome.entry.summary is None


def test_a_flood_becomes_one_summary_within_the_cap(at: Bench) -> None:
    """3,000 rows leave as at most 256 tokens that name the id, the rows and the columns."""
    outcome = at.capture(text_result(FLOOD))
    assert outcome.result is not None
    result = json.loads(outcome.result)
    (summary,) = texts(result)
    assert at.engine.counter().count(summary) <= 256
    assert "3,000 rows" in summary.splitlines()[0]
    assert outcome.entry.scratch_id in summary.splitlines()[0]
    assert result["_meta"]["dev.crp/scratch_id"] == outcome.entry.scratch_id
    assert outcome.entry.kind is Kind.TABULAR
    assert at.payload(outcome) == FLOOD.encode()


def test_text_and_equal_structured_content_are_stored_once_and_summarised_once(at: Bench) -> None:
    """The flood does not leave through structuredContent, and the payload is the text alone."""
    outcome = at.capture(text_result(FLOOD, structuredContent={"rows": 1} and json.loads(FLOOD)))
    assert outcome.result is not None
    assert "structuredContent" not in json.loads(outcome.result)
    assert len(texts(outcome.result)) == 1
    assert at.payload(outcome) == FLOOD.encode()


def test_one_block_for_each_row_is_one_table(at: Bench) -> None:
    """A server that sends each row as a block of its own, and all of them structured, gets one summary."""
    rows = order_rows(800)
    blocks = [{"type": "text", "text": json.dumps(row, indent=2)} for row in rows]
    outcome = at.capture({"content": blocks, "structuredContent": {"result": rows}})
    assert outcome.result is not None
    (summary,) = texts(outcome.result)
    assert "800 rows" in summary.splitlines()[0]
    assert outcome.entry.rows == 800


def test_big_blocks_are_summarised_and_images_and_links_stay(at: Bench) -> None:
    """Of five blocks only the big text changes; the others keep their bytes and order."""
    image = base64.b64encode(bytes(range(256)) * 400).decode()
    blocks = [
        {"type": "text", "text": "Here is the report."},
        {"type": "text", "text": FLOOD},
        {"type": "image", "data": image, "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///report.csv", "name": "report"},
        {"type": "resource", "resource": {"uri": "note://1", "text": "a note", "mimeType": "text/plain"}},
    ]
    outcome = at.capture({"content": blocks})
    assert outcome.result is not None
    content = json.loads(outcome.result)["content"]
    assert [block["type"] for block in content] == [block["type"] for block in blocks]
    assert [content[i] for i in (0, 2, 3, 4)] == [blocks[i] for i in (0, 2, 3, 4)]
    assert "3,000 rows" in content[1]["text"]
    assert at.payload(outcome) == dump({"content": blocks})


def test_a_long_error_keeps_its_flag_and_its_last_line(at: Bench) -> None:
    """The cause of a 69 KB error is on its last line."""
    trace = "".join(f'  File "worker.py", line {n}, in step_{n}\n' for n in range(1_500))
    error = f"Traceback (most recent call last):\n{trace}ValueError: order 17 has no customer"
    outcome = at.capture(text_result(error, isError=True))
    assert outcome.result is not None
    assert json.loads(outcome.result)["isError"] is True
    (summary,) = texts(outcome.result)
    assert "ValueError: order 17 has no customer" in summary
    assert at.engine.counter().count(summary) <= 256
    assert outcome.entry.is_error


@pytest.mark.parametrize(
    "result", [text_result(""), text_result("[]"), text_result("No matches found"), {"content": []}]
)
def test_an_empty_result_is_never_replaced(at: Bench, result: dict[str, object]) -> None:
    """Nothing found is said by the tool itself, even where everything is to be summarised."""
    assert at.capture(result, policy={"inline_tokens": 0}).result is None


@pytest.mark.parametrize(
    "result",
    [
        text_result(json.dumps({"items": [], "message": "word " * 20_000})),
        text_result(",".join(f"column_{i}" for i in range(5_000)) + "\n"),
        text_result("\t\n" * 20_000),
        {"content": [{"type": "text", "text": f"block {i}"} for i in range(2_500)]},
        {"content": [{"type": "text", "text": f"block {i}"} for i in range(10_001)]},
        {"content": "word " * 20_000},
        [f"word {i}" for i in range(20_000)],
    ],
    ids=["nothing but a note", "header only", "blank cells", "many blocks", "too many blocks", "no list", "no object"],
)
def test_a_flood_of_any_form_becomes_a_summary(at: Bench, result: dict[str, object]) -> None:
    """A result without rows, or whose blocks cannot be told apart, may still be a flood."""
    outcome = at.capture(dump(result))
    assert outcome.result is not None
    assert outcome.entry.scratch_id in texts(outcome.result)[0]
    assert len(outcome.result) < 4_000


def test_inline_tokens_of_zero_summarises_everything_else(at: Bench) -> None:
    """The letter of SPEC-029 §2.2 can be asked for, tool by tool."""
    outcome = at.capture(text_result(json.dumps(order_rows(2))), policy={"inline_tokens": 0})
    assert outcome.result is not None
    assert "2 rows" in texts(outcome.result)[0].splitlines()[0]


def test_a_kept_result_is_captured_and_not_replaced(at: Bench) -> None:
    """Passthrough tools and callers that ask for raw get everything, and it is still stored."""
    outcome = at.capture(text_result(FLOOD), keep=True)
    assert outcome.result is None
    assert at.payload(outcome) == FLOOD.encode()


def test_our_own_meta_keys_from_an_upstream_are_captured_and_stripped(at: Bench) -> None:
    """A server cannot speak in our name; what it sent is still in the payload."""
    sent = dump(text_result("ok", _meta={"dev.crp/scratch_id": "scratch_sql_001", "vendor/x": 1}))
    outcome = at.capture(sent)
    assert outcome.result is not None
    assert json.loads(outcome.result)["_meta"] == {"vendor/x": 1}
    assert at.payload(outcome) == sent


def test_a_lone_surrogate_is_kept_as_it_came(at: Bench) -> None:
    """Text without exact UTF-8 is stored as the JSON that was received."""
    sent = b'{"content":[{"type":"text","text":"a \\ud800 b"}]}'
    outcome = at.capture(sent)
    assert outcome.entry.form == "result"
    assert at.payload(outcome) == sent


@pytest.mark.parametrize("raw", [b"null", b"[]", b'"x"', b"{}", b'{"content":5}', b'{"content":[7,null,{}]}', b"\xff"])
def test_a_malformed_result_is_stored_and_forwarded(at: Bench, raw: bytes) -> None:
    """Whatever a server answers, nothing is lost and nobody crashes."""
    outcome = at.capture(raw)
    assert outcome.result is None
    assert at.payload(outcome) == raw


def test_every_capture_carries_a_receipt_that_verifies(at: Bench) -> None:
    """The receipt is over the summary that was sent, and over the salted digest of the payload."""
    outcome = at.capture(text_result(FLOOD))
    assert outcome.result is not None
    entry = outcome.entry
    stored = at.engine.store.receipt(at.scope, entry.receipt or "")
    keyring = at.engine.keyring
    found = verify(
        stored.body,
        keys=keyring.public_keys(),
        verify_signature=keyring.verify,
        now=int(at.clock()),
        leaves=stored.leaves,
        output_hash="sha256:" + hashlib.sha256(texts(outcome.result)[0].encode()).hexdigest(),
    )
    assert found.items is not None
    salt = at.engine.store.salt(at.scope, entry.scratch_id)
    assert [item.digest for item in found.items] == [salted_digest(salt, entry.provenance_hash)]
    assert found.receipt.ceiling == "INTERNAL"


def test_the_audit_trail_names_call_and_receipt_and_no_content(at: Bench) -> None:
    """Two records a capture, linked; neither arguments nor rows stand in them."""
    at.capture(text_result(FLOOD), arguments={"query": "select secret from orders"})
    bodies = [json.loads(record.body) for record in at.engine.store.records()]
    assert [body["event_type"] for body in bodies] == ["TOOL_CALL", "RECEIPT_ISSUED"]
    assert [body["seq"] for body in bodies] == [1, 2]
    assert "secret" not in json.dumps(bodies)
    assert "Oslo" not in json.dumps(bodies)


def test_a_large_result_is_counted_after_its_answer(at: Bench) -> None:
    """The exact token count follows; until then nothing claims to know it."""
    big = json.dumps(order_rows(9_000))
    outcome = at.capture(text_result(big))
    assert outcome.entry.raw_token_count is None
    assert "CRP-Context-Scratch-Tokens-Saved" not in json.loads(outcome.result or b"")["_meta"]["dev.crp/headers"]
    at.engine.service.count_later(outcome)
    found = at.engine.reader.entry(at.scope, outcome.entry.scratch_id)
    assert found.raw_token_count == at.engine.counter().count(big)


def test_a_small_result_is_counted_with_its_entry_once_the_counter_is_there(at: Bench) -> None:
    """Until something needs the counter, counting waits: an idle worker does not load it."""
    first = at.capture(text_result("two words"))
    assert first.entry.raw_token_count is None
    at.engine.service.count_later(first)
    second = at.capture(text_result("two words"))
    assert (second.entry.raw_token_count, second.uncounted) == (2, ())


def test_a_summary_names_its_own_entry_also_where_another_took_the_next_id(at: Bench) -> None:
    """The id a summary was made for is taken by a capture that comes between; the receipt is over what is sent."""
    service, store = at.engine.service, at.engine.store

    class Outside(LazyCounter):
        """Other writers do not wait for what is counted."""

        def run(self, work: Any) -> Any:
            assert not store.ask(lambda db: db.in_transaction)
            return super().run(work)

    service.counter = Outside()
    random_bytes, between = service.random_bytes, list[Outcome]()

    def slow(size: int) -> bytes:
        service.random_bytes = random_bytes
        between.append(at.capture(text_result("small")))
        return random_bytes(size)

    service.random_bytes = slow
    outcome = at.capture(text_result(json.dumps(order_rows(400))))
    other, entry = between[0].entry, outcome.entry
    assert int(entry.scratch_id.split("_")[-1]) == int(other.scratch_id.split("_")[-1]) + 1
    assert outcome.result is not None
    sent = texts(outcome.result)[0]
    assert entry.scratch_id in sent
    assert entry.summary == sent
    receipt = at.engine.store.receipt(at.scope, entry.receipt or "")
    assert json.loads(receipt.body)["compacted_output_hash"] == text_hash(sent)


def test_redacted_arguments_are_not_kept(at: Bench) -> None:
    """The registry's `redact_args` keeps a secret out of the store."""
    outcome = at.capture(text_result("ok"), arguments={"token": "s3cret", "q": 1}, policy={"redact_args": ("token",)})
    assert outcome.entry.tool_call_args == {"token": "[redacted]", "q": 1}
    at.engine.store.checkpoint(truncate=True)
    assert b"s3cret" not in at.engine.store.path.read_bytes()


@pytest.mark.parametrize(
    ("rows", "arguments", "partial", "said"),
    [
        (37, {"q": "x", "per_page": 37}, True, "partial: as many rows as asked for (per_page: 37)"),
        (37, {"maxResults": "37"}, True, "partial: as many rows as asked for (maxResults: 37)"),
        (37, {"query": "SELECT * FROM t LIMIT 37;"}, True, "partial: as many rows as asked for (LIMIT 37)"),
        (37, {"query": "SELECT * FROM t ORDER BY n LIMIT 37"}, False, "json rows\n"),
        (37, {"limit": 50}, False, "json rows\n"),
        (100, {"limit": 500}, False, "json rows\n"),
        (100, {"q": "x"}, False, "partial: maybe, as 100 rows are as many as a limit often lets through"),
        (2_500, {"q": "x"}, False, "partial: maybe, as 2,500 rows are"),
        (130, {"q": "x"}, False, "json rows\n"),
    ],
)
def test_as_many_rows_as_asked_for_may_not_be_all(
    at: Bench, rows: int, arguments: dict[str, Any], partial: bool, said: str
) -> None:
    """A full page is partial, and a round number of rows is remarked; the three numbers stay what they are."""
    outcome = at.capture(text_result(json.dumps(order_rows(rows))), arguments=arguments, policy={"inline_tokens": 0})
    assert (outcome.entry.partial, outcome.entry.rows, outcome.entry.rows_total) == (partial, rows, None)
    assert outcome.result is not None
    summary = texts(outcome.result)[0]
    assert said in summary
    assert summary.startswith("UPSTREAM PARTIAL: total unknown, returned 37" if partial else "3 of ")
