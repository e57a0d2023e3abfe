"""JSON results: where the rows stand, what is a list, an object, a scalar or nothing at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crp_mcp.core.model import Kind
from crp_mcp.core.shape import iter_rows, read_shape

ROWS = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


def shape_of(value: Any) -> Any:
    return read_shape((value if isinstance(value, str) else json.dumps(value)).encode())


def names(shape: Any) -> list[str] | None:
    return None if shape.columns is None else [column.name for column in shape.columns]


def test_a_list_of_objects_is_a_table_with_the_union_of_their_keys_in_first_seen_order() -> None:
    """Ragged rows lose nothing."""
    shape = shape_of([{"a": 1}, {"b": 2}, {"a": 3, "c": {"d": 1}}])
    assert (shape.kind, shape.rows, names(shape)) == (Kind.TABULAR, 3, ["a", "b", "c"])


@pytest.mark.parametrize(
    "member", ["items", "data", "results", "rows", "value", "nodes", "issues", "Contents", "anything"]
)
def test_a_list_of_objects_under_one_member_is_a_table_at_that_path(member: str) -> None:
    """The wrapper's scalars are kept beside it."""
    shape = shape_of({member: ROWS, "total": 10})
    assert (shape.kind, shape.rows, names(shape), shape.path) == (Kind.TABULAR, 2, ["id", "name"], member)
    assert [(name, value.text) for name, value in shape.scalars] == [("total", "10")]


WRAPPED: list[tuple[str, Any, int, list[str]]] = [
    ("data.search.nodes", {"data": {"search": {"nodes": ROWS}}}, 2, ["id", "name"]),
    ("d.edges", {"d": {"edges": [{"node": row, "cursor": "c"} for row in ROWS]}}, 2, ["id", "name"]),
    ("rows", {"columns": ["a", "b"], "rows": [[1, "x"], [2, "y"], [3, "z"]]}, 3, ["a", "b"]),
    ("rows", {"rows": [[1, "x"], [2, "y"]], "columns": [{"name": "a"}, {"name": "b"}]}, 2, ["a", "b"]),
    ("data", {"fields": [{"name": "a", "type": "int"}, {"name": "b"}], "data": [[1, "x"], [2, "y"]]}, 2, ["a", "b"]),
    ("data", {"columns": ["a", "b"], "index": [0, 1], "data": [[1, "x"], [2, "y"]]}, 2, ["a", "b"]),
    ("data", {"schema": {"fields": [{"name": "i"}, {"name": "a"}]}, "data": [{"i": 0, "a": 1}]}, 1, ["i", "a"]),
    ("data", {"meta": [{"name": "a", "type": "UInt8"}], "data": [{"a": 1}, {"a": 2}], "rows": 2}, 2, ["a"]),
    (
        "results[0].series[0].values",
        {"results": [{"series": [{"columns": ["t", "v"], "values": [[1, 2]]}]}]},
        1,
        ["t", "v"],
    ),
    (
        "hits.hits",
        {"took": 3, "hits": {"total": {"value": 2}, "hits": [{"_id": "1", "_source": {}}]}},
        1,
        ["_id", "_source"],
    ),
    ("messages.matches", {"ok": True, "query": "x", "messages": {"total": 30, "matches": ROWS}}, 2, ["id", "name"]),
    ("hourly", {"latitude": 1.5, "hourly": {"time": ["a", "b"], "t": [1.0, 2.0]}, "units": "C"}, 2, ["time", "t"]),
]


@pytest.mark.parametrize(("path", "value", "rows", "columns"), WRAPPED, ids=[case[0] for case in WRAPPED])
def test_rows_are_found_in_every_usual_wrapping(path: str, value: Any, rows: int, columns: list[str]) -> None:
    """Names may stand before the rows, after them, or one level away."""
    shape = shape_of(value)
    assert (shape.kind, shape.path, shape.rows, names(shape)) == (Kind.TABULAR, path, rows, columns)


def test_rows_under_nodes_are_taken_out_however_many() -> None:
    """A long GraphQL connection is a table of its nodes."""
    edges = [{"node": {"id": n, "tag": f"t{n}"}, "cursor": f"c{n}"} for n in range(3_000)]
    data = json.dumps({"data": {"repo": {"edges": edges, "pageInfo": {"hasNextPage": True}}}}).encode()
    shape = read_shape(data)
    assert (shape.rows, names(shape), shape.path, shape.partial) == (3_000, ["id", "tag"], "data.repo.edges", True)
    assert list(iter_rows(data, shape))[2_999] == (2_999, "t2999")


COLUMNAR: list[Any] = [
    {"a": [1, 2, 3], "b": ["x", "y", "z"]},
    {"a": {"0": 1, "1": 2, "2": 3}, "b": {"0": "x", "1": "y", "2": "z"}},
    {"a": {"r": 1, "s": 2, "t": 3}, "b": {"r": "x", "s": "y", "t": "z"}},
]


@pytest.mark.parametrize("value", COLUMNAR)
def test_one_member_a_column_is_a_table(value: Any) -> None:
    """Lists of one length, or objects over one index."""
    shape = shape_of(value)
    assert (shape.kind, shape.rows, names(shape)) == (Kind.TABULAR, 3, ["a", "b"])
    assert list(iter_rows(json.dumps(value).encode(), shape)) == [(1, "x"), (2, "y"), (3, "z")]


def test_records_under_their_keys_are_rows_with_the_key_first() -> None:
    """`{"1": {…}, "2": {…}}` is a table, not an object with as many keys."""
    shape = shape_of({"7": {"a": 1, "b": "x"}, "8": {"a": 2, "b": "y"}})
    assert (shape.kind, shape.rows, names(shape)) == (Kind.TABULAR, 2, ["key", "a", "b"])


def test_lists_of_one_width_are_a_table_and_a_first_row_of_names_is_its_header() -> None:
    """Without names the columns are numbered."""
    assert (shape_of([[1, "Rock"], [2, "Jazz"]]).rows, names(shape_of([[1, "Rock"], [2, "Jazz"]]))) == (
        2,
        ["column_1", "column_2"],
    )
    assert names(shape_of([["id", "name"], [1, "x"], [2, "y"]])) == ["id", "name"]
    assert shape_of([["id", "name"], [1, "x"], [2, "y"]]).rows == 2


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('[null, 1, "1", {}]', 4),
        ('[""]', 1),
        ("[[]   ]", 1),
        ("[1,null,2]", 3),
        ('["\\ud800"]', 1),
        ("[0.4e00669999999999999999]", 1),
        ('["\\u0000"]', 1),
        ('{"files":["a","b"]}', 2),
        ("[[[1,2]],[[3]]]", 2),
    ],
)
def test_other_lists_are_lists_with_their_count(text: str, count: int) -> None:
    """Whatever strange values they hold."""
    assert (shape_of(text).kind, shape_of(text).rows) == (Kind.LIST, count)


ENTITIES: list[Any] = [
    {"name": "x", "tags": [], "id": 3},
    {
        "id": 1,
        "title": "Bug",
        "labels": [{"id": 1, "name": "bug"}],
        "user": {"login": "x", "id": 3},
        "body": "long " * 60,
    },
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"containers": [{"name": "a"}], "volumes": [{"name": "b"}]},
        "status": {},
    },
    {"openapi": "3.0.0", "servers": [{"url": "/"}], "paths": {"/a": {"get": {"responses": {"200": {"x": "y" * 99}}}}}},
    {"order": 1, "items": [{"sku": "a"}], "payments": [{"sum": 3}], "shipments": [{"day": "d"}]},
]


@pytest.mark.parametrize("value", ENTITIES)
def test_an_entity_with_a_list_among_its_members_stays_an_object(value: Any) -> None:
    """One list of many members is a member."""
    assert shape_of(value).kind is Kind.OBJECT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "[]",
        " [ ] ",
        "{}",
        '""',
        "null",
        '{"Policies": []}',
        '{"total":0,"items":[]}',
        '{"data":{"rows":[]}}',
        '{"error":"","response":""}',
    ],
)
def test_nothing_is_empty_and_never_silence(text: str) -> None:
    """Zero rows is a result."""
    assert (shape_of(text).kind, shape_of(text).rows) == (Kind.EMPTY, 0)


def test_scalars_are_the_literal_itself() -> None:
    """No digit is lost and none is added."""
    for literal in ("-0.1", "42", "true", "1e400", "12345678901234567890.10", "0.1000000000000000055"):
        assert shape_of(literal).kind is Kind.SCALAR
        assert shape_of(literal).head[0][0].text == literal


def test_numbers_keep_their_literals_in_ranges_and_rows() -> None:
    """Ids beyond 2**53, trailing zeros and long fractions come back as they stood."""
    text = '[{"id":505874924095815681,"x":0.1000000000000000055,"y":1.50},{"id":505874924095815680,"x":2.5,"y":1e400}]'
    shape = shape_of(text)
    assert shape.columns is not None
    assert [(column.low, column.high) for column in shape.columns][:2] == [
        ("505874924095815680", "505874924095815681"),
        ("0.1000000000000000055", "2.5"),
    ]
    assert next([value.text for value in row] for row in shape.head) == [
        "505874924095815681",
        "0.1000000000000000055",
        "1.50",
    ]
    assert list(iter_rows(text.encode(), shape))[1] == (505874924095815680, "2.5", "1e400")


def test_scalar_members_that_matter_come_first_and_nested_ones_have_dotted_names() -> None:
    """`status` before the rest."""
    shape = shape_of({"zone": "b", "metadata": {"name": "p", "uid": 5}, "status": "up", "list": [1]})
    assert next(name for name, _ in shape.scalars) == "status"
    assert "metadata.uid" in dict(shape.scalars)
    assert shape.members == (("metadata", "object, 2 keys"), ("list", "list of 1 number: 1"))


def test_deep_nesting_is_read_or_let_be_but_never_raises() -> None:
    """Recursion is bounded."""
    for text in ("[" * 500 + "]" * 500, "[" * 100_000, '[{"":' * 50_000, '{"a":' * 3_000 + "1" + "}" * 3_000):
        assert read_shape(text.encode()).kind in Kind


def test_a_sheet_of_texts_has_its_header_row_and_rows_may_end_early() -> None:
    """Spreadsheets give every cell as text and leave out empty cells at a row's end."""
    sheet = [["Name", "Salary", "Note"], ["Ann", "84000", "x"], ["Bob", "54000"], ["Cy", "61000", "y"]]
    shape = shape_of({"range": "A1:C4", "values": sheet})
    assert (shape.kind, shape.rows, names(shape)) == (Kind.TABULAR, 3, ["Name", "Salary", "Note"])
    data = json.dumps({"range": "A1:C4", "values": sheet}).encode()
    assert [len(row) for row in iter_rows(data, shape)] == [3, 3, 3]
    assert list(iter_rows(data, shape))[1][2] is None


@pytest.mark.parametrize(
    "rows",
    [
        [["red", "green"], ["blue", "pink"], ["black", "white"]],
        [["1", "2"], ["3", "4"]],
        [["2024-01-01", "5"], ["2024-01-02", "6"]],
        [["ann", "5"], ["bob", "7"], ["ann", "9"]],
    ],
)
def test_rows_of_texts_without_a_header_keep_their_first_row(rows: list[list[str]]) -> None:
    """What does not set itself apart from the rows below beyond doubt is one of them."""
    assert shape_of(rows).rows == len(rows)


def test_columns_described_over_no_rows_are_no_rows() -> None:
    """A driver's `rows` and `fields`: nothing was found, whatever is said of the columns."""
    shape = shape_of({"rows": [], "rowCount": 0, "fields": [{"name": "id"}, {"name": "city"}]})
    assert (shape.kind, shape.rows) == (Kind.EMPTY, 0)
    assert shape_of({"fields": [{"name": "id"}], "note": "x"}).kind is Kind.TABULAR


def test_a_list_of_objects_among_members_says_what_they_hold() -> None:
    """The names of the objects' members, the long ones left out."""
    shape = shape_of({"users": [{"id": 1, "name": "a"}], "orders": [{"id": 1, "x" * 60: 2}], "tags": ["a"]})
    assert dict(shape.members) == {
        "users": "list of 1 object (id, name)",
        "orders": "list of 1 object (id, …)",
        "tags": "list of 1 text: a",
    }


def test_a_first_row_of_dates_over_dates_is_no_header() -> None:
    """Though it is all texts, and a number stands below its null; years over numbers are names."""
    rows: list[list[object]] = [["2022-02-27", "Ann", None], ["2025-05-26", "Bob", 5.5], ["2025-05-27", "Cy", 6]]
    assert shape_of(rows).rows == 3
    named = shape_of({"columns": ["day", "name", "amount"], "rows": rows})
    assert (named.rows, [column.name for column in named.columns or ()]) == (3, ["day", "name", "amount"])
    assert shape_of([["country", "2019", "2020"], ["DE", 1.1, 3.7], ["FR", 1.8, 7.5]]).rows == 2
