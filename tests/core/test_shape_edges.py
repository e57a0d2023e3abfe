"""Where a table begins and ends: notes above the header, rows that are taken for one, padding, footers, cuts."""

from __future__ import annotations

import pytest

from crp_mcp.core.model import Kind
from crp_mcp.core.shape import Shape, iter_rows, read_shape

TABLES: list[tuple[str, list[str], list[object]]] = [
    (  # blanks between a comma and a quote are no part of a cell
        '"Name",     "Sex", "Height (in)"\n"Alex",       "M",    74\n"Ruth",       "F",    65\n',
        ["Name", "Sex", "Height (in)"],
        ["Ruth", "F", 65],
    ),
    (  # nor are those that fill a column up
        "NAME    \tREVISION\tCHART        \nmysite  \t3       \tnginx-15.14.0\npromgraf\t1       \tprom-57.0.1  \n",
        ["NAME", "REVISION", "CHART"],
        ["promgraf", 1, "prom-57.0.1"],
    ),
    (  # several lines of notes, as wide as the table
        "#datatype,string,long,double,string\n#group,false,false,false,true\n,result,table,_value,host\n"
        ",r,0,0.5,a\n,r,1,0.25,b\n",
        ["", "result", "table", "_value", "host"],
        [None, "r", 1, 0.25, "b"],
    ),
    (  # the client's own line behind the last record
        "*** 1. row ***\n  Name: users\nComment: \n*** 2. row ***\n  Name: orders\nComment: big\n2 rows in set\n",
        ["Name", "Comment"],
        ["orders", "big"],
    ),
]


@pytest.mark.parametrize(("text", "names", "last"), TABLES)
def test_only_rows_are_rows(text: str, names: list[str], last: list[object]) -> None:
    """Notes, padding and footers are in no name and in no cell."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.rows, [column.name for column in shape.columns or ()]) == (Kind.TABULAR, 2, names)
    assert [None if cell == "" else _plain(cell) for cell in list(iter_rows(text.encode(), shape))[-1]] == [
        None if cell == "" else cell for cell in last
    ]


def _plain(cell: object) -> object:
    return float(cell) if isinstance(cell, str) and cell.replace(".", "", 1).isdecimal() and "." in cell else cell


@pytest.mark.parametrize(
    "text",
    [
        "build\tpass\t1m2s\thttps://github.com/a/b/1\nlint\tfail\t12s\thttps://github.com/a/b/2\n",
        "100644 blob 0546f6ac\tcore/__init__.py\n100644 blob 123173a8\tcore/a.py\n100644 blob 24116\tcore/b.py\n",
        "web,10.0.0.1\ndb,10.0.0.2\ncache,10.0.0.3\n",
        "ann@x.org,Paris,m\nbob@y.org,Rome,m\ncy@z.org,Oslo,f\n",
    ],
)
def test_addresses_paths_and_the_like_name_no_column(text: str) -> None:
    """A first row with a value of the sort that stands below it is data."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.rows) == (Kind.TABULAR, len(text.splitlines()))


def test_lines_that_end_within_a_document_are_not_all_there_is() -> None:
    """The documents before it are rows; that the last one is cut is said, and a remark is no document."""
    assert _extent(read_shape(b'{"id":1}\n{"id":2}\n{"id":3,"na')) == (2, True, "cut at the end")
    assert _extent(read_shape(b'{"id":1}\n{"id":2}\nbye {')) == (2, False, None)
    assert _extent(read_shape(b'{"id":1}\n{broken}\n{"id":2}\n')) == (2, False, None)


def _extent(shape: Shape) -> tuple[int | None, bool, str | None]:
    return shape.rows, shape.partial, shape.partial_why


@pytest.mark.parametrize(
    "text", ["Listed 0 items.\n", "Fetched no rows.", "No resources found in default namespace.\n"]
)
def test_nothing_said_in_words_is_empty(text: str) -> None:
    """The words are kept."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.rows, shape.text["message"]) == (Kind.EMPTY, 0, text.strip())


def test_nothing_wrong_is_not_nothing_found() -> None:
    """A check that passed returned no empty result."""
    assert read_shape(b"No broken requirements found.\n").kind is Kind.TEXT


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("region,units\nNorth,10\nSouth,20\nTotal,30\n", "Total"),
        ("| Team | Points |\n|---|---|\n| A | 10 |\n| B | 15 |\n| **Total** | **25** |\n", "**Total**"),
        ('{"rows":[{"r":"N","n":1},{"r":"S","n":2},{"r":"Grand total","n":3}]}', "Grand total"),
        ('[["Teil","Menge"],["Rad",4],["Tür",2],["Summe",6]]', "Summe"),
        ("name,kind\nSub,x\nAdd,y\nTotal,z\n", None),
        ("region,units\nTotal,30\nNorth,10\nSouth,20\n", None),
        ("status,n\nTotal,30\n", None),
    ],
)
def test_a_last_row_that_sums_up_is_named(text: str, label: str | None) -> None:
    """It stays a row; who adds up the column is told."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.text.get("total_row")) == (Kind.TABULAR, label)


def test_a_long_list_ends_in_its_total_too() -> None:
    """However its rows are held."""
    rows = ",".join(f'{{"r":"r{at}","n":{at}}}' for at in range(5_000))
    assert read_shape(f'[{rows},{{"r":"Total","n":12497500}}]'.encode()).text["total_row"] == "Total"
