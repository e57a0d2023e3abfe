"""SQL as it is written for other databases: understood where it means the same, else told how to say it here."""

from __future__ import annotations

import pytest

from crp_mcp.errors import BadRequest, Refused
from tests.query.support import Room


@pytest.fixture(scope="module")
def table(room: Room) -> str:
    return room.capture(
        [
            {
                "id": n,
                "city": ("Oslo", "Rome")[n % 2],
                "x": n / 10,
                "d": f"2024-05-{n + 10}",
                "meta": {"who": {"name": "N"}},
            }
            for n in range(9)
        ]
    )


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("SELECT concat(city, '-', id, NULL) FROM {t} LIMIT 1", "Oslo-0"),
        ("SELECT CONCAT_WS('/', city, NULL, id) FROM {t} LIMIT 1", "Oslo/0"),
        ("SELECT STRING_AGG(id, '; ') FROM {t} WHERE id < 3", "0; 1; 2"),
        ("SELECT IF(id > 3, 'more', 'less') FROM {t} LIMIT 1", "less"),
        ("SELECT NVL(NULL, LEN(city)) FROM {t} LIMIT 1", 4),
        ("SELECT median(x) FROM {t}", 0.4),
        ("SELECT median(x) FROM {t} WHERE id < 2", 0.05),
        ("SELECT median(x) FROM {t} WHERE id > 99", None),
        ("SELECT count(*) FROM {t} WHERE city ILIKE 'O%'", 5),
        ("SELECT count(*) FROM {t} WHERE city NOT ILIKE '%S%'", 4),
        ("SELECT `city` FROM [{t}] WHERE city != 'Oslo' LIMIT 2, 1", "Rome"),
        ("SELECT count(*) FILTER (WHERE city = 'Rome') FROM {t}", 4),
    ],
)
def test_what_means_the_same_is_understood(room: Room, table: str, asked: str, given: object) -> None:
    """Functions that newer versions of SQLite have, or that it has under another name, work everywhere."""
    assert room.one(asked.replace("{t}", table)) == given


def test_columns_keep_the_names_they_were_asked_by(room: Room, table: str) -> None:
    """The name of a column says what the query said, and a column of the name of a function stays what it is."""
    assert room.answer(f"SELECT LEN(city) FROM {table}").columns == ("LEN(city)",)
    assert room.answer(f"SELECT id AS length, nvl(id, 0) AS b FROM {table}").columns == ("length", "b")


@pytest.mark.parametrize(
    ("asked", "instead"),
    [
        ("date_trunc('month', d)", "date(d, 'start of month')"),
        ("EXTRACT(YEAR FROM d)", "strftime('%Y', d)"),
        ("MONTH(d)", "strftime('%Y', d)"),
        ("now() - INTERVAL '30 days'", "datetime('now', '-30 days')"),
        ("DATEDIFF(day, d, d)", "julianday(a) - julianday(b)"),
        ("DATE_FORMAT(d, '%Y')", "strftime('%Y-%m', d)"),
        ("x::numeric(10,2)", "CAST(x AS INTEGER)"),
        ("x ^ 2", "power(a, b)"),
        ("city ~* 'o'", "REGEXP"),
        ("city ILIKE 'é%'", "REGEXP '(?i)pattern'"),
        ("LEFT(city, 2)", "substr(x, 1, n)"),
        ("ISNULL(x, 0)", "ifnull(x, 0)"),
        ("GREATEST(x, 2)", "max(a, b)"),
        ("array_agg(x)", "json_group_array(x)"),
        ("stddev(x)", "avg(x * x)"),
        ("meta #>> '{who,name}'", "->> '$.a.b'"),
        ("meta.who.name", "meta ->> '$.who.name'"),
        ("group_concat(DISTINCT city, ';')", "SELECT DISTINCT x"),
        ("count(DISTINCT city, id)", "SELECT DISTINCT a, b"),
        ("group_concat(city SEPARATOR ';')", "group_concat(x, '; ')"),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY x)", "OFFSET"),
        ("* EXCEPT (x)", "name the columns"),
        ("TOP 3 x", "LIMIT n"),
        ("DISTINCT ON (city) x", "row_number() OVER"),
    ],
)
def test_what_sqlite_lacks_is_told_how_to_be_said(room: Room, table: str, asked: str, instead: str) -> None:
    """The error for a word of another dialect has what SQLite says for it, so that the second try succeeds."""
    with pytest.raises(BadRequest) as error:
        room.rows(f"SELECT {asked} FROM {table}")
    assert instead in str(error.value)


@pytest.mark.parametrize(
    ("rest", "instead"),
    [
        ("QUALIFY row_number() OVER (ORDER BY x) = 1", "row_number() OVER"),
        ("GROUP BY city WITH ROLLUP", "UNION ALL"),
        ("ORDER BY x FETCH FIRST 3 ROWS ONLY", "LIMIT n"),
        ("WHERE d > DATE '2024-05-01'", "a date is a text"),
        (", UNNEST(meta) AS u", "json_each"),
        ("WHERE city = ANY(ARRAY['Oslo'])", "IN ('a', 'b')"),
        ("PIVOT (sum(x) FOR city IN ('Oslo'))", "FILTER"),
    ],
)
def test_clauses_sqlite_lacks_are_told_as_well(room: Room, table: str, rest: str, instead: str) -> None:
    """The same behind FROM."""
    with pytest.raises(BadRequest) as error:
        room.rows(f"SELECT city FROM {table} {rest}")
    assert instead in str(error.value)


def test_names_with_dots_and_parts_that_are_not_there(room: Room) -> None:
    """A column with a dot is said to need quotes; a wrong part of a result is answered with those there are."""
    dotted = room.capture([{"a.b": 1, "c": 2}])
    with pytest.raises(BadRequest, match=r'a dot in a name needs quotes: "a\.b"'):
        room.rows(f"SELECT a.b FROM {dotted}")
    parts = room.capture({"items": [{"x": 1}], "users": [{"y": 2}]})
    with pytest.raises(BadRequest, match=f"did you mean {parts}.users.*tables: .*{parts}.items"):
        room.rows(f"SELECT count(*) FROM {parts}.user")


def test_a_wrong_name_is_not_taken_for_a_dialect(room: Room, table: str) -> None:
    """A mistyped column gets the nearest name first, whatever else the query says; functions are named that exist."""
    with pytest.raises(BadRequest, match="did you mean city"):
        room.rows(f"SELECT citty FROM {table} LIMIT 3 OFFSET 2")
    with pytest.raises(BadRequest, match=r"no such function: medain; did you mean median"):
        room.rows(f"SELECT medain(x) FROM {table}")
    with pytest.raises(Refused, match="the name alone, without main"):
        room.rows(f"SELECT * FROM main.{table}")
    with pytest.raises(BadRequest, match="scratch_list has the tables"):
        room.rows("SHOW TABLES")
