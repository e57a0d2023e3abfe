"""What the query tests share: a store with orders, customers, a log and a result of another project."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from crp_mcp.core.model import Scope
from crp_mcp.query.answers import Answer
from crp_mcp.query.desk import Desk
from tests.relay.support import Bench, bench, order_rows, text_result

LOG = [
    f"2024-05-01 10:{n // 60 % 60:02d}:{n % 60:02d},250 {'ERROR' if n == 61 else 'INFO'} request req-{n} done"
    for n in range(500)
]
CUSTOMERS = [{"city": city, "country": land} for city, land in (("Oslo", "NO"), ("Rome", "IT"), ("Kyiv", "UA"))]
SECRET = "the-secret-of-another-project"


class Room:
    """Stored results by what they are, and short ways to ask about them."""

    def __init__(self, made: Bench) -> None:
        self.bench = made
        self.orders = self.customers = self.log = ""

    @property
    def desk(self) -> Desk:
        return self.bench.engine.desk

    def answer(self, sql: str) -> Answer:
        return self.desk.query(self.bench.scope, self.named(sql), self.bench.clock())

    def rows(self, sql: str) -> list[list[Any]]:
        return [json.loads(row) for row in self.answer(sql).rows]

    def one(self, sql: str) -> Any:
        return self.rows(sql)[0][0]

    def named(self, sql: str) -> str:
        """`{orders}`, `{customers}`, `{log}` stand for the ids."""
        return sql.replace("{orders}", self.orders).replace("{customers}", self.customers).replace("{log}", self.log)

    def capture(self, value: Any, **job: Any) -> str:
        text = value if isinstance(value, str) else json.dumps(value)
        return self.bench.capture(text_result(text), **job).entry.scratch_id


@contextmanager
def open_room(folder: Path, count: int = 300) -> Iterator[Room]:
    with bench(folder) as made:
        other = Scope("local", "another project", "conv_other")
        job = replace(
            _job(made), scope=other, result=json.dumps(text_result(json.dumps([{"secret": SECRET}]))).encode()
        )
        made.engine.service.capture(job)
        room = Room(made)
        room.customers = room.capture(CUSTOMERS, tool="customers", server="crm")
        room.log = room.capture("\n".join(LOG), tool="logs")
        room.orders = room.capture(order_rows(count))
        made.engine.desk.query(other, "SELECT * FROM scratch_readquery_001", made.clock())
        yield room


def _job(made: Bench) -> Any:
    from crp_mcp.core.model import ToolCall
    from crp_mcp.relay.service import Job

    return Job(ToolCall("shop", "read_query", {}, b"{}"), made.scope, made.policy, b"{}")
