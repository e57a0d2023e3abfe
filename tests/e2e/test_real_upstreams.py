"""Real servers behind the relay, a real host in front: floods become summaries, all else is as it was."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.e2e.support import relay_command, shown, with_host

pytestmark = pytest.mark.real

ROWS = 4_000


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A database of orders."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT, amount REAL)")
        cities = ("Oslo", "Rome", "Kyiv")
        db.executemany("INSERT INTO orders VALUES (?, ?, ?)", ((n, cities[n % 3], n / 4) for n in range(1, ROWS + 1)))
    db.close()
    return path


def test_a_query_over_a_real_database_is_summarised_and_read_back(
    real_server: Callable[..., list[str]], shop: Path, tmp_path: Path
) -> None:
    """4,000 rows of Python repr become one summary; pages and raw text give all of them back exactly."""
    server = real_server("sqlite", "--db-path", shop)
    query = {"query": "SELECT * FROM orders"}

    async def direct(client: Client) -> str:
        return shown(await client.call_tool("read_query", query))

    async def relayed(client: Client) -> tuple[str, str, str]:
        answer = await client.call_tool("read_query", query)
        made = (answer.meta or {})["dev.crp/scratch_id"]
        page = await client.call_tool("scratch_get", {"scratch_id": made, "view": "rows", "offset": ROWS - 2})
        text, offset = "", 0
        while offset is not None:
            piece = await client.call_tool(
                "scratch_get", {"scratch_id": made, "view": "raw", "offset": offset, "max_tokens": 20_000}
            )
            text += piece.content[1].text
            offset = piece.structured_content.get("next_offset")
        return shown(answer), page.content[1].text, text

    plain = with_host(server, direct)
    summary, page, raw = with_host(relay_command(tmp_path / "store", "--", *server), relayed)
    assert "4,000 rows" in summary.splitlines()[0]
    assert "Oslo" in summary
    assert page.splitlines() == ["id,city,amount", "3999,Oslo,999.75", "4000,Rome,1000.0"]
    assert raw == plain


@pytest.mark.parametrize("name", ["git", "time", "sqlite", "everything", "filesystem"])
def test_a_real_server_is_the_same_through_the_relay(
    real_server: Callable[..., list[str]], name: str, shop: Path, git_repository: Path, tmp_path: Path
) -> None:
    """Who it is, what it can do, its tools, resources and prompts arrive as if we were not there."""
    arguments: dict[str, list[str | Path]] = {
        "git": ["--repository", git_repository],
        "sqlite": ["--db-path", shop],
        "filesystem": [tmp_path],
    }
    server = real_server(name, *arguments.get(name, []))

    async def look(client: Client) -> dict[str, Any]:
        seen: dict[str, Any] = {"who": client.server_info.model_dump(mode="json"), "says": client.instructions or ""}
        seen["tools"] = [tool.model_dump(mode="json") for tool in (await client.list_tools()).tools]
        can = client.server_capabilities
        seen["can"] = can.model_dump(mode="json", exclude_none=True)
        if can.resources:
            seen["resources"] = [r.model_dump(mode="json") for r in (await client.list_resources()).resources]
        if can.prompts:
            seen["prompts"] = [p.model_dump(mode="json") for p in (await client.list_prompts()).prompts]
        return seen

    plain = with_host(server, look)
    ours = with_host(relay_command(tmp_path / "store", "--no-tools", "--", *server), look)
    for tool in (*plain["tools"], *ours["tools"]):
        tool.pop("output_schema")
    assert ours == plain


def test_small_results_of_a_real_server_are_identical(
    real_server: Callable[..., list[str]], git_repository: Path, tmp_path: Path
) -> None:
    """A status, a log of three commits, an error: the same objects with and without us."""
    server = real_server("git", "--repository", git_repository)
    calls = [
        ("git_status", {"repo_path": str(git_repository)}),
        ("git_log", {"repo_path": str(git_repository), "max_count": 2}),
        ("git_show", {"repo_path": str(git_repository), "revision": "no-such-revision"}),
    ]

    async def ask(client: Client) -> list[Any]:
        return [(await client.call_tool(name, given)).model_dump(mode="json") for name, given in calls]

    plain, ours = with_host(server, ask), with_host(relay_command(tmp_path / "store", "--", *server), ask)
    assert ours == plain


def test_a_file_of_a_real_filesystem_server_is_stored_once_although_it_comes_twice(
    real_server: Callable[..., list[str]], tmp_path: Path
) -> None:
    """The server sends text and the same in structuredContent; the model reads one summary."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    text = "".join(f"Paragraph {n} of a long document about shipping orders to Oslo.\n\n" for n in range(2_000))
    (folder / "long.txt").write_text(text)
    server = real_server("filesystem", folder)

    async def work(client: Client) -> Any:
        return await client.call_tool("read_text_file", {"path": str(folder / "long.txt")})

    answer = with_host(relay_command(tmp_path / "store", "--", *server), work)
    assert answer.structured_content is None
    assert len(answer.content) == 1
    assert len(shown(answer)) < 2_000


def test_an_image_of_a_real_server_passes_untouched(real_server: Callable[..., list[str]], tmp_path: Path) -> None:
    """Text, image, text: the same blocks, byte for byte."""
    server = real_server("everything")

    async def work(client: Client) -> Any:
        names = {tool.name for tool in (await client.list_tools()).tools}
        tool = next(name for name in ("get-tiny-image", "getTinyImage") if name in names)
        return (await client.call_tool(tool, {})).model_dump(mode="json")

    assert with_host(relay_command(tmp_path / "store", "--", *server), work) == with_host(server, work)


def test_two_servers_of_one_host_share_a_store_and_one_set_of_tools(
    real_server: Callable[..., list[str]], git_repository: Path, shop: Path, tmp_path: Path
) -> None:
    """Each wrapped in place without tools, and one entry with the tools: ids of all of them read there."""
    store = tmp_path / "store"
    git = relay_command(store, "--no-tools", "--", *real_server("git", "--repository", git_repository))
    sql = relay_command(store, "--no-tools", "--", *real_server("sqlite", "--db-path", shop))

    async def status(client: Client) -> None:
        assert "scratch_get" not in {tool.name for tool in (await client.list_tools()).tools}
        await client.call_tool("git_status", {"repo_path": str(git_repository)})

    async def query(client: Client) -> str:
        answer = await client.call_tool("read_query", {"query": "SELECT * FROM orders"})
        return str((answer.meta or {})["dev.crp/scratch_id"])

    async def read(client: Client, made: str) -> tuple[set[str], str, str]:
        names = {tool.name for tool in (await client.list_tools()).tools}
        page = await client.call_tool("scratch_get", {"scratch_id": made, "view": "rows", "limit": 1})
        listed = await client.call_tool("scratch_list", {})
        return names, page.content[1].text, shown(listed)

    with_host(git, status)
    made = with_host(sql, query)
    names, page, listed = with_host(relay_command(store), lambda client: read(client, made))
    assert {"scratch_get", "scratch_list", "scratch_pin"} <= names
    assert page == "id,city,amount\n1,Rome,0.25\n"
    assert "git_status" in listed
    assert made in listed


def test_many_servers_behind_one_process(
    real_server: Callable[..., list[str]], git_repository: Path, shop: Path, tmp_path: Path
) -> None:
    """`serve --config` with two servers: all their tools under their own names, ours once, calls find their server."""
    import json

    servers = {
        "git": real_server("git", "--repository", git_repository),
        "shop": real_server("sqlite", "--db-path", shop),
    }
    config = tmp_path / "servers.json"
    entries = {name: {"command": argv[0], "args": argv[1:]} for name, argv in servers.items()}
    config.write_text(json.dumps({"mcpServers": entries}))

    async def work(client: Client) -> tuple[list[str], str, str]:
        names = [tool.name for tool in (await client.list_tools()).tools]
        status = await client.call_tool("git_status", {"repo_path": str(git_repository)})
        tables = await client.call_tool("list_tables", {})
        return names, shown(status), shown(tables)

    names, status, tables = with_host(relay_command(tmp_path / "store", "--config", str(config)), work)
    assert len(names) == len(set(names))
    assert {"git_status", "read_query", "scratch_get"} <= set(names)
    assert "On branch main" in status
    assert "orders" in tables
