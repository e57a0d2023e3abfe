"""Numbers that are spelled as texts: added up rightly where their column has one meaning, said not to be where not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest

from tests.query.support import Room
from tests.relay.support import bench, texts


@pytest.fixture
def room(tmp_path: Any) -> Iterator[Room]:
    with bench(tmp_path) as made:
        yield Room(made)


def column(values: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"n": at, "x": value} for at, value in enumerate(values)]


def said(room: Room, sql: str) -> str:
    """Our own line of an answer."""
    return texts(room.bench.tool("scratch_query", sql=sql))[0].split("\n")[0]


def summary(room: Room, name: str) -> str:
    return "\n".join(texts(room.bench.tool("scratch_get", scratch_id=name)))


@pytest.mark.parametrize(
    ("values", "total", "most"),
    [
        (["1.037,01", "12,50", "999,00"], 2048.51, 1037.01),
        (["(12.50)", "3.00", "1.25"], -8.25, 3.0),
        (["USD 1.25", "USD 2.50", "USD 1,003.00"], 1006.75, 1003.0),
        (["1,01", "2,05", "3,50"], 6.56, 3.5),
        (["1 234,50", "5,00", "12\u202f000,10"], 13239.6, 12000.1),
        (["€5", "€6", "€7.50"], 18.5, 7.5),
        (["5 %", "6 %", "7 %"], 18, 7),
        (["5 €", "7,50 €", "−2 €"], 10.5, 7.5),
        (["1'234.50", "5.00", "2'000.10"], 3239.6, 2000.1),
        (["1,00,000", "5", "2,50,000.50"], 350005.5, 250000.5),
        (["-$5.10", "$6.00", "$0.15"], 1.05, 6.0),
        (["950", "1 234", "12 000"], 14184, 12000),
        (["1,018.59-", "20.00", "5.25-"], -1003.84, 20.0),
        (["1.018,59- EUR", "20,00 EUR"], -998.59, 20.0),
    ],
)
def test_amounts_in_one_spelling_are_numbers(room: Room, values: list[str], total: float, most: float) -> None:
    """Sum and maximum are those of the amounts, the texts stand beside them, and the answer says so."""
    for capture in (column(values), "n;x\n" + "".join(f"{at};{value}\n" for at, value in enumerate(values))):
        name = room.capture(capture)
        assert room.rows(f"SELECT sum(x), max(x), count(x) FROM {name}") == [[total, most, len(values)]]
        assert room.rows(f"SELECT x_text FROM {name} ORDER BY n") == [[value] for value in values]
        assert "originals in brackets: x (x_text)" in said(room, f"SELECT sum(x) FROM {name}")


@pytest.mark.parametrize(
    "values",
    [
        ["10 kg", "12 kg", "9 kg"],
        ["$5", "€6", "$7"],  # two currencies
        ["$5", "6", "$7"],
        ["1.5K", "2M", "3"],
        ["1.5", "1,5", "2"],  # a point and a comma
        ["12", "13", "5+", "14", "15", "16", "17", "18", "19", "20"],
        ["1.2.3", "1.10.0", "2.0.0"],
    ],
)
def test_texts_that_are_no_numbers_are_not_added_up_in_silence(room: Room, values: list[str]) -> None:
    """The column stays as it is, and an answer that adds it up says that it is text."""
    for capture in (column(values), "n;x\n" + "".join(f"{at};{value}\n" for at, value in enumerate(values))):
        name = room.capture(capture)
        assert room.rows(f"SELECT x FROM {name} ORDER BY n") == [[value] for value in values]
        for sql in ("sum(x)", "avg(t.x)", "total(x)", "sum(CAST(x AS REAL))"):
            assert "NOTE: x: texts" in said(room, f"SELECT {sql} FROM {name} t"), sql
        assert "x: texts" in said(room, f"SELECT sum(y) FROM (SELECT x AS y FROM {name})")


def test_texts_that_look_like_amounts_are_not_compared_in_silence(room: Room) -> None:
    """Extremes, order and comparison of units say that they are of texts; plain words never do."""
    name = room.capture([{"weight": f"{n} kg", "city": "Oslo", "zip": f"0{n}"} for n in range(8, 13)])
    for sql in (
        "max(weight) FROM {t}",
        "weight FROM {t} ORDER BY weight",
        "1 FROM {t} WHERE weight > 9",
        "weight + 1 FROM {t}",
        "1 FROM {t} WHERE weight BETWEEN 9 AND 10",
    ):
        assert "NOTE: weight: texts" in said(room, "SELECT " + sql.format(t=name)), sql
    for sql in (
        "max(city) FROM {t}",
        "weight FROM {t} WHERE weight = '9 kg'",
        "weight, count(*) FROM {t} GROUP BY weight",
        "max(zip) FROM {t}",
    ):
        assert "NOTE" not in said(room, "SELECT " + sql.format(t=name)), sql


def test_numbers_among_number_texts_are_numbers(room: Room) -> None:
    """A JSON column of both is compared and added as numbers; beside it every value is what it was."""
    name = room.capture(column([9, "10", 2.5, "1.50"]))
    assert room.rows(f"SELECT max(x), min(x), sum(x), sum(x > 2) FROM {name}") == [[10, 1.5, 23, 3]]
    assert room.rows(f"SELECT x_text, typeof(x_text) FROM {name} ORDER BY n") == [
        [9, "integer"],
        ["10", "text"],
        [2.5, "real"],
        ["1.50", "text"],
    ]


@pytest.mark.parametrize("odd", ["007", "12 kg", "12345678901234567890", "red", "n/a"])
def test_numbers_among_other_texts_stay_what_they_are(room: Room, odd: str) -> None:
    """Codes, units and words keep a column mixed; an answer that compares it names it and says how it compares."""
    name = room.capture(column([9, odd, 2.5]))
    assert room.rows(f"SELECT x, typeof(x) FROM {name} ORDER BY n") == [[9, "integer"], [odd, "text"], [2.5, "real"]]
    assert "NOTE: x: numbers and texts stand in it" in said(room, f"SELECT max(x) FROM {name}")
    assert "NOTE" not in said(room, f"SELECT x FROM {name}")


def test_a_code_late_in_a_mixed_column_gives_the_values_back(room: Room) -> None:
    """What the first thousands of rows were taken for does not lose what stands in the last one."""
    values: list[Any] = [n if n % 2 else f"{n}" for n in range(4_000)]
    name = room.capture(column([*values, "0042"]))
    assert room.rows(f"SELECT x, typeof(x) FROM {name} WHERE n IN (1, 2, 4000)") == [
        [1, "integer"],
        ["2", "text"],
        ["0042", "text"],
    ]


def test_texts_that_become_null_are_counted(room: Room) -> None:
    """`n/a` among number texts is null, and the answer says how many there are and where they stand."""
    name = room.capture(column(["1.50", "n/a", "2.00", "3.00", "4.00", "5.00", "-", "6.00", "7.00", "8.00"] * 5))
    assert room.one(f"SELECT count(*) - count(x) FROM {name}") == 10
    note = "x: 10 texts that could not be read so are null in it (see x_text)"
    assert note in said(room, f"SELECT avg(x) FROM {name}")
    assert "null" not in said(room, f"SELECT count(n) FROM {name}")


def test_a_spelling_that_numbers_lose_stands_beside_them(room: Room) -> None:
    """`1.10` in a CSV is 1.1 as a number; the text is kept from the first row on, also where it comes late."""
    name = room.capture("id,version,count\n" + "".join(f"{n},1.{n},{n}\n" for n in range(1, 12)))
    assert room.rows(f"SELECT version, version_text FROM {name} WHERE id IN (1, 10)") == [[1.1, "1.1"], [1.1, "1.10"]]
    late = room.capture("id,x\n" + "".join(f"{n},{n}.5\n" for n in range(5_000)) + "5000,7.50\n")
    assert room.rows(f"SELECT x, x_text FROM {late} WHERE id IN (0, 5000)") == [[0.5, "0.5"], [7.5, "7.50"]]
    assert room.rows(f"SELECT * FROM {name} LIMIT 1") == [[1, 1.1, 1, "1.1"]]  # whole numbers lose nothing


def test_the_summary_and_the_query_agree_on_what_a_column_is(room: Room) -> None:
    """A range in the summary is the minimum and maximum of the query, in the spelling of the data."""
    name = room.capture(column(["1.037,01", "12,50", "999,00"] * 20))
    assert "x: str 12,50..1.037,01" in summary(room, name)
    assert room.rows(f"SELECT min(x), max(x) FROM {name}") == [[12.5, 1037.01]]
    units = room.capture(column(["10 kg", "9 kg"] * 20))
    assert "x: str, 2 distinct" in summary(room, units)


def test_averages_are_rounded_once(room: Room) -> None:
    """The mean of amounts is the double nearest to the true one."""
    name = room.capture(column([1037.01, 12.5, 999.0, 3.02, 0.1, 0.2, 0.3]))
    assert room.one(f"SELECT avg(x) FROM {name}") == 205213 / 700
    assert json.loads(json.dumps(room.one(f"SELECT avg(x) FILTER (WHERE x < 1) FROM {name}"))) == 0.2


def test_hidden_columns_stay_hidden_and_sums_exact(room: Room) -> None:
    """Whole numbers beside fractions are in no answer, whichever way every column is asked for."""
    rows = [{"id": n, "x": n * 7_919_919 % 10**9 / 100, "y": n / 8} for n in range(3_000)]
    name = room.capture(rows)
    room.bench.tool("scratch_pin", scratch_id=name, name="Fractions")
    cents = sum(n * 7_919_919 % 10**9 for n in range(3_000))
    assert room.one(f"SELECT sum(x) FROM {name}") == cents / 100
    assert set(room.desk.cache(room.bench.scope).tables(name)[0].sums) == {"x"}  # y is too small to need one
    for table in (name, "Fractions", "latest"):
        assert room.rows(f"SELECT sum(x), avg(t.x) FROM {table} t WHERE id >= 0") == [[cents / 100, cents / 300_000]]
        for every in ("SELECT * FROM {t}", "SELECT t.* FROM {t} t", "SELECT * FROM (SELECT * FROM {t})"):
            assert room.answer(every.format(t=table) + " LIMIT 1").columns == ("id", "x", "y"), every
    assert room.rows(f"SELECT sum(x) FROM (SELECT * FROM {name})") == [[cents / 100]]
    assert room.rows(f"SELECT count(*) FROM {name} NATURAL JOIN Fractions") == [[3_000]]
    assert room.rows(f"SELECT rowid, id FROM {name} WHERE rowid = 7") == [[7, 6]]
    assert room.rows(f"SELECT sum(a.x) FROM {name} a JOIN Fractions b ON a.id = b.id") == [[cents / 100]]


def test_more_digits_than_were_seen_do_not_spoil_a_sum(room: Room) -> None:
    """The shape knows only the ends of a column; values between them may have more digits."""
    values = [0.5, *(n + 0.25 for n in range(1_500)), 17.123456789, 9_999.5]
    name = room.capture([{"n": n, "x": value} for n, value in enumerate(values)])
    assert room.one(f"SELECT sum(x) FROM {name}") == float(sum(Decimal(str(value)) for value in values))


@pytest.mark.parametrize("absent", ["NA", "N/A", "-", "null", "#N/A"])
def test_words_for_no_value_never_outvote_the_numbers(room: Room, absent: str) -> None:
    """However many cells say that they have none, the others are numbers, whole ones exact, and the words are null."""
    big = 2**60
    cells = [str(big + at) if at % 3 == 0 else absent for at in range(1, 61)]
    for capture in (column(cells), "n,x\n" + "".join(f"{at},{cell}\n" for at, cell in enumerate(cells))):
        name = room.capture(capture)
        assert room.rows(f"SELECT count(x), min(x), max(x), typeof(max(x)) FROM {name}") == [
            [20, big + 3, big + 60, "integer"]
        ]
        assert "x: 40 texts that could not be read so are null in it" in said(room, f"SELECT max(x) FROM {name}")


@pytest.mark.parametrize(
    ("values", "doubt"),
    [
        (["1.1", "1.10", "1.9"], "1.10 was read as 1.1; if these are versions"),
        (["3.9", "3.10", "3.11"], "3.10 was read as 3.1; if these are versions"),
        (["1.5", "1.50", "10.05"], None),
        (["2.00", "3.10", "4.20"], None),
        (["1.234", "2.500"], "nothing in the column says whether its sign groups thousands"),
    ],
)
def test_versions_do_not_merge_in_silence(room: Room, values: list[str], doubt: str | None) -> None:
    """Numbers that may be versions of two parts are said to be, as 1.1 and 1.10 are one number; amounts are not."""
    name = room.capture(column(values))
    answer = said(room, f"SELECT x, count(*) FROM {name} GROUP BY x")
    assert doubt in answer if doubt else "was read as" not in answer
    assert room.rows(f"SELECT x_text FROM {name} ORDER BY n") == [[value] for value in values]


def test_whole_amounts_are_whole_numbers(room: Room) -> None:
    """However they are grouped, and exact where a fraction would not be."""
    big = 2**53 + 1
    name = room.capture(column([f"{big:,}", "1,000", "12"]))
    assert room.rows(f"SELECT max(x), typeof(x), sum(x) FROM {name}") == [[big, "integer", big + 1012]]
    money = room.capture(column(["$1,000", "$2,500", "$12"]))
    assert room.rows(f"SELECT x, x_text FROM {money} LIMIT 1") == [[1000, "$1,000"]]
    assert room.rows(f"SELECT sum(x) FROM {money}") == [[3512]]


def test_noise_is_taken_off_and_digits_are_not(room: Room) -> None:
    """What binary fractions leave behind goes; a fraction that needs all its digits keeps them."""
    name = room.capture([{"n": n, "x": x} for n, x in enumerate((123456789012.31, 0.02, 0.01), 1)])
    rows = room.rows(f"SELECT sum(x) OVER (ORDER BY n), x * 3 FROM {name} ORDER BY n")
    assert rows == [[123456789012.31, 370370367036.93], [123456789012.33, 0.06], [123456789012.34, 0.03]]
    assert room.one(f"SELECT avg(n = 1) * 0.8 FROM {name}") == 1 / 3 * 0.8


def test_sums_that_cancel_out_keep_their_digits(room: Room) -> None:
    """What is left of large numbers, or of many digits, is what is left of the decimals."""
    fine = ["1.00400733947754", "-1.015101313591", "0.01109397411346"]
    name = room.capture(
        [{"x": float(text), "y": value} for text, value in zip(fine, (1e308, 1e308, -1e308), strict=True)]
    )
    assert room.rows(f"SELECT sum(x), sum(y) FROM {name}") == [[float(sum(map(Decimal, fine))), 1e308]]


def test_only_columns_that_are_read_are_named(room: Room) -> None:
    """Also under a pinned name."""
    name = room.capture(column(["$1.50", "$2.50"]))
    room.bench.tool("scratch_pin", scratch_id=name, name="my sums")
    assert "NOTE" not in said(room, 'SELECT count(*) FROM "my sums"')
    assert "x (x_text)" in said(room, 'SELECT max(x) FROM "my sums"')
    assert "x (x_text)" in said(room, 'SELECT * FROM "my sums"')


@pytest.mark.parametrize("spelled", [int, str])
def test_numbers_beyond_64_bits_are_added_exactly_and_never_ordered_in_silence(room: Room, spelled: Any) -> None:
    """Sums have every digit; what compares them says how SQL does that, and how they are put in order."""
    numbers = [10**20, 2**63 + 1, 7, 2**64]
    name = room.capture(column(list(map(spelled, numbers))))
    assert room.rows(f"SELECT sum(x) FROM {name}") == [[str(sum(numbers))]]
    grouped = room.capture(column([f"{number:,}" for number in numbers]))
    assert room.rows(f"SELECT x FROM {grouped}") == [[str(number) if number > 7 else number] for number in numbers]
    line = said(room, f"SELECT max(x) FROM {name}")
    assert "x: whole numbers beyond 64 bits stay texts" in line
    assert "not all of them numbers" not in line
    assert [int(x) for (x,) in room.rows(f"SELECT x FROM {name} ORDER BY length(x), x")] == sorted(numbers)
    assert "NOTE" not in said(room, f"SELECT count(x), count(DISTINCT x) FROM {name}")
