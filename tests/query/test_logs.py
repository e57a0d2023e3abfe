"""Logs as tables: a row is a record, with all its lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from crp_mcp.query.lines import COLUMNS_LOG, COLUMNS_TEXT, MOST_LINES, text_rows
from tests.query.support import Room
from tests.relay.support import bench

PYTHON = [
    "Traceback (most recent call last):",
    '  File "a.py", line 1, in <module>',
    "    run()",
    "ValueError: no such job",
]
JAVA = [
    "java.lang.IllegalStateException: closed",
    "\tat org.acme.Db.open(Db.java:17)",
    "Caused by: java.io.IOException",
    "\t... 3 more",
]


@pytest.fixture
def room(tmp_path: Any) -> Iterator[Room]:
    with bench(tmp_path) as made:
        yield Room(made)


def read(lines: list[str], at_once: int = 1_000) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    columns, batches = text_rows([lines[at : at + at_once] for at in range(0, len(lines), at_once)])
    return columns, [row for batch in batches for row in batch]


@pytest.mark.parametrize("more", [PYTHON, JAVA, ["  indented", "", "  after a blank"], ["{", '  "a": 1', "}"]])
@pytest.mark.parametrize("at_once", [1, 3, 1_000])
def test_a_record_has_all_its_lines(more: list[str], at_once: int) -> None:
    """What follows a line without a time of its own goes on with its message, wherever pieces of the log end."""
    lines: list[str] = []
    for n in range(20):
        lines += [f"2024-05-01 10:00:{n:02d} INFO ok {n}", f"2024-05-01 10:01:{n:02d} ERROR job {n} failed", *more]
    columns, rows = read(lines, at_once)
    assert columns == COLUMNS_LOG
    assert len(rows) == 40
    number, text, ts, level, message = rows[3]
    assert (number, ts, level) == (len(more) + 4, "2024-05-01 10:01:01", "ERROR")
    assert text.split("\n") == ["2024-05-01 10:01:01 ERROR job 1 failed", *more]
    assert message.split("\n") == ["job 1 failed", *more]


def test_levels_without_times_keep_tracebacks_too() -> None:
    """Only what looks like the rest of a record is taken for it; other lines are rows."""
    columns, rows = read(["INFO: start", "ERROR: boom", *PYTHON, "WARN: late", "plain words", "INFO: end"])
    assert columns == COLUMNS_LOG
    assert [(row[0], row[3]) for row in rows] == [(1, "INFO"), (2, "ERROR"), (7, "WARN"), (8, None), (9, "INFO")]


def test_few_records_with_long_tails_are_a_log() -> None:
    """A text that begins with a time, and goes on so, is a log although most of its lines have none."""
    lines = [
        line for n in range(3) for line in (f"2024-05-01T10:00:0{n}Z request", *[f"header-{k}: x" for k in range(12)])
    ]
    columns, rows = read(lines)
    assert (columns, len(rows)) == (COLUMNS_LOG, 3)


@pytest.mark.parametrize(
    "text", ["Dear Bob,\nsee you at noon.\nINFO desk\nbye", "# Title\n\n  code\n  more code\n", "a\nb\n"]
)
def test_prose_is_no_log(text: str) -> None:
    """Every line stays a row."""
    columns, rows = read(text.split("\n"))
    assert (columns, len(rows)) == (COLUMNS_TEXT, len(text.split("\n")))


def test_a_log_that_ends_in_something_else_has_rows_of_bounded_length() -> None:
    """A million lines after the last time are no one record."""
    lines = [f"2024-05-01 10:00:{n:02d} INFO ok" for n in range(60)] + ["more"] * (3 * MOST_LINES)
    assert len(read(lines)[1]) == 63


def test_long_prefixes_before_the_time_begin_records() -> None:
    """An access log whose time stands late in the line has a row for each line."""
    lines = [
        f"2001:db8:85a3::8a2e:370:733{n % 9} - someone.long@mail.example [17/May/2015:10:05:{n:02d} +0000] ok"
        for n in range(30)
    ]
    assert len(read(lines)[1]) == 30


def test_the_failed_line_is_found_with_its_traceback(room: Room) -> None:
    """By level, by word of the traceback, by pattern; line numbers are those of the text."""
    lines = [f"2024-05-01 10:00:{n:02d} INFO ok" for n in range(40)]
    name = room.capture("\n".join([*lines[:20], "2024-05-01 10:00:20 ERROR job failed", *PYTHON, *lines[21:]]))
    for where in ("level = 'ERROR'", "text MATCH 'ValueError'", "message REGEXP 'no such job$'"):
        (row,) = room.rows(f"SELECT line_no, message FROM {name} WHERE {where}")
        assert row == [21, "\n".join(["job failed", *PYTHON])], where
    assert room.one(f"SELECT line_no FROM {name} WHERE ts = '2024-05-01 10:00:21'") == 26
