"""What an answer says of texts that a query uses as numbers, dates or truths, under whatever names and however deep."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from .support import Room
from .test_streams import orders, pages

WEIGHTS = [{"n": n, "weight": f"{n} kg", "city": "Oslo"} for n in range(8, 13)]


def said(room: Room, sql: str) -> str:
    result: dict[str, Any] = room.bench.tool("scratch_query", sql=sql)
    assert not result.get("isError"), result
    return str(result["content"][0]["text"])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x FROM (SELECT weight AS x FROM {t}) WHERE x > 9",
        "SELECT x + 1 FROM (SELECT weight x FROM {t})",
        "WITH q AS (SELECT weight AS w FROM {t}) SELECT count(*) FROM q WHERE w > 9",
        "WITH q(n, w) AS (SELECT n, weight FROM {t}) SELECT w FROM q ORDER BY w",
        "WITH q AS (SELECT weight AS w FROM {t}), r AS (SELECT w AS v FROM q) SELECT max(v) FROM r",
        "SELECT max(x) FROM (SELECT city AS x FROM {t} UNION ALL SELECT weight FROM {t})",
        "SELECT sum(x) FROM (SELECT trim(weight) AS x FROM {t})",
        "SELECT x FROM (SELECT CASE WHEN n > 9 THEN weight END AS x FROM {t}) ORDER BY x",
        "SELECT weight AS x FROM {t} ORDER BY x",
        "SELECT 1 FROM {t} WHERE coalesce(weight, '0') > 9",
        "SELECT 1 FROM {t} WHERE (weight) > 9",
    ],
)
def test_a_text_is_followed_under_other_names(room: Room, sql: str) -> None:
    """What a subquery, a common table expression or AS calls otherwise is still the text it was."""
    assert "NOTE: weight: texts" in said(room, sql.format(t=room.capture(WEIGHTS)))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(n) FROM (SELECT weight, count(*) AS n FROM {t} GROUP BY weight)",
        "SELECT x FROM (SELECT length(weight) AS x FROM {t}) WHERE x > 2",
        "SELECT x FROM (SELECT weight AS x FROM {t}) WHERE x = '9 kg'",
        "SELECT sum(weight = '9 kg') FROM {t}",
        "SELECT sum(CASE WHEN weight LIKE '%kg' THEN 1 ELSE 0 END) FROM {t}",
        "SELECT max(n) FROM (SELECT n, weight FROM {t})",
    ],
)
def test_what_is_no_longer_that_text_is_not_warned_of(room: Room, sql: str) -> None:
    """Counts, lengths and equality are right as they are, and nothing is said of them."""
    assert "NOTE" not in said(room, sql.format(t=room.capture(WEIGHTS)))


def test_dates_that_were_not_converted_are_not_compared_in_silence(room: Room) -> None:
    """`03/04/2024` may be two days: order, range and date functions say that these are texts; equality does not."""
    days = [{"d": f"{1 + n % 12:02}/{1 + n * 5 % 12:02}/2024", "v": f"1.{n}.0"} for n in range(40)]
    name = room.capture(days)
    for sql in (
        "max(d) FROM {t}",
        "d FROM {t} ORDER BY d",
        "count(*) FROM {t} WHERE d >= '2024-02-01'",
        "strftime('%m', d) FROM {t}",
        "max(x) FROM (SELECT d AS x FROM {t})",
    ):
        assert "NOTE: d: dates" in said(room, "SELECT " + sql.format(t=name)), sql
    for sql in ("d, count(*) FROM {t} GROUP BY d", "count(*) FROM {t} WHERE d = '03/04/2024'"):
        assert "NOTE" not in said(room, "SELECT " + sql.format(t=name)), sql


def test_words_for_true_and_false_are_not_taken_for_numbers(room: Room) -> None:
    """A CSV's `true` is a word: a sum or a bare condition would count none of them, and says so."""
    name = room.capture("id,ok\n" + "".join(f"{n},{'true' if n % 3 else 'false'}\n" for n in range(60)))
    for sql in ("sum(ok)", "count(*)", "count(*)", "count(*)", "sum(CASE WHEN ok THEN 1 END)"):
        where = {"count(*)": " WHERE ok"}.get(sql, "")
        assert "NOTE: ok: the words" in said(room, f"SELECT {sql} FROM {name}{where}"), sql
    for where in ("ok = 1", "ok = true", "NOT ok", "id > 3 AND ok", "ok IS TRUE"):
        assert "NOTE: ok: the words" in said(room, f"SELECT count(*) FROM {name} WHERE {where}"), where
    for where in ("ok = 'true'", "ok IS NOT NULL", "id IN (1, 2)"):
        assert "NOTE" not in said(room, f"SELECT count(*), sum(ok = 'true') FROM {name} WHERE {where}"), where


def test_true_and_false_in_json_are_numbers(room: Room) -> None:
    """JSON's own booleans add up, and nothing needs to be said."""
    name = room.capture([{"n": n, "ok": bool(n % 3)} for n in range(60)])
    assert room.rows(f"SELECT sum(ok), count(*) FROM {name} WHERE ok") == [[40, 40]]
    assert "NOTE" not in said(room, f"SELECT sum(ok), count(*) FROM {name} WHERE ok")


def test_amounts_spelled_as_text_inside_nested_json_are_not_reckoned_with_in_silence(room: Room) -> None:
    """Nested values are not converted: `"1,200.50"` would count as 1, so whoever adds or compares them is told."""
    name = room.capture(
        [{"id": n, "price": {"amount": f"1,{n}00.50", "net": n, "at": f"2024-01-0{n}"}} for n in range(1, 9)]
    )
    for sql in (
        "sum(json_extract(price, '$.amount')) FROM {t}",
        "avg(price ->> '$.amount') FROM {t}",
        "id FROM {t} WHERE price ->> 'amount' > 1000",
        "max(a) FROM (SELECT json_extract(price, '$.amount') AS a FROM {t})",
        "id FROM {t} ORDER BY json_extract(price, '$.amount')",
    ):
        assert "NOTE: price '" in said(room, "SELECT " + sql.format(t=name)), sql
    for sql in (
        "sum(json_extract(price, '$.net')) FROM {t}",
        "id FROM {t} WHERE price ->> '$.at' >= '2024-01-05'",
        "price ->> '$.amount' FROM {t}",
    ):
        assert "NOTE" not in said(room, "SELECT " + sql.format(t=name)), sql


@pytest.mark.parametrize(("sign", "read"), [(",", "1234"), (".", "1.234")])
def test_a_reading_that_nothing_decides_is_named(room: Room, sign: str, read: str) -> None:
    """`1.234` alone is read the English way: the answer says of which text, and that it could be the other."""
    rows = [f"{n};{1 + n % 9}{sign}{(234 + 10 * n) % 1000:03}" for n in range(40)]
    name = room.capture("id;x\n" + "\n".join(rows) + "\n")
    assert f"NOTE: x: 1{sign}234 was read as {read}; nothing in the column says" in said(
        room, f"SELECT sum(x) FROM {name}"
    )
    sure = room.capture("id;x\n" + "\n".join([*rows, f"90;1{sign}500{'.5' if sign == ',' else '0'}"]) + "\n")
    assert "was read as" not in said(room, f"SELECT sum(x) FROM {sure}")


def test_a_stream_is_no_result_and_says_how_it_is_read(room: Room) -> None:
    """`scratch_get` of a stream names its results and the query that reads them as one."""
    stream, ids = pages(room.bench, [orders(0), orders(3), orders(6)])
    result = room.bench.tool("scratch_get", scratch_id=stream)
    text = result["content"][0]["text"]
    assert result["isError"]
    assert f"newest first {', '.join(reversed(ids))}: read one" in text
    assert f"SELECT * FROM {stream}" in text


def test_null_in_what_a_database_client_draws_is_null(room: Room) -> None:
    """MySQL's NULL is counted as null and leaves numbers numbers; in a CSV the word is a text like any other."""
    rule = "+----+------+------+\n"
    rows = "".join(f"| {n:>2} | {'NULL' if n % 2 else n:>4} | {'NULL' if n % 3 else 'x':<4} |\n" for n in range(10, 70))
    name = room.capture(f"{rule}| id | v    | k    |\n{rule}{rows}{rule}60 rows in set (0.00 sec)\n")
    evens = [n for n in range(10, 70) if n % 2 == 0]
    assert room.rows(f"SELECT count(*), count(v), sum(v), avg(v), count(k) FROM {name}") == [
        [60, len(evens), sum(evens), sum(evens) / len(evens), sum(n % 3 == 0 for n in range(10, 70))]
    ]
    words = room.capture("id,k\n" + "".join(f"{n},{'NULL' if n % 3 else 'x'}\n" for n in range(60)))
    assert room.one(f"SELECT count(*) FROM {words} WHERE k = 'NULL'") == 40


def test_cells_of_a_page_of_rows_are_json(room: Room) -> None:
    """Nested values, true and false come as they stand in JSON, never as another language writes them."""
    name = room.capture([{"n": n, "ok": n == 1, "deep": {"a": [1.10, None, True, "é"]}} for n in range(90)])
    text = room.bench.tool("scratch_get", scratch_id=name, view="rows", limit=2)["content"][-1]["text"]
    assert text.splitlines()[:3] == [
        "n,ok,deep",
        '0,false,"{""a"":[1.1,null,true,""é""]}"',
        '1,true,"{""a"":[1.1,null,true,""é""]}"',
    ]


def test_match_on_a_table_without_text_says_what_to_use(room: Room) -> None:
    """Rows have columns, not one text: the error names these, and none that the query did not."""
    name = room.capture(WEIGHTS)
    for term in ("text", name):
        text = room.bench.tool("scratch_query", sql=f"SELECT n FROM {name} WHERE {term} MATCH 'kg'")["content"][0][
            "text"
        ]
        assert "no such column: text; MATCH works on texts and logs; here use LIKE or REGEXP" in text
        assert "weight" in text


def test_the_line_above_the_rows_is_part_of_the_page(room: Room) -> None:
    """Notes, sources and rows together stay within max_tokens."""
    rows = [{"n": n, "weight": f"{n} kg", "price": f"${n}.10", "at": f"{1 + n % 28}.12.2024"} for n in range(900)]
    first, second = room.capture(rows), room.capture(rows)
    count = room.bench.engine.counter().count
    for most in (400, 1000, 2000):
        sql = f"SELECT a.*, b.price FROM {first} a JOIN {second} b USING (n) ORDER BY a.weight"
        content = room.bench.tool("scratch_query", sql=sql, max_tokens=most)["content"]
        tokens = sum(count(block["text"]) for block in content)
        assert most - 120 < tokens <= most, (most, tokens)


@pytest.mark.parametrize("spell", ["%d-%b-%y", "%d-%b-%Y", "%d %B %Y"])
@pytest.mark.parametrize("case", [str.upper, str.title])
def test_dates_with_named_months_are_dates_in_either_case(room: Room, spell: str, case: Callable[[str], str]) -> None:
    """Oracle's 01-AUG-23 too: years of two digits are of this century up to 68."""
    days = [date(2022, 11, 28) + timedelta(days=40 * n) for n in range(20)] + [date(2068, 1, 2)]
    name = room.capture([{"n": n, "d": case(day.strftime(spell))} for n, day in enumerate(days)])
    assert room.rows(f"SELECT min(d), max(d), count(*) FROM {name}") == [["2022-11-28", "2068-01-02", 21]]
    assert room.rows(f"SELECT d FROM {name} ORDER BY n") == [[day.isoformat()] for day in days]
    old = room.capture([{"n": n, "d": f"0{n}-MAR-{97 + n}"} for n in range(1, 3)])
    assert room.rows(f"SELECT d FROM {old} ORDER BY d") == [["1998-03-01"], ["1999-03-02"]]


SHIPPED = [
    {
        "n": n,
        "city": ("Oslo", "Rome")[n % 2],
        "sent": f"2024-05-0{1 + n % 9}T1{n % 10}:00:00Z",
        "day": f"2024-05-1{n % 10}",
        "month": f"2024-0{1 + n % 9}",
        "paid": n % 2 == 0,
        "items": [{"price": f"${n}.50", "count": 2}],
        "sums": ["$1.50", "$2"],
    }
    for n in range(20)
]


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        ("SELECT city + '-' + city FROM {t}", "city: texts, of which + - * / took"),
        ("SELECT count(*) FROM {t} WHERE sent > '2024-05-03 10:00:00'", "sent: one side of a comparison has a T"),
        ("SELECT count(*) FROM {t} WHERE sent > datetime('now', '-1 day')", "sent: one side of a comparison has a T"),
        ("SELECT x FROM (SELECT sent AS x FROM {t}) WHERE x > '2024-05-03 10:00'", "sent: one side of a comparison"),
        ("SELECT count(*) FROM {t} WHERE day = '03/05/2024'", "day: its dates are written like 2024-05-31"),
        ("SELECT count(*) FROM {t} WHERE day BETWEEN '1 May 2024' AND '3 May 2024'", "day: its dates are written like"),
        ("SELECT count(*) FROM {t} WHERE day > CURRENT_DATE - 30", "+ and - take its year alone"),
        ("SELECT day - sent FROM {t}", "sent, day: a date is a text, and + and - take its year alone"),
        ("SELECT date('now') - date(day) FROM {t}", "+ and - take its year alone"),
        ("SELECT strftime(day, '%Y') FROM {t}", "strftime takes the format first"),
        ("SELECT count(*) FROM {t} WHERE city <> NULL", "write IS NULL or IS NOT NULL"),
        ("SELECT count(*) FROM {t} WHERE paid = 'true'", "paid: true and false are 1 and 0 here"),
        ("SELECT sum(e.value ->> '$.price') FROM {t}, json_each(items) e", "items '$' '$.price': texts"),
        ("SELECT sum(json_extract(value, '$.price')) FROM {t} a, json_each(a.items)", "items '$' '$.price': texts"),
        ("SELECT strftime('%Y', month) FROM {t}", "month: months without a day"),
        ("SELECT sum(value) FROM {t}, json_each(sums)", "sums '$': texts"),
        ("SELECT sum(value) FROM {t}, json_each(sums, '$[#-1]')", "sums '$[#-1]': texts"),
    ],
)
def test_what_sqlite_lets_pass_is_said(room: Room, asked: str, note: str) -> None:
    """Queries that run, and mean something else than whoever wrote them, say so."""
    assert note in said(room, asked.format(t=room.capture(SHIPPED)))


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT count(*) FROM {t} WHERE datetime(sent) > datetime('now', '-1 day') AND sent > '2024-05-03'",
        "SELECT count(*) FROM {t} WHERE sent >= '2024-05-03T10:00:00' AND day BETWEEN '2024-05-01' AND '2024-05-31'",
        "SELECT julianday('now') - julianday(day), strftime('%Y', sent) - 1, n - 1 FROM {t}",
        "SELECT month, count(*), date(month || '-01') FROM {t} WHERE month > '2024-03' GROUP BY month",
        "SELECT max(day), min(sent) FROM {t} WHERE sent LIKE '2024-05%' AND city IS NOT NULL",
        "SELECT count(*) FROM {t} WHERE paid AND paid = 1 AND paid = true",
        "SELECT sum(e.value ->> '$.count') FROM {t}, json_each(items) e",
        "SELECT value, count(*) FROM {t}, json_each(sums, '$') GROUP BY value",
    ],
)
def test_what_is_meant_as_it_is_written_is_not_commented(room: Room, asked: str) -> None:
    """The same questions asked rightly get no note."""
    assert "NOTE" not in said(room, asked.format(t=room.capture(SHIPPED)))
