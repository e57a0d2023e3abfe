"""Tables set in columns of blanks, with and without dashes under their names: where cells touch, names have blanks,
titles stand above, or a second table follows.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.model import Kind
from crp_mcp.core.shape import iter_rows, read_shape

ROWS: list[tuple[str, list[str], list[str]]] = [
    (  # one blank between most names; numbers under them
        "Filesystem     Type     1K-blocks    Used Use% Mounted on\n"
        "devtmpfs       devtmpfs     12334       0   0% /dev\n"
        "/dev/vda       ext4     264212084 2671332  10% /\n",
        ["Filesystem", "Type", "1K-blocks", "Used", "Use%", "Mounted on"],
        ["/dev/vda", "ext4", "264212084", "2671332", "10%", "/"],
    ),
    (  # names of two words over cells that are shorter than either
        "Protocol  Address       Age (min)  Hardware Addr   Interface\n"
        "Internet  10.100.88.1          -   c4f7.d564.b716  Vlan10\n"
        "Internet  10.100.88.19         0   Incomplete\n",
        ["Protocol", "Address", "Age (min)", "Hardware Addr", "Interface"],
        ["Internet", "10.100.88.19", "0", "Incomplete", ""],
    ),
    (
        "NAME         IP           NODE       NOMINATED NODE   READINESS GATES\n"
        "nginx-2xkqv  10.244.1.4   worker-1   <none>           <none>\n"
        "etcd-master  172.18.0.2   master     <none>           <none>\n",
        ["NAME", "IP", "NODE", "NOMINATED NODE", "READINESS GATES"],
        ["etcd-master", "172.18.0.2", "master", "<none>", "<none>"],
    ),
    (  # a cell so wide that no river is left beside it
        "Filesystem    Size  Capacity   iused   ifree  Mounted on\n"
        "/dev/disk1   466Gi       32%  150769   92233  /\n"
        "//cloud/b    3.5Ti       32% 301134832  649  /Volumes/b\n",
        ["Filesystem", "Size", "Capacity", "iused", "ifree", "Mounted on"],
        ["//cloud/b", "3.5Ti", "32%", "301134832", "649", "/Volumes/b"],
    ),
    (  # a title directly above the names
        "Kernel Interface table\n"
        "Iface      MTU    RX-OK RX-ERR    TX-OK Flg\n"
        "ens33     1500      476      0      312 BMRU\n"
        "lo       65536        0      0        0 LRU\n",
        ["Iface", "MTU", "RX-OK", "RX-ERR", "TX-OK", "Flg"],
        ["lo", "65536", "0", "0", "0", "LRU"],
    ),
    (  # commas that group digits part no cells
        "NAME    TOTAL COST   VIEWS\nann     $3,245.88    2,688,172\nO'Neil  $94,356.08   7,477\n",
        ["NAME", "TOTAL COST", "VIEWS"],
        ["O'Neil", "$94,356.08", "7,477"],
    ),
    (
        "TS                     VIEWS\n2020-06-04 07:18:31  754,650\n2020-10-17 02:57:52  928,502\n",
        ["TS", "VIEWS"],
        ["2020-10-17 02:57:52", "928,502"],
    ),
    (  # a cell of two words under the end of its name
        "            created_at  count                   ts\n0  2020-09-22 01:11:32  71416  2022-09-29 09:59:56\n"
        "1  2020-07-10 14:43:54  21224  2022-10-30 10:00:01\n",
        ["", "created_at", "count", "ts"],
        ["1", "2020-07-10 14:43:54", "21224", "2022-10-30 10:00:01"],
    ),
    (
        "   Avg Price  notes  population\n0      659.2     x1   5,757,313\n1      429.7     A1   5,884,033\n",
        ["", "Avg Price", "notes", "population"],
        ["1", "429.7", "A1", "5,884,033"],
    ),
    (  # no gap at all in the header, rows numbered
        "   name age score\n1   Ann  30  9.50\n2 Zoe B  25    NA\n",
        ["", "name", "age", "score"],
        ["2", "Zoe B", "25", "NA"],
    ),
    (  # a legend below
        "  UNIT          LOAD   SUB     DESCRIPTION\n  cron.service  loaded running Regular processing\n"
        "● ngx.service   loaded failed  A web server\n\nLOAD = Was it loaded.\nSUB  = The state.\n\n2 loaded.\n",
        ["", "UNIT", "LOAD", "SUB", "DESCRIPTION"],
        ["●", "ngx.service", "loaded", "failed", "A web server"],
    ),
    (  # numbers that begin left of the dashes
        "\r\nHandles  WS(K)   CPU(s)     Id  SI ProcessName\r\n-------  -----   ------     --  -- -----------\r\n"
        "    532  34128     5.38   3692   1 chrome\r\n   1204 190112   102.77   9120   1 Code\r\n\r\n",
        ["Handles", "WS(K)", "CPU(s)", "Id", "SI", "ProcessName"],
        ["1204", "190112", "102.77", "9120", "1", "Code"],
    ),
]


@pytest.mark.parametrize(("text", "names", "last"), ROWS)
def test_cells_stand_under_their_names(text: str, names: list[str], last: list[str]) -> None:
    """Every column has its own cells, however near the next column's come; a line above or below is no row."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.rows, [column.name for column in shape.columns or ()]) == (Kind.TABULAR, 2, names)
    assert ["" if cell is None else str(cell) for cell in list(iter_rows(text.encode(), shape))[-1]] == last


@pytest.mark.parametrize(
    "text",
    [
        "NAME        TYPE        CLUSTER-IP    PORT(S)   AGE\nsvc/web     ClusterIP   10.96.0.1     443/TCP   9d\n\n"
        "NAME         READY   UP-TO-DATE   AVAILABLE   AGE\ndeploy/web   2/3     3            2           5d\n",
        "           CPU0       CPU1\n 24:          1          0  IO-APIC   5-edge      ACPI:Ged\n"
        " 26:          0         12  IO-APIC   4-edge      ttyS0\n",
        "2024-01-15 10:12:33       1234 report.csv\n                           PRE logs/\n"
        "2024-02-01 00:00:01   98765432 backup.tar\n",
        "+-----------------------------+--------------------+\n| GPU  Name      Persistence-M| Bus-Id      Disp.A |\n"
        "|=============================+====================|\n|   0  Tesla T4           Off | 00000000:04.0  Off |\n"
        "+-----------------------------+--------------------+\n",
        "Name   Size\n----   ----\na-very-long-name-that-covers it all\n",
    ],
)
def test_what_cannot_be_told_apart_is_a_text(text: str) -> None:
    """Two tables, columns without names, and rows that do not stand under their header are read as no table."""
    assert read_shape(text.encode()).kind is Kind.TEXT


def _money(spread: random.Random) -> str:
    return f"${spread.uniform(0, 99_999):,.2f}"


CELLS: dict[str, Callable[[random.Random], str]] = {
    "id": lambda spread: str(spread.randint(1, 99_999)),
    "Avg Price": _money,
    "views": lambda spread: f"{spread.randint(0, 9_999_999):,}",
    "created_at": lambda spread: f"2024-0{spread.randint(1, 9)}-1{spread.randint(0, 9)} 0{spread.randint(0, 9)}:30:00",
    "City": lambda spread: spread.choice(["Rome", "New York", "O'Neil", "San Jose del Monte"]),
    "rate": lambda spread: f"{spread.uniform(0, 100):.1f}%",
}


@pytest.mark.parametrize("seed", range(40))
def test_a_table_laid_out_in_blanks_is_read_as_it_was(seed: int) -> None:
    """Whatever its columns, the gap between them and the side they are set to."""
    spread = random.Random(seed)
    names = spread.sample(sorted(CELLS), spread.randint(3, 6))
    rows = [[CELLS[name](spread) for name in names] for _ in range(spread.randint(3, 12))]
    widths = [max(len(name), *(len(row[at]) for row in rows)) for at, name in enumerate(names)]
    right, gap = spread.random() < 0.5, " " * spread.randint(2, 4)
    lines = [
        gap.join(cell.rjust(w) if right else cell.ljust(w) for cell, w in zip(row, widths, strict=True))
        for row in [names, *rows]
    ]
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    shape = read_shape(text.encode())
    assert (shape.kind, [column.name for column in shape.columns or ()]) == (Kind.TABULAR, names), text
    assert [[value.text for value in row] for row in shape.head] == rows[:3], text


@given(st.lists(st.sampled_from(["  ", "    ", "\n", "\n\n", "Name", "of it", "12", "1,200", "-", "● "]), max_size=40))
def test_no_layout_raises(parts: list[str]) -> None:
    """Headers that end before their rows do, names without cells, cells without names."""
    text = "".join(parts)
    shape = read_shape(text.encode())
    if shape.kind is Kind.TABULAR:
        assert len(list(iter_rows(text.encode(), shape))) == shape.rows
