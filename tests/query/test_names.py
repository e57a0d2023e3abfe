"""Names in queries: folded as SQLite folds them, one for each column, found when they are nearly right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from crp_mcp.core.folding import fold, unique_names
from crp_mcp.errors import BadRequest, Refused
from tests.query.support import Room
from tests.relay.support import bench, text_result, texts


@pytest.fixture
def room(tmp_path: Any) -> Iterator[Room]:
    with bench(tmp_path) as made:
        yield Room(made)


def test_names_fold_as_in_sqlite() -> None:
    """A to Z alone have a lower case."""
    assert [fold(name) for name in ("ABC", "É", "Kelvin \u212a", "İ")] == ["abc", "É", "kelvin \u212a", "İ"]
    assert unique_names(["a", "A", "", "É", "é", "column_3", "a_2"]) == [
        "a",
        "A_3",
        "column_3_2",
        "É",
        "é",
        "column_3",
        "a_2",
    ]


@pytest.mark.parametrize("name", ["Été ÄÖ", "ΣΊΣΥΦΟΣ", "Заказы 2024", "İstanbul", "Orders", "straße"])
def test_a_pinned_name_is_a_table_in_any_case(room: Room, name: str) -> None:
    """As it was given, and in the other case, whatever the letters."""
    stored = room.capture([{"a": 1}])
    room.bench.tool("scratch_pin", scratch_id=stored, name=name)
    for spelled in (name, name.upper(), name.lower(), name.casefold()):
        assert room.rows(f'SELECT t.a FROM "{spelled}" t') == [[1]], spelled
    assert room.rows(f'SELECT "{name}".a FROM "{name}"') == [[1]]


def test_names_that_differ_by_case_alone_are_never_guessed(room: Room) -> None:
    """Each is found as it is written; a third spelling is an error that names both."""
    for at, name in enumerate(("Été", "été")):
        room.bench.tool("scratch_pin", scratch_id=room.capture([{"a": at}]), name=name)
    assert (room.one('SELECT a FROM "Été"'), room.one('SELECT a FROM "été"')) == (0, 1)
    with pytest.raises(BadRequest, match='"Été" is scratch_readquery_001'):
        room.one('SELECT a FROM "ÉTÉ"')


def test_columns_that_sqlite_tells_apart_stay_apart(room: Room) -> None:
    """É and é are two columns; a and A would be one, and are named apart."""
    name = room.capture([{"É": 1, "é": 2, "a": 3, "A": 4}])
    assert room.rows(f'SELECT "É", "é", a, A_2 FROM {name}') == [[1, 2, 3, 4]]
    assert room.rows(f'SELECT sum("É"), sum("é") FROM {name}') == [[1, 2]]


@pytest.mark.parametrize(
    "value",
    [
        {"columns": ["id", None, "amount", "", "amount"], "rows": [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]},
        {
            "columns": [{"name": "id"}, {"name": None}, {"name": "amount"}, {}, {"name": "amount"}],
            "rows": [[1, 2, 3, 4, 5]],
        },
        "id,,amount,,amount\n1,2,3,4,5\n6,7,8,9,10\n",
        "| id | | amount | | amount |\n|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 |\n| 6 | 7 | 8 | 9 | 10 |\n",
    ],
)
def test_a_header_without_a_name_loses_no_other(room: Room, value: Any) -> None:
    """The empty ones are numbered, in the summary, in SQL and in scratch_get alike."""
    name = room.capture(value)
    names = ["id", "column_2", "amount", "column_4", "amount_2"]
    assert list(room.answer(f"SELECT * FROM {name}").columns) == names
    summary = "\n".join(texts(room.bench.tool("scratch_get", scratch_id=name)))
    assert all(f"{one} int" in summary or f"{one}: int" in summary for one in names), summary
    wanted = ["amount_2", "column_2", "column_2"]
    rows = texts(room.bench.tool("scratch_get", scratch_id=name, view="rows", columns=wanted))
    assert rows[1].startswith("amount_2,column_2\n5,2\n")


def test_the_header_row_of_lists_may_lack_a_name(room: Room) -> None:
    """A first row of names with a hole is still the header."""
    name = room.capture([["id", None, "amount"], [1, 2, 3], [4, 5, 6]])
    assert list(room.answer(f"SELECT * FROM {name}").columns) == ["id", "column_2", "amount"]
    assert room.one(f"SELECT sum(amount) FROM {name}") == 9


def test_an_unknown_table_names_the_nearest(room: Room) -> None:
    """The nearest first, then what there is, then how to list it; nothing that is withheld."""
    first = room.capture([{"order_id": 1}])
    room.bench.tool("scratch_pin", scratch_id=first, name="orders 2024")
    with pytest.raises(BadRequest) as error:
        room.answer('SELECT * FROM "order 2024"')
    assert "did you mean orders 2024?" in str(error.value)
    assert first in str(error.value)
    assert "latest" in str(error.value)
    assert "scratch_list" in str(error.value)
    with pytest.raises(BadRequest, match="no such column: ordr_id; did you mean order_id\\?"):
        room.answer(f"SELECT ordr_id FROM {first}")
    with pytest.raises(BadRequest, match="no such function: substrin; did you mean substring"):
        room.answer(f"SELECT substrin(order_id) FROM {first}")


@pytest.mark.parametrize(
    "table", ["pragma_table_list", "pragma_function_list()", "dbstat", "sqlite_dbpage", "sqlite_stmt"]
)
def test_tables_of_sqlite_itself_are_refused_by_name(room: Room, table: str) -> None:
    """Not as writing, which nobody asked for."""
    with pytest.raises((Refused, BadRequest)) as error:
        room.answer(f"SELECT * FROM {table}")
    assert table.partition("(")[0] in str(error.value)
    assert "writing" not in str(error.value)


def test_names_of_any_kind_are_columns(room: Room) -> None:
    """Quotes, line ends, keywords, signs, NUL and half surrogates: each value stands under its name."""
    names = [
        'a"b',
        "c'd",
        "e\nf",
        "select",
        "x;drop table t",
        "[br]",
        "`q`",
        "ß",
        "SS",
        "*",
        "1",
        "",
        ".",
        "--c",
        "日本",
    ]
    names += [
        "\u202e",
        "nul\x00l",
        "half\ud800",
        "x" * 300,
        "sqlite_x",
        "rowid",
        "_rowid_",
        "text",
        "value_text",
        "value",
    ]
    name = room.capture([dict.fromkeys(names, 0) | {one: at for at, one in enumerate(names)}] * 3)
    answer = room.answer(f"SELECT * FROM {name} LIMIT 1")
    assert json.loads(answer.rows[0]) == list(range(len(names)))
    assert [answer.columns[at] for at in (11, 16, 17)] == ["column_12", "nul\ufffdl", "half?"]
    for at, column in enumerate(answer.columns):
        quoted = column.replace('"', '""')
        assert room.rows(f'SELECT max("{quoted}"), sum(t."{quoted}") FROM {name} t') == [[at, 3 * at]], column
    part = room.capture({"li\x00st": [1, 2], "other": [{"a": 1}], "n": "x"})
    assert room.rows(f'SELECT value FROM "{part}.li\ufffdst"') == [[1], [2]]


def test_lists_inside_a_block_are_tables(room: Room) -> None:
    """Each block of several has its own lists, also under names that another block has too."""
    first = {"items": [{"a": 1}, {"a": 2}], "others": [{"b": 3}], "name": "n"}
    second = {"users": [{"a": 7}], "items": [{"c": 4}], "n": 1}
    blocks = [{"type": "text", "text": json.dumps(value)} for value in (first, second)] + text_result("bye")["content"]
    name = room.bench.capture({"content": blocks}).entry.scratch_id
    assert room.rows(f"SELECT a FROM {name}.block_1.items") == [[1], [2]]
    assert room.rows(f"SELECT c FROM {name}.block_2.items") == [[4]]
    assert room.rows(f"SELECT a FROM {name}.block_2.users") == [[7]]
    assert room.rows(f"SELECT name FROM {name}.block_1") == [["n"]]
    room.bench.tool("scratch_forget", scratch_id=name)
    assert room.desk.cache(room.bench.scope).tables(name) == ()
