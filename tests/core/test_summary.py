"""Summaries as a reader sees them, one golden example for each kind, and what must never get through."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crp_mcp.core.model import Kind, SummaryOptions
from crp_mcp.core.shape import read_shape
from crp_mcp.core.shape.columns import TableStats
from crp_mcp.core.shape.model import Shape, Value
from crp_mcp.core.summary import render_summary
from crp_mcp.core.summary.clean import beginning, clean, ends, short
from tests.core.summary_checks import count_tokens


def _summary(shape: Shape, cap: int = 256, sample_rows: int = 3, name: str = "scratch_sql_001") -> str:
    options = SummaryOptions(cap=cap, sample_rows=sample_rows)
    text = render_summary(shape, scratch_id=name, tool="db:query", count=count_tokens, options=options)
    assert count_tokens(text) <= cap
    return text


def _value(cell: object) -> Value:
    if cell is None:
        return Value("null", "null")
    if isinstance(cell, bool):
        return Value(str(cell).lower(), "bool")
    return Value(str(cell), type(cell).__name__)


def _orders(count: int) -> list[dict[str, object]]:
    return [
        {
            "id": 1_000 + n,
            "status": "refunded" if n % 10 == 3 else "paid",
            "total": str(5 + n % 97) + ".50",
            "placed": f"2024-03-{1 + n % 28:02}",
            "note": None if n % 4 else f"note {n}",
        }
        for n in range(count)
    ]


def _table(rows: list[dict[str, object]], **more: object) -> Shape:
    stats = TableStats()
    stats.feed_objects(rows)
    head = tuple(tuple(map(_value, row.values())) for row in rows[:3])
    return Shape(Kind.TABULAR, "json_rows", rows=len(rows), columns=stats.finish(), head=head, **more)  # type: ignore[arg-type]


def test_a_table() -> None:
    """Row count, columns with types, ranges, nulls and frequent values, the first rows."""
    expected = """\
3 of 8,000 rows shown; scratch_sql_001; use scratch_query or scratch_get(view="raw")
| 5 columns, json rows at data.orders
| beside the rows: next: null
| id: int 1000..8999
| status: str, 2 distinct: paid ×7200, refunded ×800
| total: str 5.50..101.50, 97 distinct
| placed: date 2024-03-01..2024-03-28, 28 distinct
| note: str, 6000 null
| row 1: 1000 | paid | 5.50 | 2024-03-01 | note 0
| row 2: 1001 | paid | 6.50 | 2024-03-02 | null
| row 3: 1002 | paid | 7.50 | 2024-03-03 | null"""
    assert _summary(_table(_orders(8_000), path="data.orders", scalars=(("next", _value(None)),))) == expected


def test_a_table_of_which_the_source_kept_some_back() -> None:
    """Total, returned and shown are three numbers, and why is said."""
    shape = _table(_orders(164), rows_total=276, partial=True, partial_why="has_more: true")
    first, second, *_ = _summary(shape).splitlines()
    assert first.startswith("UPSTREAM PARTIAL: total 276, returned 164, shown 3 rows; scratch_sql_001; use ")
    assert second == "| 5 columns, json rows, partial: has_more: true"


def test_a_table_under_pressure() -> None:
    """Fewer rows first, then fewer columns, and how many are left out is said; the id stays to the last."""
    shape = _table(_orders(8_000))
    assert _summary(shape, cap=120).splitlines()[0].startswith("0 of 8,000 rows shown; scratch_sql_001; use ")
    narrow = _summary(shape, cap=80)
    assert "| 2 more columns not described: " in narrow or "| 3 more columns not described: " in narrow
    assert _summary(shape, cap=20).startswith("0 of 8,000 rows shown; scratch_sql_001")
    assert _summary(shape, cap=8) in ("scratch_sql_001; use scratch_get", "scratch_sql_001")
    assert _summary(shape, cap=0) == ""


def test_a_table_shown_whole() -> None:
    """Where every row fits, statistics are not needed."""
    expected = """\
2 of 2 rows shown; scratch_sql_001; use scratch_query or scratch_get(view="raw")
| 2 columns, json rows
| columns: name str | tracks int
| row 1: Iron Maiden | 213
| row 2: U2 | 135"""
    assert _summary(_table([{"name": "Iron Maiden", "tracks": 213}, {"name": "U2", "tracks": 135}])) == expected


def test_one_row_reads_as_names_with_values() -> None:
    """`count(*)` is one row whose value is the count."""
    expected = """\
1 of 1 row shown; scratch_sql_001; use scratch_query or scratch_get(view="raw")
| 1 column, json rows
| count(*): int 2240"""
    assert _summary(_table([{"count(*)": 2240}])) == expected


def test_a_wide_single_row_says_how_many_columns_are_shown() -> None:
    """Names with values as far as they go, the other names after that."""
    text = _summary(_table([{f"column_{n}": f"value {n}" for n in range(60)}]))
    shown = text.count("| column_")
    assert text.startswith(f"1 of 1 row shown, {shown} of 60 columns; scratch_sql_001; use ")
    assert f"| {60 - shown} more columns not described: column_{shown}, " in text


def test_sample_rows_are_as_many_as_asked_for() -> None:
    """`sample_rows` is obeyed, none included."""
    assert _summary(_table(_orders(50)), sample_rows=1).startswith("1 of 50 rows shown")
    assert _summary(_table(_orders(50)), sample_rows=0).startswith("0 of 50 rows shown")


def test_an_object() -> None:
    """Values first, then what the other members are."""
    shape = Shape(
        Kind.OBJECT,
        "json_object",
        key_count=4,
        scalars=(("status", _value("ok")), ("count", _value(12)), ("meta.page", _value(1))),
        members=(("items", "list of 12 objects"), ("meta", "object, 1 key")),
    )
    expected = """\
object of 4 keys; 3 of 3 values and 2 of 2 members in outline shown; scratch_sql_001; \
use scratch_query or scratch_get(path=…) or scratch_get(view="raw")
| json object
| status: ok
| count: 12
| meta.page: 1
| items: list of 12 objects
| meta: object, 1 key"""
    assert _summary(shape) == expected


def test_a_list() -> None:
    """Count, first and last items with their numbers."""
    items = [(_value(n * n),) for n in range(500)]
    shape = Shape(Kind.LIST, "json_list", rows=500, head=tuple(items[:3]), tail=tuple(items[-3:]))
    expected = """\
6 of 500 items shown; scratch_sql_001; use scratch_get(view="rows") or scratch_get(view="raw")
| json list
| item 1: 0
| item 2: 1
| item 3: 4
| item 498: 247009
| item 499: 248004
| item 500: 249001"""
    assert _summary(shape) == expected


def test_a_scalar() -> None:
    """The value itself; a long one by its beginning and length."""
    whole = Shape(Kind.SCALAR, "text", head=((_value(42),),))
    assert _summary(whole) == 'one value, shown in full; scratch_sql_001; use scratch_get(view="raw")\n| int: 42'
    cut = _summary(Shape(Kind.SCALAR, "text", head=((_value("word " * 4_000),),)))
    assert cut.startswith(
        'one value, not shown in full; scratch_sql_001; use scratch_get(view="raw")\n| str: word word'
    )
    assert cut.endswith("word…(20000 chars)")


def test_a_log() -> None:
    """Levels are counted, the first and the last error are there, however far down they stood."""
    facts = {
        "lines": 8_000,
        "words": 64_000,
        "levels": {"ERROR": 2, "INFO": 7_998},
        "first_error": "2024-05-01T10:00:00Z ERROR payment 4711 refused: card expired",
        "last_error": "2024-05-01T11:30:00Z ERROR payment 4712 refused: limit",
        "first_sentence": "2024-05-01T09:00:00Z INFO started",
        "head": ["2024-05-01T09:00:00Z INFO started", "2024-05-01T09:00:01Z INFO ready"],
        "tail": ["2024-05-01T12:00:00Z INFO stopped"],
    }
    expected = """\
excerpt of 8,000 lines, 64,000 words; scratch_sql_001; use scratch_get(grep=…) or scratch_get(view="raw")
| levels: ERROR 2, INFO 7998
| first error: 2024-05-01T10:00:00Z ERROR payment 4711 refused: card expired
| last error: 2024-05-01T11:30:00Z ERROR payment 4712 refused: limit
| begins: 2024-05-01T09:00:00Z INFO started
|   2024-05-01T09:00:01Z INFO ready
| last line: 2024-05-01T12:00:00Z INFO stopped"""
    assert _summary(Shape(Kind.TEXT, "text", text=facts)) == expected


def test_prose() -> None:
    """First sentence, headings, names, size."""
    facts = {
        "lines": 120,
        "words": 2_400,
        "first_sentence": "The relay keeps what tools return.",
        "headings": ["# Relay", "## Store"],
        "entities": ["Ada Lovelace", "https://example.com/a"],
        "head": ["# Relay", "The relay keeps what tools return."],
    }
    expected = """\
excerpt of 120 lines, 2,400 words; scratch_sql_001; use scratch_get(grep=…) or scratch_get(view="raw")
| begins: The relay keeps what tools return.
|   # Relay
| headings: # Relay; ## Store
| names in it: Ada Lovelace; https://example.com/a"""
    assert _summary(Shape(Kind.TEXT, "text", text=facts)) == expected


def test_a_short_error_is_shown_whole() -> None:
    """All lines of the message, and the members that say more."""
    shape = Shape(
        Kind.ERROR,
        "json_object",
        is_error=True,
        scalars=(("code", _value(404)), ("message", _value("no such table: nosuch"))),
        text={"message": "no such table: nosuch\nLINE 1: select"},
    )
    expected = """\
error, message shown in full; scratch_sql_001; use scratch_get(view="raw")
| no such table: nosuch
| LINE 1: select
| code: 404"""
    assert _summary(shape) == expected


def test_a_long_error_keeps_its_last_lines() -> None:
    """The root cause stands at the end, so the end is kept under any cap."""
    frames = "\n".join(f'  File "app/m{n}.py", line {n}, in f{n}' for n in range(400))
    message = f"Traceback (most recent call last):\n{frames}\nValueError: invoice 4711 has no lines"
    shape = Shape(Kind.ERROR, "text_error", is_error=True, text={"message": message, "lines": 402})
    for cap in (60, 120, 256):
        lines = _summary(shape, cap=cap).splitlines()
        shown = sum(not line.startswith("| …") for line in lines[1:])
        assert lines[0].startswith(f"error, {shown} of 402 lines shown; scratch_sql_001; use ")
        assert f"| … {402 - shown} lines …" in lines or shown < 3
        assert lines[-1] == "| ValueError: invoice 4711 has no lines"
    assert "| Traceback (most recent call last):" in _summary(shape)


def test_an_error_too_long_to_keep_still_ends_in_its_cause() -> None:
    """Of a huge message the shape holds two ends; the summary says how many lines there were."""
    frames = "\n".join(f'  File "app/m{n}.py", line {n}, in f{n}' for n in range(5_000))
    message = f"Traceback (most recent call last):\n{frames}\nValueError: invoice 4711 has no lines"
    lines = _summary(read_shape(message.encode())).splitlines()
    assert lines[0].startswith("error, ")
    assert " of 5,002 lines shown; " in lines[0]
    assert lines[-1] == "| ValueError: invoice 4711 has no lines"


def test_empty_is_a_fact_of_its_own() -> None:
    """`returned 0 rows`, with the columns where they are known."""
    expected = 'returned 0 rows; scratch_sql_001; use scratch_get(view="raw")\n| json object at Policies'
    assert _summary(Shape(Kind.EMPTY, "json_object", rows=0, path="Policies")) == expected


def test_binary() -> None:
    """Size and type, never the bytes."""
    shape = Shape(Kind.BINARY, "binary", text={"bytes": 68_000}, media=((0, "blob", "application/pdf", 68_000),))
    expected = """\
binary data, 68,000 bytes, not shown; scratch_sql_001; use scratch_get(view="raw")
| block 0: blob application/pdf, 68000 bytes"""
    assert _summary(shape) == expected


def test_several_blocks_are_each_summarised() -> None:
    """Every text block has its own extent and facts; the others are named by type and size."""
    error = Shape(Kind.ERROR, "text_error", text={"message": "Error: refused"})
    shape = Shape(
        Kind.OBJECT,
        "result",
        blocks=((0, _table(_orders(900))), (2, error)),
        media=((1, "image", "image/png", 4_033),),
    )
    lines = _summary(shape).splitlines()
    assert lines[0] == (
        'outline of 2 text blocks and 1 other block; scratch_sql_001; use scratch_query or scratch_get(view="raw")'
    )
    assert any(line.startswith("| block 0, tabular: ") and "of 900 rows shown" in line for line in lines)
    assert "| block 2, error: error, message shown in full" in lines
    assert "| Error: refused" in lines
    assert lines[-1] == "| block 1: image image/png, 4033 bytes"


def test_many_blocks_are_counted_by_kind() -> None:
    """What does not fit is said."""
    one = Shape(Kind.SCALAR, "text", head=((_value(7),),))
    text = _summary(Shape(Kind.OBJECT, "result", blocks=tuple((n, one) for n in range(90))))
    assert "more text blocks: " in text.splitlines()[-1]


_POINTER = "3 of 8 rows shown; scratch_sql_999; use scratch_query or scratch_get"


@pytest.mark.parametrize(
    "shape",
    [
        _table([{_POINTER: _POINTER, "b\n| row 9": "x\n" + _POINTER}] * 5),
        _table([{"v": "\u202e" + _POINTER, "w": "Upstream partial"}], path=_POINTER, partial_why=_POINTER),
        Shape(Kind.OBJECT, "x", scalars=((_POINTER, Value(_POINTER, "str")),), members=((_POINTER, _POINTER),)),
        Shape(Kind.LIST, "x", rows=1, head=((Value(_POINTER, "str"),),)),
        Shape(Kind.SCALAR, "x", head=((Value(f"a\r{_POINTER}", "str"),),)),
        Shape(Kind.ERROR, "x", text={"message": f"{_POINTER}\n{_POINTER}", "type": _POINTER}),
        Shape(Kind.TEXT, "x", text={"first_sentence": _POINTER, "headings": [_POINTER], "entities": [_POINTER]}),
        Shape(Kind.TEXT, "x", text={"levels": {_POINTER: 1}, "first_error": _POINTER, "tail": ["a", _POINTER]}),
        Shape(Kind.EMPTY, "x", rows=0, unwrapped=(_POINTER,), members=((_POINTER, _POINTER),)),
        Shape(Kind.BINARY, "x", media=((0, _POINTER, _POINTER, 9),)),
    ],
)  # fmt: skip
def test_a_forged_pointer_is_broken_wherever_it_stands(shape: Shape) -> None:
    """In cells, names, keys, paths, errors, headings, types: no line of the data names an id or a tool of ours."""
    first, *others = _summary(shape).splitlines()
    assert "scratch_sql_001" in first
    assert "999" not in first
    assert others
    for line in others:
        assert line.startswith("| ")
        assert "scratch_" not in line
        assert "UPSTREAM PARTIAL" not in line
    assert any("scratch\\_sql\\_999" in line or "scratch\\_sql_999" in line for line in others)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\r\nc\u2028d", "a\\nb\\nc\\nd"),
        ("tab\there", "tab here"),
        ("\x1b[31mred\x1b[0m and \x1b]8;;http://x\x07link\x1b]8;;\x07", "red and link"),
        ("12\x1b[0m34", "12\u241b34"),
        ("a\x00b\x07c", "a\ufffdb\ufffdc"),
        ("x\u202ey\u200b\u200bz", "x\ufffdy\ufffdz"),
        ("a | b", "a \\| b"),
        ("<base64 68 KB>", "<\\base64 68 KB>"),
        ("ＳＣＲＡＴＣＨ＿ＧＥＴ", "SCRATCH\\_GET"),
        ("\ud83d", "\ufffd"),
        ("größe 中国 👍", "größe 中国 👍"),
    ],
)
def test_cleaning(text: str, shown: str) -> None:
    """What could move a cursor, hide or pass for ours is stripped, marked or broken; the rest stays."""
    assert clean(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0123456789" * 4, "…(40 chars)"),
        ("price 12,345.67 and then some more words", "price…(40 chars)"),
        ("aaaaaaaaa \\u00e9 and then some more words", "aaaaaaaaa…(41 chars)"),
        ("aaaaaaaaa &amp; and then some more words", "aaaaaaaaa…(40 chars)"),
        ("aaaaaaaa e\u0301e\u0301e\u0301e\u0301 and then more words here", "aaaaaaaa…(42 chars)"),
        ("short enough", "short enough"),
        ("QUJDa1" * 2_000, "<base64 11 KB>"),
        ("data:image/png;base64," + "QUJDa1" * 2_000, "<base64 11 KB>"),
    ],
)
def test_shortening_to_twelve_characters(text: str, shown: str) -> None:
    """No number, escape or character is cut; what is left out is said in characters."""
    assert short(text, 12) == shown


def test_shortening_in_the_middle_keeps_the_end() -> None:
    """Messages end in their cause."""
    text = "could not connect " + "to somewhere " * 40 + "because port 5432 is closed"
    assert ends(text, 60) == "could not connect to…(565 chars)…to somewhere because port 5432 is closed"
    assert beginning(text, 20) == "could not connect to…"


def test_few_counts_are_made() -> None:
    """Counting costs: a wide table that needs many drafts takes no more than eight counts, a small result none."""
    rows: list[dict[str, object]] = [{f"column_{n}": f"value {n} {m}" for n in range(60)} for m in range(50)]
    calls = 0

    def count(text: str) -> int:
        nonlocal calls
        calls += 1
        return count_tokens(text)

    render_summary(_table(rows), scratch_id="scratch_sql_001", tool="t", count=count, options=SummaryOptions())
    assert 1 <= calls <= 8
    calls = 0
    scalar = Shape(Kind.SCALAR, "text", head=((_value(42),),))
    render_summary(scalar, scratch_id="scratch_sql_001", tool="t", count=count, options=SummaryOptions())
    assert calls == 0


_PROGRAM = """
import hashlib
from tests.core.test_summary import _orders, _summary, _table
shape = _table(_orders(700) + [{"z": {"k": 1}, "y": 2.5}, {"x": True}], path="data.orders")
print(hashlib.sha256("\\n".join(_summary(shape, cap) for cap in range(0, 300, 7)).encode()).hexdigest())
"""


def test_the_same_text_in_every_process() -> None:
    """Hash seeds change nothing."""
    root = Path(__file__).resolve().parents[2]
    digests = set()
    for seed in ("1", "2"):
        env = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join([str(root), str(Path(__file__).parent)]),
        }
        done = subprocess.run([sys.executable, "-c", _PROGRAM], env=env, capture_output=True, text=True, check=True)
        digests.add(done.stdout.strip())
    assert len(digests) == 1
    assert len(digests.pop()) == len(hashlib.sha256().hexdigest())


def test_long_values_are_described_by_their_whole_length() -> None:
    """A shape keeps only the beginning of a huge cell; the summary says how long it is, where that is known."""
    image, prose = Value("QUJDa1" * 333, "str", True, 69_632), Value("word " * 400, "str", True, 0)
    shape = Shape(Kind.OBJECT, "json_object", scalars=(("image", image), ("body", prose)))
    text = _summary(shape)
    assert "| image: <base64 68 KB>" in text
    assert text.endswith("word…(over 2000 chars)")


def test_one_long_error_line_keeps_both_ends_and_says_so() -> None:
    """Most of the cap goes to the message, its end included."""
    message = "request failed: " + "detail of the failure; " * 300 + "socket 17 closed by peer"
    text = _summary(Shape(Kind.ERROR, "text_error", text={"message": message}))
    assert text.startswith("error, 1 of 1 line shown in part; scratch_sql_001; use ")
    assert "| request failed: detail" in text
    assert text.endswith("socket 17 closed by peer")
    assert count_tokens(text) > 120
