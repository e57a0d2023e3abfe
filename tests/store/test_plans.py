"""What keeps look-ups flat: each question is answered from an index, however many entries there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from crp_mcp.core.model import Kind, ToolClass
from crp_mcp.store import Filters, SqliteStore, open_store
from tests.store.support import NOW, SCOPE, capture, noted


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    with open_store(tmp_path_factory.mktemp("plans")) as opened:
        for number in range(30):
            capture(opened, b"%d" % number, kind=list(Kind)[number % 8])
        opened.pin(SCOPE, "scratch_sql_003", noted("PINNED"), name="three")
        yield opened


def plans(store: SqliteStore, ask: Callable[[], object]) -> list[str]:
    """The plan of every statement that `ask` runs."""
    db = store._connections.get()
    statements: list[str] = []
    db.set_trace_callback(statements.append)
    ask()
    db.set_trace_callback(None)
    asked = [text for text in statements if text.lstrip().upper().startswith("SELECT")]
    return [row[3] for text in asked for row in db.execute(f"EXPLAIN QUERY PLAN {text}").fetchall()]


FILTERS = {
    "entry_conversation": Filters(),
    "entry_kind": Filters(kind=Kind.ERROR),
    "entry_tool": Filters(tool="query", kind=Kind.ERROR),
    "entry_class": Filters(tool_class=ToolClass.SQL),
    "entry_pinned": Filters(pinned=True),
    "entry_time": Filters(since=NOW - 1, until=NOW),
    "entry_stream": Filters(stream_id="s"),
}


@pytest.mark.parametrize(("index", "filters"), FILTERS.items())
def test_a_list_uses_its_index(store: SqliteStore, index: str, filters: Filters) -> None:
    """No list scans the entries; only a window of time may have to be sorted."""
    found = plans(store, lambda: store.list(SCOPE, filters=filters, limit=5, cursor="s20"))
    assert any(f"USING INDEX {index} " in step or f"USING COVERING INDEX {index} " in step for step in found), found
    assert not any(step.startswith("SCAN e") for step in found), found
    assert index == "entry_time" or not any("TEMP B-TREE FOR ORDER BY" in step for step in found), found


QUESTIONS: dict[str, Callable[[SqliteStore], object]] = {
    "by id": lambda store: store.get(SCOPE, "scratch_sql_007"),
    "by name": lambda store: store.get(SCOPE, "three"),
    "latest": lambda store: store.latest(SCOPE, filters=Filters(kind=Kind.TEXT)),
    "expired": lambda store: store.expired(1e12, 5),
    "counters": lambda store: (store.counters(SCOPE), store.counters(None)),
    "salt": lambda store: store.salt(SCOPE, "scratch_sql_007"),
    "receipt": lambda store: store.receipt(SCOPE, store.list(SCOPE).entries[0].receipt or ""),
    "receipts on": lambda store: store.receipts_on(SCOPE, "scratch_sql_007"),
    "conversation": lambda store: store.conversation_of("local", SCOPE.project, "host", since=0),
    "payload": lambda store: store.read(1, 0, 10),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_scans_no_table(store: SqliteStore, question: str) -> None:
    """Searches only: nothing that grows with the store."""
    found = plans(store, lambda: QUESTIONS[question](store))
    assert found
    assert not [step for step in found if step.startswith("SCAN") and "SUBQUERY" not in step and "CONSTANT" not in step]
