"""The gate: reads of this scope's results pass; everything else is refused or ended in time, with a sentence why."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from crp_mcp.errors import BadRequest, CrpError, NotFound, Refused
from crp_mcp.query.sandbox import Sandbox, Stopped
from tests.query.support import SECRET, Room, open_room
from tests.relay.support import bench

LIMIT = 5.0
SLACK = 3.0
"""What a busy machine may add to the limit."""

FORBIDDEN = [
    "SELECT * FROM sqlite_master",
    "SELECT name, sql FROM sqlite_schema",
    "SELECT * FROM main.sqlite_master",
    "SELECT * FROM temp.sqlite_temp_master",
    'SELECT * FROM "sqlite_master"',
    "SELECT * FROM [sqlite_master]",
    "SELECT count(*) FROM sqlite_master",
    "SELECT order_id FROM {orders} WHERE 1=0 UNION SELECT sql FROM sqlite_master",
    "SELECT (SELECT sql FROM sqlite_master LIMIT 1)",
    "WITH x AS (SELECT * FROM sqlite_master) SELECT * FROM x",
    "WITH sqlite_master AS (SELECT 1) SELECT count(*) FROM main.sqlite_master",
    "SELECT * FROM {orders} WHERE EXISTS (SELECT 1 FROM sqlite_master)",
    "SELECT * FROM {orders} ORDER BY (SELECT sql FROM sqlite_master)",
    "SELECT * FROM {orders} LIMIT (SELECT count(*) FROM sqlite_master)",
    "VALUES ((SELECT sql FROM sqlite_master))",
    "WITH crp_tables AS (SELECT 1) SELECT count(*) FROM main.crp_tables",
    "SELECT * FROM crp_tables",
    "SELECT count(*) FROM crp_results",
    "SELECT * FROM pragma_table_list",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM pragma_table_info('crp_tables')",
    "SELECT count(*) FROM pragma_function_list",
    "SELECT * FROM dbstat",
    "SELECT count(*) FROM dbstat",
    "WITH dbstat AS (SELECT 1) SELECT (SELECT count(*) FROM main.dbstat)",
    "SELECT * FROM sqlite_dbpage",
    "SELECT * FROM sqlite_stmt",
    "SELECT * FROM fts5vocab",
    "SELECT * FROM bytecode('SELECT 1')",
    "SELECT * FROM tables_used('SELECT 1')",
    "PRAGMA table_info('x')",
    "PRAGMA query_only=0",
    "ATTACH DATABASE 'x.db' AS x",
    "DETACH DATABASE main",
    "VACUUM INTO 'copy.db'",
    "CREATE TABLE x (a)",
    "CREATE TEMP TABLE x AS SELECT 1",
    "DROP TABLE {orders}",
    "DELETE FROM {orders}",
    "UPDATE {orders} SET amount = 0",
    "INSERT INTO {orders} VALUES (1)",
    "REPLACE INTO {orders} VALUES (1)",
    "WITH x AS (SELECT 1) DELETE FROM {orders}",
    "WITH x AS (SELECT 1) INSERT INTO {orders} SELECT 1, 2, 3, 4",
    "EXPLAIN SELECT 1",
    "BEGIN",
    "COMMIT",
    "ANALYZE",
    "REINDEX",
    "SELECT 1; DROP TABLE {orders}",
    "SELECT 1;;SELECT 2",
    "SELECT 1 /* ; */ ; SELECT 2",
    "/* SELECT */ PRAGMA user_version",
    "-- x\nPRAGMA user_version",
    "SELECT load_extension('x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('x', 'y')",
    "SELECT edit('x')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT sqlite_log(1, 'x')",
    "SELECT random()",
    "SELECT hex(randomblob(8))",
    "SELECT * FROM {orders} ORDER BY random()",
    "SELECT last_insert_rowid()",
    "SELECT changes()",
    "SELECT sqlite_version()",
    "SELECT sqlite_compileoption_get(1)",
    "SELECT sqlite_source_id()",
    "SELECT ?",
    "SELECT :name",
    "SELECT @name",
    "SELECT $name",
    "SELECT 'open",
    'SELECT "open',
    "",
    "   -- nothing",
    ";",
]


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_what_is_no_plain_read_is_refused(room: Room, sql: str) -> None:
    """Schema, pragmas, files, writes, several statements, impure functions: an error, and nothing of it happens."""
    with pytest.raises(CrpError) as caught:
        room.rows(sql)
    assert caught.value.code in ("REFUSED", "BAD_REQUEST")
    assert room.one("SELECT count(*) FROM {orders}") == 300


@pytest.mark.parametrize("part", ["fts_data", "fts_idx", "fts_docsize", "fts_config"])
def test_the_insides_of_a_search_index_are_no_tables(room: Room, part: str) -> None:
    """The index may be asked by MATCH alone."""
    assert room.one("SELECT count(*) FROM {log} WHERE text MATCH 'done'") == 500
    with pytest.raises(Refused, match="a part of the search index, is not allowed"):
        room.rows(f'SELECT * FROM "{room.log}.{part}"')


def test_a_refusal_says_what_is_allowed(room: Room) -> None:
    """A refused query is answered with one sentence on what may be asked."""
    with pytest.raises(Refused, match="allowed is one SELECT over stored results"):
        room.rows("SELECT * FROM sqlite_master")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM scratch_readquery_001",
        'SELECT * FROM main."scratch_readquery_001"',
        "SELECT count(*) FROM scratch_readquery_001",
        "SELECT secret FROM scratch_readquery_001",
    ],
)
def test_results_of_another_project_do_not_exist(room: Room, sql: str) -> None:
    """An id of another project is unknown here, under every spelling, and its content is in no answer."""
    if room.orders == "scratch_readquery_001":
        pytest.skip("the id is one of this project")
    with pytest.raises(CrpError) as caught:
        room.rows(sql)
    assert SECRET not in str(caught.value)


def test_each_project_has_a_file_of_its_own(room: Room) -> None:
    """The file a query process opens holds nothing of another project; files are for their owner alone."""
    folder = room.bench.engine.settings.tables
    own = room.desk.cache(room.bench.scope).path
    files = sorted(folder.glob("*.db"))
    assert own in files
    assert len(files) == 2
    assert not files_with(SECRET, [path for path in folder.iterdir() if path.name.startswith(own.name)])
    if os.name == "posix":
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
        assert folder.stat().st_mode & 0o777 == 0o700


def files_with(word: str, files: list[Path]) -> list[str]:
    """Which files hold a word. Read by another process: closing a database's file here would drop our locks on it."""
    code = "import sys; print([f for f in sys.argv[2:] if sys.argv[1].encode() in open(f, 'rb').read()])"
    out = subprocess.run([sys.executable, "-c", code, word, *map(str, files)], capture_output=True, check=True)
    return list(ast.literal_eval(out.stdout.decode()))


BOMBS = [
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200000000) SELECT max(x) FROM c",
    "SELECT count(*) FROM {orders} a, {orders} b, {orders} c, {orders} d",
    "SELECT sum(a.amount * b.amount) FROM {orders} a, {orders} b, {orders} c, {orders} d",
    "SELECT '" + "a" * 40 + "!' REGEXP '(a+)+$'",
    "SELECT count(*) FROM {log} WHERE text || '" + "a" * 40 + "!' REGEXP '(a|aa)+$'",
    "WITH RECURSIVE c(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM c) SELECT length(x) FROM c",
    "SELECT zeroblob(2000000000)",
    "SELECT length(hex(zeroblob(30000000)))",
    "SELECT printf('%.2000000000c', 'x')",
    "SELECT printf('%2000000000d', 1)",
    "SELECT replace(hex(zeroblob(1000000)), '0', hex(zeroblob(1000000)))",
    "SELECT group_concat(a.status || b.status || c.status) FROM {orders} a, {orders} b, {orders} c, {orders} d",
    "SELECT json_group_array(a.amount) FROM {orders} a, {orders} b, {orders} c, {orders} d",
    "SELECT a.amount FROM {orders} a, {orders} b, {orders} c, {orders} d ORDER BY a.amount * b.amount",
    "SELECT DISTINCT a.order_id * 1000000 + b.order_id * 1000 + c.order_id FROM {orders} a, {orders} b, {orders} c",
    "SELECT hex(zeroblob(100000)) LIKE '" + "%a" * 400 + "'",
    "SELECT hex(zeroblob(100000)) GLOB '" + "*0" * 400 + "1'",
    "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
    "SELECT 1 " + "UNION ALL SELECT 1 " * 900,
    "SELECT " + "abs(" * 900 + "1" + ")" * 900,
    "SELECT " + "1+" * 9_000 + "1",
    "SELECT * FROM {orders} WHERE " + " OR ".join(f"order_id = {n} + 0" for n in range(600)),
]


@pytest.mark.parametrize("sql", BOMBS, ids=range(len(BOMBS)))
def test_a_bomb_ends_in_time(room: Room, sql: str) -> None:
    """Whatever a query is made of, it ends within the limit with an answer or a sentence, and the next one works."""
    began = time.monotonic()
    with contextlib.suppress(Refused, BadRequest):
        room.rows(sql)
    assert time.monotonic() - began < LIMIT + SLACK
    assert room.one("SELECT count(*) FROM {orders}") == 300


def test_other_queries_go_on_beside_a_bomb(room: Room) -> None:
    """While one query is on its way to the limit, others are answered at once."""
    ended = []

    def run() -> None:
        with pytest.raises(Refused) as caught:
            room.rows(BOMBS[4])
        ended.append(str(caught.value))

    bomb = threading.Thread(target=run)
    bomb.start()
    began = time.monotonic()
    assert room.one("SELECT count(*) FROM {log}") == 500
    assert time.monotonic() - began < LIMIT / 2
    bomb.join()
    assert "stopped after" in ended[0]


def test_a_slow_pattern_of_grep_ends_in_time(room: Room) -> None:
    """A catastrophic pattern in scratch_get is ended, and says so; the store goes on."""
    made = room.capture("a" * 60 + "!\nplain\n" * 3)
    began = time.monotonic()
    answer = room.bench.tool("scratch_get", scratch_id=made, grep="(a+)+$")
    assert answer["isError"]
    assert "stopped after" in answer["content"][0]["text"]
    assert time.monotonic() - began < LIMIT + SLACK


def test_a_process_that_dies_is_replaced() -> None:
    """The death of a query process is one refusal; the next request gets a new one."""
    sandbox = Sandbox(most=1)
    try:
        with pytest.raises(Stopped):
            sandbox.ask({"nonsense": 1}, seconds=5)
        assert sandbox.ask({"op": "close"}, seconds=5) == {"ok": True}
    finally:
        sandbox.close()


def test_many_rows_are_counted_and_cut(room: Room) -> None:
    """A result too large to keep is counted in full, kept up to the limit, and says both."""
    answer = room.answer("SELECT a.order_id FROM {orders} a, {orders} b")
    assert answer.total == 300 * 300
    assert len(answer.rows) == 20_000


def test_what_a_query_reads_is_known(room: Room) -> None:
    """Inputs are the results whose rows were really read, also through an alias, a view or an expression."""
    assert [one.scratch_id for one in room.answer("SELECT count(*) FROM {orders}").inputs] == [room.orders]
    both = room.answer(
        "WITH c AS (SELECT * FROM {customers}) SELECT o.city FROM {orders} o JOIN c USING (city), latest LIMIT 1"
    )
    assert {one.scratch_id for one in both.inputs} >= {room.orders, room.customers}
    assert room.answer("SELECT 1").inputs == ()


def test_now_is_the_time_of_the_call(room: Room) -> None:
    """Every way to ask for the time gives the one of the call, so that a query can be run again."""
    rows = room.rows("SELECT datetime('now'), date(), current_date, strftime('%Y', 'now'), datetime('NOW', '+1 day')")
    assert rows == [["2027-01-15 08:00:00", "2027-01-15", "2027-01-15", "2027", "2027-01-16 08:00:00"]]
    assert room.rows("SELECT 'now', count(*) FROM {log} WHERE text = 'now'") == [["now", 0]]


def test_the_same_query_gives_the_same_bytes(room: Room) -> None:
    """Run again, also on tables built anew, a query gives equal rows."""
    sql = "SELECT city, sum(amount), group_concat(order_id) FROM {orders} GROUP BY city"
    first = room.answer(sql).rows
    room.desk.forget(room.bench.scope, [room.orders])
    assert room.answer(sql).rows == first


def test_tables_go_with_what_they_came_from(tmp_path: Path) -> None:
    """Once a result is forgotten, no byte of it is left in the cache file or its log."""
    with open_room(tmp_path / "own") as own:
        word = "unrepeatable-word-of-this-test"
        made = own.capture([{"note": f"{word} {n}"} for n in range(2_000)])
        text = own.capture("\n".join(f"{word} {n}" for n in range(2_000)))
        assert own.one(f"SELECT count(*) FROM {made}") == 2_000
        assert own.one(f"SELECT count(*) FROM {text} WHERE text MATCH 'word'") == 2_000
        assert own.desk.forget(own.bench.scope, [made, text])
        folder = own.bench.engine.settings.tables
        assert not files_with(word, list(folder.iterdir()))
        assert json.dumps(own.rows("SELECT count(*) FROM {orders}")) == "[[300]]"


def test_the_tables_built_first_make_room(tmp_path: Path) -> None:
    """Above the size limit old tables go, those of the query at hand stay, and what is asked again is built again."""
    with open_room(tmp_path) as own:
        made = [own.capture([{"n": n, "pad": "x" * 500} for n in range(2_000)]) for _ in range(4)]
        cache = own.desk.cache(own.bench.scope)
        for one in made:
            assert own.one(f"SELECT count(*) FROM {one}") == 2_000
        cache.make_room([made[0]], most=3_000_000)
        assert made[0] in cache.results()
        assert made[1] not in cache.results()
        assert cache.bytes_used() <= 1_500_000 or cache.results() == (made[0],)
        assert own.one(f"SELECT count(*) FROM {made[1]}") == 2_000


@pytest.mark.parametrize("harm", ["cut", "other", "removed"])
def test_a_damaged_cache_is_built_again(tmp_path: Path, harm: str) -> None:
    """Whatever happens to the file between two processes, the next one answers rightly."""
    with open_room(tmp_path) as first:
        assert first.one("SELECT count(*) FROM {orders}") == 300
        orders, path = first.orders, first.desk.cache(first.bench.scope).path
    if harm == "removed":
        path.unlink()
    elif harm == "other":
        path.write_bytes(b"no database at all " * 1_000)
    else:
        path.write_bytes(path.read_bytes()[:6_000])
    with bench(tmp_path) as again:
        answer = again.engine.desk.query(again.scope, f"SELECT count(*), sum(order_id) FROM {orders}", again.clock())
        assert answer.rows == ("[300,44850]",)


def test_a_file_cut_short_under_a_query_process_is_built_again(tmp_path: Path) -> None:
    """The process reads the file where it lies, and ends when that is gone: the answer is right all the same."""
    with open_room(tmp_path) as room:
        name = room.capture([{"n": n, "pad": "x" * 200} for n in range(20_000)])
        asked = f"SELECT sum(n), max(length(pad)) FROM {name}"
        before = room.rows(asked)
        os.truncate(room.desk.cache(room.bench.scope).path, 8_192)
        assert room.rows(asked) == before == [[199_990_000, 200]]


SORTED = """
import json, sqlite3, sys
from crp_mcp.query import child, gate
gate.SORT_KIB = 1 << 10
path = sys.argv[1]
with sqlite3.connect(path) as db:
    db.execute("CREATE TABLE t (n INTEGER, pad TEXT)")
    db.executemany("INSERT INTO t VALUES (?, ?)", ((n, "x" * 100) for n in range(50_000)))
db.close()
sealed = child.limit_process()
db = gate.open_connection(path)
sql = "SELECT n, pad FROM t ORDER BY pad, n DESC"
request = {"views": {}, "tables": ["t"], "expressions": [], "named": ["t"], "sql": sql, "seconds": 30, "rows": 2,
           "bytes": 1_000, "clean": False, "sorts": True}
print(json.dumps([sealed, gate.run(db, frozenset(), request, no_files=True)]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no limit on files to be written")
def test_what_is_too_much_to_sort_as_if_into_a_file_is_sorted_all_the_same(tmp_path: Path) -> None:
    """The query process can write nothing; with more rows than it sorts at once it goes another way."""
    done = subprocess.run([sys.executable, "-c", SORTED, tmp_path / "t.db"], capture_output=True, check=True)
    sealed, reply = json.loads(done.stdout)
    assert sealed is True
    assert (reply["ok"], reply["total"]) == (True, 50_000)
    assert [json.loads(row)[0] for row in reply["rows"]] == [49_999, 49_998]


def test_a_query_of_what_was_forgotten_says_that_it_is_gone(room: Room) -> None:
    """Also where the query process still knows its table: it is gone, and not somebody else's."""
    name = room.capture([{"n": n} for n in range(500)])
    assert room.one(f"SELECT count(*) FROM {name}") == 500
    room.bench.tool("scratch_forget", scratch_id=name)
    with pytest.raises(NotFound, match=f"{name} was 500 rows of read_query"):
        room.answer(f"SELECT count(*) FROM {name}")
