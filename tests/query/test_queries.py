"""What queries see: every captured form as tables, every column with its meaning, results that are results again."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from crp_mcp.core.model import Scope
from crp_mcp.errors import BadRequest
from crp_mcp.proof.eccr import verify
from tests.query.support import Room, open_room
from tests.relay.support import texts


def test_tables_go_by_id_name_and_latest(room: Room) -> None:
    """A result is a table under its scratch_id, its pinned name (quoted where needed) and, the newest, `latest`."""
    room.bench.tool("scratch_pin", scratch_id=room.orders, name="q3 orders")
    for name in (room.orders, room.orders.upper(), '"q3 orders"', "[q3 orders]"):
        assert room.one(f"SELECT count(*) FROM {name}") == 300
    assert room.one(f'SELECT count(*) FROM "q3 orders" AS a JOIN {room.orders} b USING (order_id)') == 300
    made = room.capture([{"a": 1}, {"a": 2}])
    assert room.one("SELECT sum(a) FROM latest") == 3
    assert room.one(f"SELECT count(*) FROM {made}") == 2


def test_a_query_is_never_latest(room: Room) -> None:
    """`latest` is what a tool returned last, whatever was asked about it since."""
    room.capture([{"a": 1}])
    assert not room.bench.tool("scratch_query", sql="SELECT a * 10 AS b FROM latest")["isError"]
    assert room.rows("SELECT * FROM latest") == [[1]]


def test_latest_is_of_this_conversation(room: Room) -> None:
    """Another conversation has its own `latest`; ids resolve in both."""
    other = Scope(room.bench.scope.tenant, room.bench.scope.project, "conv_else")
    with pytest.raises(BadRequest, match="no such table: latest"):
        room.desk.query(other, "SELECT * FROM latest", room.bench.clock())
    assert room.desk.query(other, room.named("SELECT count(*) FROM {orders}"), room.bench.clock()).rows == ("[300]",)


def test_results_of_two_servers_can_be_joined(room: Room) -> None:
    """One query over tables of different tools and servers."""
    got = room.rows(
        "SELECT c.country, count(*) FROM {orders} o JOIN {customers} c ON c.city = o.city GROUP BY 1 ORDER BY 1"
    )
    assert got == [["IT", 75], ["NO", 75], ["UA", 75]]


FORMS = {
    "rows": json.dumps([{"id": 1, "n": 2.5}, {"id": 2, "n": None}]),
    "wrapped": json.dumps({"data": [{"id": 1, "n": 2.5}, {"id": 2, "n": None}], "next": None}),
    "columns": json.dumps({"columns": ["id", "n"], "rows": [[1, 2.5], [2, None]]}),
    "ndjson": '{"id": 1, "n": 2.5}\n{"id": 2, "n": null}\n',
    "csv": "id,n\n1,2.5\n2,\n",
    "semicolons": "id;n\n1;2.5\n2;\n",
    "markdown": "| id | n |\n|---|---|\n| 1 | 2.5 |\n| 2 |  |\n",
    "psql": " id |  n  \n----+-----\n  1 | 2.5\n  2 |    \n(2 rows)\n",
    "fenced": '```json\n[{"id": 1, "n": 2.5}, {"id": 2, "n": null}]\n```',
    "double": json.dumps(json.dumps([{"id": 1, "n": 2.5}, {"id": 2, "n": None}])),
    "python": "[{'id': 1, 'n': 2.5}, {'id': 2, 'n': None}]",
    "edges": json.dumps({"data": {"edges": [{"node": {"id": 1, "n": 2.5}}, {"node": {"id": 2, "n": None}}]}}),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_is_the_same_table(room: Room, form: str) -> None:
    """However rows are written, they have the same columns and values in SQL."""
    made = room.capture(FORMS[form])
    assert room.rows(f"SELECT id, n FROM {made} ORDER BY id") == [[1, 2.5], [2, None]]
    assert room.rows(f"SELECT sum(id), count(n), typeof(max(id)) FROM {made}") == [[3, 1, "integer"]]


def test_each_list_of_an_object_is_a_table(room: Room) -> None:
    """`id.key` is the list under that key, also deep down; an object without a main list is one row itself."""
    lists = {"items": [{"a": 1}, {"a": 2}], "users": [{"n": "x"}, {"n": "y"}], "meta": {"tags": ["u", "v"]}}
    made = room.capture({**lists, "total": 5})
    assert room.rows(f"SELECT a FROM {made}.items WHERE {made}.items.a > 1") == [[2]]
    assert room.rows(f'SELECT n FROM "{made}.users"') == [["x"], ["y"]]
    assert room.rows(f"SELECT value FROM {made}.tags") == [["u"], ["v"]]
    assert room.rows(f"SELECT total, json_array_length(items) FROM {made}") == [[5, 2]]
    assert room.rows(f"SELECT i.a, t.value FROM {made}.items AS i, {made}.tags AS t LIMIT 1") == [[1, "u"]]
    assert room.rows("SELECT count(*) FROM latest.items") == [[2]]
    main = room.capture({"orders": [{"id": 1, "items": 3}], "notes": ["a", "b"]})
    assert room.rows(f"SELECT items FROM {main}") == [[3]]
    assert room.rows(f"SELECT value FROM {main}.notes") == [["a"], ["b"]]


def test_blocks_of_a_result_are_tables(room: Room) -> None:
    """A result with several texts has a table for each, numbered as in its summary."""
    blocks = [json.dumps([{"a": 1}, {"a": 2}]), "plain words\nin lines", json.dumps([{"b": "x"}])]
    result = {"content": [{"type": "text", "text": text} for text in blocks]}
    made = room.bench.capture(result).entry.scratch_id
    assert room.rows(f"SELECT a FROM {made}.block_1") == [[1], [2]]
    assert room.rows(f"SELECT text FROM {made}.block_2") == [["plain words"], ["in lines"]]
    assert room.rows(f"SELECT b FROM {made}.block_3") == [["x"]]


def test_columns_keep_their_meaning(room: Room) -> None:
    """Big integers exact, texts that are numbers usable beside the original, codes texts, nested JSON, null null."""
    rows = [
        {
            "big": 2**63 + n,
            "wide": 2**60 + n,
            "price": f"{n}.10",
            "cost": f"${n + 1},200.50",
            "code": f"00{n}",
            "when": f"{n + 10}/03/2024",
            "stamp": f"2024-03-0{n + 1}T10:00:00Z",
            "ok": n == 1,
            "nest": {"k": [n, {"deep": 1.10}]},
            "gone": None,
            "mixed": n if n else "zero",
        }
        for n in range(5)
    ]
    made = room.capture(rows)
    one = room.rows(f"SELECT big, wide, price, price_text, code, ok, gone, mixed FROM {made} LIMIT 2")
    assert one[0] == [str(2**63), 2**60, 0.1, "0.10", "000", 0, None, "zero"]
    assert room.one(f"SELECT sum(price) FROM {made}") == 10.5
    assert room.one(f"SELECT max(cost) FROM {made}") == 5200.5
    assert room.one(f"SELECT cost_text FROM {made} WHERE cost > 5000") == "$5,200.50"
    assert room.rows(f'SELECT date("when"), when_text FROM {made} WHERE "when" > \'2024-03-13\'') == [
        ["2024-03-14", "14/03/2024"]
    ]
    assert room.one(f"SELECT count(*) FROM {made} WHERE unixepoch(stamp) >= unixepoch('2024-03-03')") == 3
    assert room.one(f"SELECT json_extract(nest, '$.k[1].deep') FROM {made} LIMIT 1") == 1.1
    assert room.one(f"SELECT nest FROM {made} LIMIT 1") == '{"k": [0, {"deep": 1.1}]}'.replace(" ", "")
    assert room.one(f"SELECT sum(big) FROM {made}") == str(5 * 2**63 + 10)
    assert room.one(f"SELECT sum(wide * 2) FROM {made}") == str(2 * (5 * 2**60 + 10))
    assert room.one(f"SELECT count(*) FROM {made} WHERE ok") == 1
    assert room.one(f"SELECT count(*) FROM {made} WHERE price = '2.10'") == 1


def test_what_was_converted_is_said(room: Room) -> None:
    """An answer that reads a converted column names it and where the original stands; others say nothing."""
    made = room.capture([{"price": f"{n}.5", "city": "Oslo"} for n in range(30)])
    assert "price (price_text)" in texts(room.bench.tool("scratch_query", sql=f"SELECT price FROM {made}"))[0]
    assert "price_text" not in texts(room.bench.tool("scratch_query", sql=f"SELECT city FROM {made}"))[0]


MONEY = st.lists(st.integers(-10_000_000, 10_000_000), min_size=1, max_size=60)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(cents=[-9_999_999, 9_842_358])
@given(cents=MONEY)
def test_sums_of_money_have_no_noise(room: Room, cents: list[int]) -> None:
    """Sum and average of amounts are those of exact arithmetic, plain, filtered, grouped, in an expression, joined."""
    made = room.capture([{"k": n % 2, "amount": cent / 100} for n, cent in enumerate(cents)])
    total = sum(cents)
    row = room.rows(
        "SELECT sum(amount), total(amount), sum(amount * 2), sum(-amount), sum(amount) FILTER (WHERE k = 0) "
        f"FROM {made}"
    )[0]
    even = sum(cents[::2])
    assert row == [total / 100, total / 100, total / 50, -total / 100, even / 100]
    assert room.one(f"SELECT sum(amount) FROM (SELECT amount FROM {made})") == total / 100
    groups = dict(room.rows(f"SELECT k, sum(amount) FROM {made} GROUP BY k"))
    assert groups[0] == even / 100
    joined = room.one(f"SELECT sum(a.amount) FROM {made} a JOIN {made} b ON b.k = a.k")
    counts = [len(cents[0::2]), len(cents[1::2])]
    assert joined == (even * counts[0] + sum(cents[1::2]) * counts[1]) / 100


def test_a_name_that_means_something_else_is_summed_as_what_it_is(room: Room) -> None:
    """A column's digits are not taken for those of an expression that has its name."""
    made = room.capture([{"amount": 0.5}, {"amount": 0.25}, {"amount": 1}])
    assert room.one(f"SELECT sum(amount) FROM (SELECT amount / 8 AS amount FROM {made})") == 1.75 / 8
    assert room.one(f"WITH c(amount) AS (SELECT amount * 1.001 FROM {made}) SELECT sum(amount) FROM c") == 1.75175


def test_result_columns_keep_the_names_they_were_asked_with(room: Room) -> None:
    """What is put differently inside does not show."""
    answer = room.answer("SELECT sum(amount), date('now'), AVG( amount ) AS mean, max(amount) FROM {orders}")
    assert answer.columns == ("sum(amount)", "date('now')", "mean", "max(amount)")


def test_logs_are_tables_of_lines(room: Room) -> None:
    """line_no and text for every text; ts, level and message where lines have them; MATCH finds words and phrases."""
    assert room.rows("SELECT line_no, ts, level, message FROM {log} WHERE level = 'ERROR'") == [
        [62, "2024-05-01 10:01:01.250", "ERROR", "request req-61 done"]
    ]
    assert room.one("SELECT count(*) FROM {log} WHERE ts >= '2024-05-01 10:05'") == 200
    for search in ("text MATCH '\"req-77\"'", "l MATCH '\"req 77\"'", "l.text MATCH '\"req-77\"'"):
        assert room.rows("SELECT line_no FROM {log} l WHERE " + search) == [[78]]
    assert room.one("SELECT count(*) FROM {log} WHERE {log} MATCH 'error OR \"req-3\"'") == 2
    assert room.one("SELECT count(*) FROM {log} WHERE text REGEXP 'req-4[0-9]{2} '") == 100
    prose = room.capture("one line\nanother\n\nlast")
    assert room.rows(f"SELECT * FROM {prose}") == [[1, "one line"], [2, "another"], [3, ""], [4, "last"]]


def test_errors_name_what_exists_and_the_nearest(room: Room) -> None:
    """A wrong column or table comes back with the right names."""
    for sql, parts in {
        "SELECT amuont FROM {orders}": ("amuont", "did you mean amount?", "order_id, city, status, amount"),
        "SELECT o.citty FROM {orders} o": ("did you mean city?",),
        'SELECT "amounts" FROM {orders}': ("no such column: amounts; did you mean amount?",),
        "SELECT * FROM scratch_reedquery_003": ("no such table", "did you mean", "latest"),
        "SELECT * FROM {log} WHERE text MATCH 'a-b'": ("double quotes",),
        "SELECT * FROM {orders} WHERE city MATCH 'Oslo'": ("MATCH works on the text",),
        "SELECT FROM {orders}": ("syntax error", "order_id"),
        "SELECT nofunc(1)": ("no such function",),
        "SELECT city REGEXP '(' FROM {orders}": ("no regular expression",),
    }.items():
        with pytest.raises(BadRequest) as caught:
            room.rows(sql)
        for part in parts:
            assert part in str(caught.value), sql


def test_double_quotes_around_a_text_are_forgiven(room: Room) -> None:
    """As in SQLite, a text in double quotes is a text, unless it is nearly the name of a column."""
    assert room.one('SELECT count(*) FROM {orders} WHERE city = "Oslo"') == 75
    assert room.rows('SELECT city AS "amounts" FROM {orders} ORDER BY "amounts" LIMIT 1') == [["Kyiv"]]


# --- the tool ---------------------------------------------------------------------------------------------------------


def test_an_answer_is_a_page_and_says_where_the_rest_is(room: Room) -> None:
    """Within max_tokens: a header, rows as CSV, the number of rows, and the call that reads on."""
    answer = room.bench.tool("scratch_query", sql=room.named("SELECT * FROM {orders}"), max_tokens=120)
    line, data = texts(answer)
    got = list(csv.DictReader(io.StringIO(data)))
    handles = answer["structuredContent"]
    assert room.bench.engine.counter().count(data) <= 120
    assert handles["total"] == 300
    assert handles["next_offset"] == len(got) > 3
    assert f"rows 1-{len(got)} of 300" in line
    assert f"offset {len(got)}" in line
    offset = handles["next_offset"]
    while offset is not None:
        more = room.bench.tool("scratch_get", scratch_id=handles["scratch_id"], view="rows", offset=offset)
        got += list(csv.DictReader(io.StringIO(texts(more)[1])))
        offset = more["structuredContent"].get("next_offset")
    assert [int(row["order_id"]) for row in got] == list(range(300))


def test_a_row_longer_than_the_page_is_cut_and_says_so(room: Room) -> None:
    """Half a row is never passed off as a whole one; path reads the long cell in pages."""
    made = room.capture([{"id": n, "body": "word " * 3_000} for n in range(5)])
    answer = room.bench.tool("scratch_query", sql=f"SELECT body FROM {made}", max_tokens=50)
    assert "rows 1-1 of 5, cut" in texts(answer)[0]
    assert room.bench.engine.counter().count(texts(answer)[1]) <= 50
    whole = room.bench.tool("scratch_get", scratch_id=answer["structuredContent"]["scratch_id"], path="$.rows[0][0]")
    assert whole["structuredContent"]["total"] == 15_000


def test_what_has_no_rows_says_so(room: Room) -> None:
    """Nothing found is a table without rows; an image has no table, and the error says what it is."""
    for empty in ("[]", '{"items": []}', "id,name\n"):
        assert room.one(f"SELECT count(*) FROM {room.capture(empty)}") == 0
    image = {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}
    with pytest.raises(BadRequest, match="is binary, it has no table"):
        room.rows(f"SELECT * FROM {room.bench.capture(image).entry.scratch_id}")


def test_a_result_is_an_entry_with_its_ancestry(room: Room) -> None:
    """derivedFrom names inputs with their hashes; it is summarised, can be pinned, listed and asked again."""
    sql = room.named("SELECT city, country, sum(amount) AS s FROM {orders} JOIN {customers} USING (city) GROUP BY city")
    made = room.bench.tool("scratch_query", sql=sql)["structuredContent"]["scratch_id"]
    entry = room.bench.engine.store.get(room.bench.scope, made)
    assert entry.origin == "query"
    inputs = {one: room.bench.engine.store.get(room.bench.scope, one) for one in (room.orders, room.customers)}
    sources = {one["scratch_id"]: one["provenance_hash"] for one in entry.tool_call_args["derivedFrom"]}
    assert sources == {name: one.provenance_hash for name, one in inputs.items()}
    assert entry.tool_call_args["sql"] == sql
    assert entry.tool_call_args["now"] == "2027-01-15T08:00:00Z"
    assert entry.expires_at == min(one.expires_at for one in inputs.values())
    assert not room.bench.tool("scratch_pin", scratch_id=made, name="by city")["isError"]
    assert room.one('SELECT count(*) FROM "by city"') == 3
    assert made in (entry.summary or "")


def test_the_receipt_covers_every_input(room: Room) -> None:
    """Its leaves are the inputs, its ceiling their highest label, its output the summary; purging one finds it."""
    secret = room.capture([{"city": "Oslo", "x": 1}], policy={"sensitivity": "RESTRICTED"})
    sql = room.named(f"SELECT count(*) AS n FROM {{orders}} JOIN {secret} USING (city)")
    engine, scope = room.bench.engine, room.bench.scope
    made = engine.store.get(scope, room.bench.tool("scratch_query", sql=sql)["structuredContent"]["scratch_id"])
    assert made.label == "RESTRICTED"
    stored = engine.store.receipt(scope, made.receipt)
    found = verify(
        stored.body,
        keys=engine.keyring.public_keys(),
        verify_signature=engine.keyring.verify,
        now=int(room.bench.clock()),
        leaves=stored.leaves,
    )
    assert found.receipt.count == 2
    assert found.receipt.ceiling == "RESTRICTED"
    assert made.receipt in engine.store.receipts_on(scope, secret)
    assert made.receipt in engine.store.receipts_on(scope, room.orders)


def test_three_numbers_are_never_mixed(room: Room) -> None:
    """What exists at the source, what is stored and what is shown stand apart, also a query later."""
    made = room.capture({"rows": [{"a": n} for n in range(40)], "total": 276})
    line = texts(room.bench.tool("scratch_query", sql=f"SELECT a FROM {made}", max_tokens=30))[0]
    assert "of 40" in line
    assert f"{made} is partial: 40 rows are stored, 276 exist at the source" in line
    count = room.bench.tool("scratch_query", sql=f"SELECT count(*) AS n FROM {made}")
    assert texts(count)[1] == "n\n40\n"
    again = room.bench.tool("scratch_query", sql=f"SELECT n FROM {count['structuredContent']['scratch_id']}")
    assert f"was made from {made}, which is partial" in texts(again)[0]


def test_a_result_is_as_fresh_as_its_oldest_input(tmp_path: Any) -> None:
    """Asking does not make data younger."""
    with open_room(tmp_path) as own:
        own.bench.clock.at += 299
        made = own.bench.tool("scratch_query", sql=own.named("SELECT count(*) FROM {orders}"))
        entry = own.bench.engine.store.get(own.bench.scope, made["structuredContent"]["scratch_id"])
        assert entry.freshness_ttl == 1
        own.bench.clock.at += 2
        stale = own.bench.tool("scratch_get", scratch_id=entry.scratch_id)
        assert "may be outdated" in texts(stale)[0]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False, width=64),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.fixed_dictionaries({"a": VALUES, "b": st.lists(VALUES, max_size=3)}), min_size=1, max_size=12),
    times=st.sampled_from([1, 1, 400]),
)
def test_what_was_captured_comes_back(room: Room, rows: list[dict[str, Any]], times: int) -> None:
    """Any cells whatever: as many rows as were captured, numbers equal, texts equal or beside, lists as equal JSON."""
    made = room.capture(rows * times)
    entry = room.bench.engine.store.get(room.bench.scope, made)
    if entry.kind != "tabular":
        return
    names = [column["name"] for column in entry.structured["columns"]]
    table = room.desk.cache(room.bench.scope)
    got = room.rows(f"SELECT * FROM {made} LIMIT {len(rows)}")
    assert room.one(f"SELECT count(*) FROM {made}") == len(rows) * times
    columns = table.tables(made)[0].columns
    places = {name: at for at, (name, _, _) in enumerate(columns)}
    beside = {name: len(columns) + n for n, name in enumerate(name for name, _, other in columns if other)}
    assert sorted(names) == ["a", "b"]
    for row, cells in zip(rows, got, strict=True):
        assert same(row["a"], cells[beside["a"]] if "a" in beside else cells[places["a"]])
        assert json.loads(cells[places["b"]]) == row["b"]


def same(given_value: Any, cell: Any) -> bool:
    """Whether a cell is what was captured."""
    if isinstance(given_value, int) and not -(2**63) <= given_value < 2**63:
        return bool(str(given_value) == cell)
    return bool(given_value == cell)


def test_digits_that_no_number_holds_stay_text(room: Room) -> None:
    """A code with a zero in front, ids beyond 64 bits: every one is there, and equal to itself alone."""
    room.capture([{"zip": "0123"}, *({"zip": str(n)} for n in range(1000, 1099))])
    assert room.rows("SELECT count(zip), count(DISTINCT zip), min(zip), sum(zip = '0123') FROM latest") == [
        [100, 100, "0123", 1]
    ]
    ids = [str(2**70 + n) for n in range(50)] + [str(2**60 + n) for n in range(50)]
    room.capture([{"id": one} for one in ids])
    assert room.rows(f"SELECT count(DISTINCT id), sum(id = '{ids[3]}') FROM latest") == [[100, 1]]


def test_a_sum_of_long_decimals_keeps_all_their_digits(room: Room) -> None:
    """The rounding takes the noise of doubles away, and no digit of the data."""
    room.capture([{"v": -89.23450472 - n / 8} for n in range(3_000)])
    exact = sum((Decimal(repr(-89.23450472 - n / 8)) for n in range(3_000)), Decimal(0))
    assert abs(Decimal(repr(room.one("SELECT sum(v) FROM latest"))) - exact) < Decimal("1e-8")


def test_a_table_may_have_more_than_a_thousand_columns(room: Room) -> None:
    """All that SQLite holds, with the originals that stand beside some."""
    plain = room.capture([{f"c{at}": at for at in range(1_500)}] * 2)
    assert room.rows(f"SELECT c0, c1499 FROM {plain} LIMIT 1") == [[0, 1499]]
    spelled = room.capture([{f"c{at}": f"${at}.50" for at in range(1_200)}] * 2)
    assert room.rows(f"SELECT c900, c949_text FROM {spelled} LIMIT 1") == [[900.5, "$949.50"]]
    with pytest.raises(BadRequest, match="no such column: c1199"):
        room.rows(f"SELECT c1199 FROM {spelled}")
