"""Every tabular output of the handed cases can be queried, and SQL says what an independent reader says."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.core.model import Kind
from crp_mcp.errors import CrpError
from crp_mcp.query.desk import Desk
from crp_mcp.query.sql import quote
from tests.query.readers import numbers_of, rows_of
from tests.relay.support import Bench, bench, text_result

SHARED = Path(os.environ.get("CRP_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
CASES = SHARED / "cases" / "real_outputs.jsonl"
MOST_COLUMNS = 12

if not CASES.is_file():
    pytest.skip("needs the handed cases (CRP_SHARED)", allow_module_level=True)


def _lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


KINDS = {one["id"]: one for one in _lines(CASES.with_name("kinds.jsonl"))}
TABULAR = [one for one in _lines(CASES) if KINDS[one["id"]]["kinds"][:1] == ["tabular"] and KINDS[one["id"]]["rows"]]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bench, Desk]]:
    with bench(tmp_path_factory.mktemp("cases")) as made:
        yield made, made.engine.desk


def ask(at: tuple[Bench, Desk], sql: str) -> list[list[Any]]:
    made, desk = at
    answer = desk.query(made.scope, sql, made.clock())
    return [json.loads(row) for row in answer.rows]


def capture(made: Bench, case: dict[str, Any], data: bytes) -> str:
    result = data if case["form"] == "call_tool_result" else text_result(data.decode("utf-8", "surrogateescape"))
    if case["form"] == "text" and not _is_utf8(data):
        pytest.skip("a text block is always UTF-8; these bytes are not")
    return made.capture(result, tool="case").entry.scratch_id


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("case", TABULAR, ids=[one["id"] for one in TABULAR])
def test_a_tabular_output_says_in_sql_what_an_independent_reader_says(
    case: dict[str, Any], desk: tuple[Bench, Desk]
) -> None:
    """count(*), and count, min, max and sum of every numeric column, are exactly those of json and csv."""
    data = (SHARED / "cases" / case["file"]).read_bytes()
    name = capture(desk[0], case, data)
    count = ask(desk, f"SELECT count(*) FROM {name}")[0][0]
    entry = desk[0].engine.store.get(desk[0].scope, name)
    if entry.kind not in (Kind.TABULAR, Kind.LIST, Kind.EMPTY):
        return  # read as something else that the cases allow too; that it can be queried was asked above
    assert count in KINDS[case["id"]]["rows"]
    read = rows_of(case, data)
    if read is None or len(read[1]) != count:
        return  # a form (psql, Markdown, lists of lists) of which only the number of rows is known from outside
    columns, rows = read
    numeric = [(column, numbers) for column in columns if (numbers := numbers_of(column, rows))][:MOST_COLUMNS]
    for column, numbers in numeric:
        spelled = quote(column or "column_1")
        got = ask(desk, f"SELECT count({spelled}), min({spelled}), max({spelled}), sum({spelled}) FROM {name}")[0]
        assert got[0] == len(numbers), column
        assert [as_decimal(got[1]), as_decimal(got[2])] == [as_double(min(numbers)), as_double(max(numbers))], column
        assert close(as_decimal(got[3]), sum(numbers, Decimal(0))), column


def as_decimal(value: Any) -> Decimal:
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def as_double(value: Decimal) -> Decimal:
    """The value as a database can hold it: whole numbers exactly, others to the nearest double."""
    return value if value == value.to_integral_value() else Decimal(repr(float(value)))


def close(got: Decimal, true: Decimal) -> bool:
    """Equal, or as near as 15 digits come."""
    return got == true or abs(got - true) <= abs(true) * Decimal("1e-14")


def test_every_output_can_be_selected_from(desk: tuple[Bench, Desk]) -> None:
    """Whatever an output is, its first row can be read and its rows counted; only images and the like have no table."""
    faults = []
    for case in _lines(CASES):
        data = (SHARED / "cases" / case["file"]).read_bytes()
        if case["form"] == "jsonrpc_error" or (case["form"] == "text" and not _is_utf8(data)):
            continue
        name = capture(desk[0], case, data)
        entry = desk[0].engine.store.get(desk[0].scope, name)
        if entry.kind is Kind.BINARY:
            continue
        try:
            first = ask(desk, f"SELECT * FROM {name} LIMIT 1")
            count = ask(desk, f"SELECT count(*) FROM {name}")[0][0]
        except CrpError as error:
            faults.append((case["id"], entry.kind.value, str(error)[:200]))
            continue
        if len(first) != min(count, 1) or (entry.kind in (Kind.TABULAR, Kind.LIST) and count != entry.rows):
            faults.append((case["id"], entry.kind.value, f"{count} rows, not {entry.rows}"))
    assert not faults
