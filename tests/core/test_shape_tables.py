"""Tables in text: delimited, ruled, aligned, one record under another. And what only looks like one."""

from __future__ import annotations

import pytest

from crp_mcp.core.model import Kind
from crp_mcp.core.shape import iter_rows, read_shape

DELIMITED: list[tuple[str, int, list[str]]] = [
    ("a,b,c\n1,2,3\n", 1, ["a", "b", "c"]),
    ("id;name\n1;x\n2;y\n", 2, ["id", "name"]),
    ("id\tname\n1\tx\n", 1, ["id", "name"]),
    ("id|name|x\n1|a|b\n2|c|d\n", 2, ["id", "name", "x"]),
    ("id|name\n1|Rock\n2|Jazz\n(2 rows)\n", 2, ["id", "name"]),
    ("\ufefffoo,bar\n1,ʤ\n", 1, ["foo", "bar"]),
    ('a,b,c\r1,2,3\r"Once upon\ra time",5,6\r', 2, ["a", "b", "c"]),
    ('name,text\nbob,"hello, world\nnew line"\n', 1, ["name", "text"]),
    ('key,val\n1,"{""type"": ""Point"", ""x"": [102.0, 0.5]}"\n', 1, ["key", "val"]),
    (",Species,Mass\n0,Adelie,3750\n1,Adelie,\n", 2, ["", "Species", "Mass"]),
    ("id, cid, name\n1, 1, London\n2, 2, Paris\n", 2, ["id", " cid", " name"]),
    ("# comment\nf1,f2\n11,12\n21,22\n", 2, ["f1", "f2"]),
    ("sep=;\na;b\n1;2\n", 1, ["a", "b"]),
    ("Date;Close\n2004-01-05;17,49\n2004-01-06;16,73\n", 2, ["Date", "Close"]),
    ("id,100022,100025\nid1,TRUE,TRUE\nid2,TRUE,FALSE\n", 2, ["id", "100022", "100025"]),
    (
        'column_a,column_b,column_c\n1,27,,"too long"\n,"too short"\n0,mixed types.... uh oh,17\n',
        3,
        ["column_a", "column_b", "column_c"],
    ),
    ("A,B,B,C\na,b,C,c", 1, ["A", "B", "B", "C"]),
    ("count(*)\n275\n", 1, ["count(*)"]),
    ("value\n01\n002\n00003", 3, ["value"]),
    ("a1,b2,c3\n" + "116,7,4/4\n112/112,5/5,6/7\n" * 20, 40, ["a1", "b2", "c3"]),
]


@pytest.mark.parametrize(("text", "rows", "columns"), DELIMITED)
def test_delimited_rows_are_a_table_under_their_header(text: str, rows: int, columns: list[str]) -> None:
    """Whatever the delimiter, the quotes and the line ends; every row comes back."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.rows, [column.name for column in shape.columns or ()]) == (Kind.TABULAR, rows, columns)
    assert len(list(iter_rows(text.encode(), shape))) == rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1,english\n2,中国人\n", 2),
        ("REGIONS\tec2.x.com\topted-in\nREGIONS\tec2.y.com\topted-in\nREGIONS\tec2.z.com\tnot\n", 3),
        ("4.0K\t./a\n12K\t./b\n", 2),
        ("7d56b11\tAnn\t2026-08-05\n98198df\tBob\t2026-08-04\n", 2),
    ],
)
def test_a_first_row_that_is_like_the_others_is_data(text: str, rows: int) -> None:
    """No header eats a row."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.rows) == (Kind.TABULAR, rows)
    assert next(column.name for column in shape.columns or ()) == "column_1"


def test_a_header_alone_is_an_empty_table() -> None:
    """The columns are known all the same."""
    shape = read_shape(b"id,name\n")
    assert (shape.kind, shape.rows, [column.name for column in shape.columns or ()]) == (Kind.EMPTY, 0, ["id", "name"])


def test_cells_of_text_come_back_typed_with_leading_zeros_kept() -> None:
    """An int where the column is one, the text where digits are a code, None where there is nothing."""
    text = b"id,zip,score,note\n1,08123,1.50,\n2,00042,2e3,x\n"
    assert list(iter_rows(text, read_shape(text))) == [(1, "08123", "1.50", None), (2, "00042", "2e3", "x")]


RULED: list[tuple[str, str, int, list[str]]] = [
    ("markdown", "| a | b |\n|---|:-:|\n| 1 | x \\| z |\n| 2 | y |\n", 2, ["a", "b"]),
    ("markdown", "Here it is:\n\na | b\n--- | ---\n1 | 2\n\nDone.", 1, ["a", "b"]),
    ("psql", " id | name \n----+------\n  1 | a\n  2 | b\n(2 rows)\n\n", 2, ["id", "name"]),
    ("psql", " count \n-------\n   275\n(1 row)\n\n", 1, ["count"]),
    (
        "psql",
        "       List\n Name |  Privileges   \n------+---------------\n"
        " a    | x=c/x        +\n      | y=CTc/y\n b    | \n(2 rows)\n",
        2,
        ["Name", "Privileges"],
    ),
    (
        "grid",
        "+----+------+\n| id | name |\n+----+------+\n|  1 | a    |\n|  2 | b    |\n+----+------+\n2 rows in set\n",
        2,
        ["id", "name"],
    ),
    (
        "grid",
        "+------+-----+\n|   id | n   |\n+======+=====+\n|    1 | a   |\n|      | b   |\n"
        "+------+-----+\n|    2 | c   |\n+------+-----+\n",
        2,
        ["id", "n"],
    ),
    ("grid", "+----+---+\n| id | n |\n|----+---|\n|  1 | a |\n|  2 | b |\n+----+---+\n", 2, ["id", "n"]),
    (
        "box",
        "┌────┬──────┐\n│ id │ name │\n├────┼──────┤\n│ 1  │ a    │\n│ 2  │ b    │\n└────┴──────┘\n",
        2,
        ["id", "name"],
    ),
    (
        "box",
        "┌───────┬─────────┐\n│  id   │  name   │\n│ int32 │ varchar │\n"
        "├───────┼─────────┤\n│     1 │ a       │\n└───────┴─────────┘\n",
        1,
        ["id", "name"],
    ),
    ("columns", "id  name\n--  ----\n1   a b\n2   c\n", 2, ["id", "name"]),
    ("columns", "====  ====\na     b\n====  ====\n1     2\n3     4\n====  ====\n", 2, ["a", "b"]),
    (
        "aligned",
        "NAME       READY   STATUS    AGE\nweb-1      1/1     Running   5d\nweb-2      0/1     Pending   3m\n",
        2,
        ["NAME", "READY", "STATUS", "AGE"],
    ),
    ("aligned", "      a    b     c\n0   1.0  xyz  True\n1  22.5   zz  True\n", 2, ["", "a", "b", "c"]),
    ("records", "-[ RECORD 1 ]---\nid   | 1\nname | a\n-[ RECORD 2 ]---\nid   | 2\nname | b\n", 2, ["id", "name"]),
    (
        "records",
        "*** 1. row ***\n  id: 1\nname: a\n*** 2. row ***\n  id: 2\nname: b\n2 rows in set (0.00 sec)\n",
        2,
        ["id", "name"],
    ),
    ("records", "1. row\nid: 1\nname: a: b\n\n2. row\nid: 2\nname: NULL\n\nResult: 2 rows", 2, ["id", "name"]),
    ("records", "   id = 1\n name = a\n\n   id = 2\n name = b\n", 2, ["id", "name"]),
]


@pytest.mark.parametrize(("source", "text", "rows", "columns"), RULED)
def test_drawn_tables_are_read_whoever_drew_them(source: str, text: str, rows: int, columns: list[str]) -> None:
    """Markdown, psql, mysql, sqlite, data frames; lines of one cell are one row."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.source, shape.rows) == (Kind.TABULAR, source, rows)
    assert [column.name for column in shape.columns or ()] == columns
    assert len(list(iter_rows(text.encode(), shape))) == rows


def test_several_tables_are_no_one_table() -> None:
    """Two statements, two results: text."""
    text = " a \n---\n 1\n(1 row)\n\n b \n---\n 2\n(1 row)\n\nUPDATE 3\n"
    assert read_shape(text.encode()).kind is Kind.TEXT


def test_a_log_of_commits_in_blocks_is_a_table_without_its_title() -> None:
    """`Key: value` blocks with the same keys, the line above them no key."""
    blocks = "\n\n".join(f"Commit: 'c{n}'\nAuthor: Ann\nMessage: 'fix: {n}'" for n in range(3))
    shape = read_shape(f"Commit history:\n{blocks}\n".encode())
    assert (shape.kind, shape.rows) == (Kind.TABULAR, 3)
    assert [column.name for column in shape.columns or ()] == ["Commit", "Author", "Message"]


def test_a_table_in_a_frame_under_a_title_is_read() -> None:
    """As `aws --output table` draws it."""
    text = (
        "-----------------\n|    Describe   |\n+---------------+\n||    Regions  ||\n|+------+------+|\n"
        "|| Name |  End ||\n|+------+------+|\n||  a   |  e1  ||\n||  b   |  e2  ||\n|+------+------+|\n"
    )
    shape = read_shape(text.encode())
    assert (shape.kind, shape.rows) == (Kind.TABULAR, 2)
    assert [column.name for column in shape.columns or ()] == ["Name", "End"]


@pytest.mark.parametrize(
    ("text", "count"),
    [("/a/b.md\n/a/c.md\n/a/d.md", 3), ("[FILE] Apache-2.0\n[DIR] docs\n[FILE] GPL", 3), ("- one\n- two\n", 2)],
)
def test_an_item_a_line_is_a_list(text: str, count: int) -> None:
    """Paths, names, marked entries; they come back one by one."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.source, shape.rows) == (Kind.LIST, "lines", count)
    assert [row[0] for row in iter_rows(text.encode(), shape)] == text.strip().split("\n")


def test_wrapped_data_and_code_are_no_lists() -> None:
    """Though no line has a blank in it."""
    for text in ("MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQsw\n" * 9, "f()\n{\n}\n", "foo();\nbar();\n"):
        assert read_shape(text.encode()).kind is Kind.TEXT


NO_TABLES = [
    "Hello Ann,\n\nthe results, as promised:\n\na,b\n1,2\n3,4\n\nBye, Bob",
    "Dear John,\n\nThank you for your message, and for the file.\nBest regards,\nMary\n",
    "Smith, John\nDoe, Jane\nRoe, Richard\n",
    "total 276\ndrwxr-xr-x   2 root root  4096 May 20  2025 .\n"
    "-rw-r--r--   1 root root 11358 Dec 19  2004 Apache-2.0\n",
    " src/a.py | 10 ++--\n src/b.py |  5 +\n 2 files changed, 12 insertions(+), 3 deletions(-)\n",
    "   February 2024\nMo Tu We Th Fr Sa Su\n          1  2  3  4\n 5  6  7  8  9 10 11\n",
    "def f(a, b):\n    return g(a, b)\n\nprint(f(1, 2))\n",
    "foo(a, b);\nbar(c, d);\nbaz(e, f);\n",
    "SELECT a, b, c\nFROM t\nWHERE x = 1\n",
    "2024-01-01 10:00:00,123 INFO start\n2024-01-01 10:00:01,456 INFO stop\n2024-01-01 10:00:02,001 ERROR bad\n",
    '- generic [ref=e1]:\n  - main [ref=e2]:\n    - heading "Mozilla" [level=1] [ref=e3]\n',
    "key: value\nother:\n  - a\n  - b\nnested:\n  x: 1, 2\n",
    "The pipe | is a symbol. So is | this.\nAnother | line with | pipes.\n",
    "import os, sys\nimport re, json\n",
    "const x = {\n  a: 1,\n  b: 2,\n};\n",
    "a{color:red;margin:0}\nb{color:blue;padding:1}\n",
    '1.2.3.4 - - [10/Oct/2000] "GET /a" 200 "Mozilla/5.0 (KHTML, like Gecko)"\n' * 3,
    "Roses are red,\nViolets are blue,\nSugar is sweet,\nAnd so are you.\n",
    "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-a, b\n+c, d\n",
    "    1\tdef f():\n    2\t    return 1\n    3\t\n    4\tprint(f())\n",
    "Title\n=====\n\nSome text here.\n\nOther\n-----\n\nMore.\n",
    "<html><body><p>Hi, there</p>\n<p>and, here</p></body></html>",
    "Makefile:\n\tall: a b\n\tclean:\n\t\trm -f x\n",
]


@pytest.mark.parametrize("text", NO_TABLES)
def test_what_only_looks_like_a_table_is_text(text: str) -> None:
    """Letters, listings, code, logs, calendars, trees."""
    assert read_shape(text.encode()).kind is Kind.TEXT


def test_key_value_lines_are_one_object() -> None:
    """Once each, and nothing else."""
    shape = read_shape(b"size: 35149\ncreated: Thu Jan 01 1970 00:00:00\nisFile: true\n")
    assert (shape.kind, shape.source, shape.key_count) == (Kind.OBJECT, "key_value", 3)


CELLS_OF_WORDS = """\
CONTAINER ID   COMMAND            CREATED        STATUS                 PORTS     NAMES
8e3187ddaeb7   "/bin/sh -c run"   2 hours ago    Exited (1) 2 hours ago           app_0
8f6fe21b37ca   "/bin/sh -c run"   3 hours ago    Up 3 hours             80/tcp    app_1
"""
ONE_RULE = """\
Region      Sales    Growth
---------------------------
North       4,526      0.8%
Far South   6,259     -1.8%
"""


def test_a_blank_at_one_place_in_every_cell_parts_no_column() -> None:
    """Only what has a name in the header is a column of its own."""
    shape = read_shape(CELLS_OF_WORDS.encode())
    assert shape.columns
    assert [column.name for column in shape.columns] == [
        "CONTAINER ID",
        "COMMAND",
        "CREATED",
        "STATUS",
        "PORTS",
        "NAMES",
    ]
    rows = [list(row) for row in iter_rows(CELLS_OF_WORDS.encode(), shape)]
    assert rows[0][1:4] == ['"/bin/sh -c run"', "2 hours ago", "Exited (1) 2 hours ago"]
    assert rows[1][3:] == ["Up 3 hours", "80/tcp", "app_1"]


def test_columns_over_one_unbroken_rule_are_found_by_their_blanks() -> None:
    """A report's header is often ruled off as a whole."""
    shape = read_shape(ONE_RULE.encode())
    assert shape.columns
    assert [column.name for column in shape.columns] == ["Region", "Sales", "Growth"]
    assert shape.rows == 2
    assert [row[0] for row in iter_rows(ONE_RULE.encode(), shape)] == ["North", "Far South"]


def test_a_heading_over_prose_is_no_table() -> None:
    """A rule under a title, with lines of words below, has no columns."""
    text = "Release   notes\n---------------\nThis is what is new in it.\nNothing else was changed at all.\n"
    assert read_shape(text.encode()).kind is Kind.TEXT


@pytest.mark.parametrize(
    "text",
    [
        "| name | n | note  |\n|------|---|-------|\n| a|b  | 1 | x|y|z |\n| 李雷 | 2 | p     |\n",
        " name | n |  note \n------+---+-------\n a|b  | 1 | x|y|z\n 李雷 | 2 | p\n(2 rows)\n",
        "+------+---+-------+\n| name | n | note  |\n+------+---+-------+\n| a|b  | 1 | x|y|z |\n"
        "| 李雷 | 2 | p     |\n+------+---+-------+\n",
        "┌──────┬───┬───────┐\n│ name │ n │ note  │\n├──────┼───┼───────┤\n│ a|b  │ 1 │ x|y|z │\n"
        "│ 李雷 │ 2 │ p     │\n└──────┴───┴───────┘\n",
    ],
)
def test_a_bar_that_stands_under_no_joint_is_part_of_its_cell(text: str) -> None:
    """The rule says where the columns are."""
    shape = read_shape(text.encode())
    assert [[value.text for value in row] for row in shape.head] == [["a|b", "1", "x|y|z"], ["李雷", "2", "p"]]


@pytest.mark.parametrize(
    "text",
    [
        '"""\n    filters\n    ~~~~~~~\n\n    Looks filters up, and the default ones.\n"""\n\nimport re\n\nNAMES = {\n'
        + "".join(f'    "n{at}": "m{at}",\n' for at in range(30))
        + "}\n",
        "from __future__ import annotations\n\n" + "".join(f'    "n{at}": "m{at}",\n' for at in range(30)) + "}\n",
    ],
)
def test_a_program_is_no_table(text: str) -> None:
    """Whatever it lists; a line under a heading fences nothing."""
    assert read_shape(text.encode()).kind is Kind.TEXT
