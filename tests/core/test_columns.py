"""Column statistics against a slow and obvious reference, and the spellings of numbers and dates one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.shape.columns import BATCH, MAX_COLUMNS, Literal, Num, TableStats
from crp_mcp.core.shape.model import Column

_NUMBERS = st.one_of(
    st.integers(-(10**30), 10**30),
    st.integers(0, 5),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-1000, max_value=1000).map(
        lambda d: Num(str(d))
    ),
)
_CELLS = st.one_of(
    st.none(), st.booleans(), _NUMBERS, st.sampled_from(["a", "b", "", "x y"]), st.just({}), st.just([1])
)
_ROWS = st.lists(st.dictionaries(st.sampled_from("abcde"), _CELLS, max_size=5), max_size=40)


def _columns(rows: Sequence[Mapping[str, Any]], batch: int = BATCH) -> dict[str, Column]:
    stats = TableStats()
    for start in range(0, len(rows), batch):
        stats.feed_objects(rows[start : start + batch])
    assert stats.rows == len(rows)
    return {column.name: column for column in stats.finish()}


def _texts(*texts: str, text_cells: bool = False) -> Column:
    stats = TableStats(text_cells=text_cells)
    stats.feed_rows(["c"], [[text] for text in texts])
    (column,) = stats.finish()
    return column


def _finder(literals: Sequence[str]) -> Literal:
    return lambda at, _: literals[at]


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | Num) and not isinstance(cell, bool)


@given(_ROWS, st.integers(1, 40))
def test_columns_agree_with_a_cell_by_cell_reference(rows: list[dict[str, Any]], batch: int) -> None:
    """Order of columns, nulls, numeric range and distinct values are those a loop over the cells finds."""
    columns = _columns(rows, batch)
    assert list(columns) == list(dict.fromkeys(name for row in rows for name in row))
    for name, column in columns.items():
        cells = [row.get(name) for row in rows]
        assert column.nulls == sum(cell is None for cell in cells)
        numbers = [Decimal(str(cell)) for cell in cells if _is_number(cell)]
        if numbers:
            assert column.low is not None
            assert column.high is not None
            assert (Decimal(column.low), Decimal(column.high)) == (min(numbers), max(numbers))
        else:
            assert column.low is None
        if not any(isinstance(cell, dict | list) for cell in cells):
            others = {(type(cell), cell) for cell in cells if cell is not None and not _is_number(cell)}
            assert column.distinct == len(set(numbers)) + len(others)


@given(_ROWS, st.integers(1, 40))
def test_batches_do_not_matter_while_values_are_few(rows: list[dict[str, Any]], batch: int) -> None:
    """The same rows in other batches give the same columns."""
    assert _columns(rows, batch) == _columns(rows)


def test_high_cardinality_keeps_the_range_and_gives_up_the_values() -> None:
    """A column of many values has no distinct count, and its exact range all the same."""
    rows = [{"id": (7919 * n) % 10_007, "name": f"user {n}"} for n in range(10_007)]
    columns = _columns(rows)
    assert (columns["id"].low, columns["id"].high, columns["id"].distinct) == ("0", "10006", None)
    assert columns["name"] == Column("name", ("str",), 0)


def test_integers_beyond_two_to_the_53rd_stay_exact() -> None:
    """Neighbouring integers that one float stands for are told apart, as ints and as texts."""
    low, high = 2**53, 2**53 + 1
    columns = _columns([{"n": high, "t": str(high)}, {"n": low, "t": str(low)}])
    assert (columns["n"].low, columns["n"].high) == (str(low), str(high))
    assert (columns["t"].low, columns["t"].high) == (str(low), str(high))


def test_float_literals_are_those_of_the_payload() -> None:
    """Decoded floats are shown by the literal the reader finds, also after the column has many values."""
    literals = [f"{n}.50" if n % 2 else f"{n}.0e0" for n in range(2_000)]
    stats = TableStats()
    for start in range(0, len(literals), BATCH):
        part = literals[start : start + BATCH]
        stats.feed_objects([{"x": float(text)} for text in part], _finder(part))
    (column,) = stats.finish()
    assert (column.low, column.high) == ("0.0e0", "1999.50")


def test_few_floats_are_counted_by_their_literals() -> None:
    """A low-cardinality float column lists its values as they were spelled."""
    literals = ["1.10", "2.50", "1.10"]
    stats = TableStats()
    stats.feed_objects([{"x": float(text)} for text in literals], _finder(literals))
    (column,) = stats.finish()
    assert column.top == (("1.10", 2), ("2.50", 1))


def test_true_one_and_one_point_zero_are_not_mixed_up() -> None:
    """Python's equal values are counted by type; equal numbers are one value."""
    column = _columns([{"x": True}, {"x": 1}, {"x": Num("1.0")}, {"x": "1"}])["x"]
    assert column.distinct == 3
    assert set(column.types) == {"bool", "float", "str"}


def test_missing_cells_are_nulls_and_surplus_cells_a_column() -> None:
    """Ragged rows lose nothing."""
    stats = TableStats(text_cells=True)
    stats.feed_rows(["a", "b"], [["1", "x"], ["2"], ["3", "y", "more"], [""]])
    a, b, surplus = stats.finish()
    assert (a.types, a.nulls, a.low, a.high) == (("int",), 1, "1", "3")
    assert (b.nulls, surplus.name, surplus.nulls) == (2, "column_3", 3)


def test_columns_of_one_name_stay_apart() -> None:
    """A header that says the same name twice means two columns."""
    stats = TableStats(text_cells=True)
    stats.feed_rows(["n", "n"], [["1", "x"], ["2", "y"]])
    first, second = stats.finish()
    assert (first.types, second.types) == (("int",), ("str",))


@pytest.mark.parametrize(
    "ascending",
    [
        ["-5", "30", "213"],
        ["0.99", "1", "25.86"],
        ["999", "1,234.50", "12,000"],
        ["$20.50", "$4,000"],
        ["3.5%", "12 %"],
        ["2e-1", "1e3"],
        ["2023-12-31", "2024-03-01"],
        ["2024-01-02T09:59:59.5Z", "2024-01-02T10:00:00Z"],
        ["2024-01-01T10:00:00+02:00", "2024-01-01T09:00:00+00:00"],
        ["2024-01-01 09:59", "2024-01-01 10:00"],
        ["13/02/2024", "01/03/2024"],
        ["02/13/2024 11:00 AM", "02/13/2024 3:04 PM"],
        ["31.12.2023", "1.1.2024"],
        ["31.12.2023 23:59", "1.1.2024 00:01"],
        ["13-02-2024", "01-03-2024"],
        ["02-13-2024 11:00", "02-14-2024 09:00"],
        ["20231231T235959Z", "20240101T000000Z"],
        ["10/Oct/2000:13:55:36 +0000", "10/Oct/2000:13:55:36 -0700"],
        ["Mon Jan 2 15:04:05 2006 +0100", "Tue Jan 3 15:04:05 2006 +0100"],
        ["Sun, 01 Jan 2006 15:04:05 GMT", "Mon, 02 Jan 2006 15:04:05 GMT"],
        ["Feb 2, 2004", "January 12, 2005"],
        ["Sun Aug 31 00:29:02 +0000 2014", "Mon Sep 01 00:29:01 +0000 2014"],
        [" 2 ", "10"],
    ],
)
def test_number_and_date_texts_are_ordered_by_what_they_mean(ascending: list[str]) -> None:
    """Usual spellings are compared as numbers and dates, and shown as they stand."""
    for texts in (ascending, ascending[::-1]):
        column = _texts(*texts)
        assert (column.low, column.high) == (ascending[0].strip(), ascending[-1].strip())


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "012"],  # leading zeros: names, not numbers
        ["1_000", "2"],
        ["nan", "inf"],
        ["$1", "€2"],  # two currencies have no order
        ["01/02/2024", "03/04/2024"],  # which is the month?
        ["01-02-2024", "03-04-2024"],
        ["2024-13-45", "2024-99-99"],
        ["2024-01-01T10:00:00Z", "2024-01-01T10:00:00"],  # with and without a zone
        ["a1", "b2"],
        ["1.234,5", "2.5"],  # a decimal comma and a decimal point
        ["10 kg", "12 kg"],
        ["192.168.100.200", "192.168.100.201"],  # addresses
        ["", "-"],
    ],
)
def test_what_has_no_certain_order_has_no_range(texts: list[str]) -> None:
    """A range is exact or absent."""
    assert _texts(*texts).low is None


def test_a_few_strays_do_not_hide_a_range() -> None:
    """Up to a fifth of other texts leaves the range of the rest, and both types are named."""
    column = _texts(*map(str, range(20, 40)), "N/A", text_cells=True)
    assert (column.types, column.low, column.high) == (("int", "str"), "20", "39")


def test_types_of_text_cells_are_read_from_the_texts() -> None:
    """A CSV column of whole numbers is int; JSON strings of digits stay texts with a range."""
    assert _texts("1", "2", text_cells=True).types == ("int",)
    assert _texts("1", "2").types == ("str",)
    assert _texts("True", "false", text_cells=True).types == ("bool",)
    assert _texts("2024-01-01", text_cells=True).types == ("date",)


def test_huge_cells_and_many_columns_stay_bounded() -> None:
    """Neither long values nor ever new keys are kept without limit."""
    stats = TableStats()
    for start in range(0, MAX_COLUMNS + BATCH, BATCH):
        stats.feed_objects([{f"k{n}": "v" * 500} for n in range(start, start + BATCH)])
    assert stats.full
    assert len(stats.finish()) == MAX_COLUMNS
    big = _columns([{"x": f"{n}" * 500} for n in range(1_500)])["x"]
    assert (big.distinct, big.top) == (None, ())


@pytest.mark.parametrize(
    ("cells", "types", "ends"),
    [
        (["83,240,525", "632,275"], ("int",), ("632,275", "83,240,525")),
        (["$952,110", "$1,332,539"], ("int",), ("$952,110", "$1,332,539")),
        (["1,234.5", "2,000"], ("float",), ("1,234.5", "2,000")),
        (["12%", "50%"], ("float",), ("12%", "50%")),
        (["2026-11-28 14:29:41.08+00", "2026-11-28 01:00:00-05"], ("datetime",), None),
        (["2026-11-28 14:29:41+00", "2026-11-27 23:00:00+00"], ("datetime",), None),
        (["(1,2)", "(3,4)"], ("str",), (None, None)),
        (["(1,200)", "3,400"], ("int",), ("(1,200)", "3,400")),
    ],
)
def test_what_texts_are(cells: list[str], types: tuple[str, ...], ends: tuple[str | None, str | None] | None) -> None:
    """Grouped digits without a fraction are whole; zones may be hours alone; pairs in brackets are no amounts."""
    column = _texts(*cells, text_cells=True)
    assert column.types == types
    assert ends is None or (column.low, column.high) == ends


@given(st.lists(st.text(max_size=12), min_size=1, max_size=30))
def test_any_texts_whatever_are_taken(texts: list[str]) -> None:
    """No text raises, and every literal kept is one of them."""
    column = _texts(*texts, text_cells=True)
    for literal in (column.low, column.high, *(text for text, _ in column.top)):
        assert literal is None or literal in texts


@given(st.lists(st.from_regex(r"[0-9$,.:/ +-]{0,14}", fullmatch=True), min_size=1, max_size=30))
def test_anything_near_numbers_and_dates_is_taken(texts: list[str]) -> None:
    """Half-numbers and impossible dates raise nothing either."""
    column = _texts(*texts)
    assert json.dumps([column.low, column.high])
