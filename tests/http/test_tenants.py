"""Tenants: who comes in, and that none can see, reach or guess anything of another's."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.http.support import (
    TOKEN_A,
    TOKEN_B,
    Front,
    bearer,
    config,
    fixture,
    initialize,
    messages,
    two_tenants,
)

A, B = bearer(TOKEN_A), bearer(TOKEN_B)


@pytest.fixture(scope="module")
def shared_front(tmp_path_factory: pytest.TempPathFactory):
    """A front for the tenants a and b, before one fixture server."""
    folder = tmp_path_factory.mktemp("tenants")
    with Front(folder / "store", "--config", config(folder, {"fixture": fixture()}, two_tenants())) as one:
        yield one


def rows(front: Front, headers: dict[str, str], size: int = 20_000) -> tuple[dict, str]:
    """A large result captured for a tenant: the answer, and its scratch id."""
    answer = front.modern("tools/call", {"name": "sized", "arguments": {"bytes": size, "form": "rows"}}, **headers)
    result = messages(answer)[-1]["result"]
    text = result["content"][0]["text"]
    return result, next(word.strip(".,;") for word in text.split() if word.startswith("scratch_"))


def get(front: Front, headers: dict[str, str], reference: str, conversation: str | None = None) -> dict:
    meta = {"dev.crp/conversation": conversation} if conversation else None
    params = {"name": "scratch_get", "arguments": {"scratch_id": reference}}
    return messages(front.modern("tools/call", params, meta=meta, **headers))[-1]["result"]


@pytest.mark.parametrize("headers", [{}, bearer("wrong-token-wrong-token"), {"authorization": "Basic " + TOKEN_A}])
def test_without_a_known_token_nobody_comes_in(shared_front: Front, headers: dict[str, str]) -> None:
    """401 with a challenge, for every path that shows anything; health is open and says nothing."""
    for answer in (
        shared_front.post(initialize(), **headers),
        shared_front.client.get("/metrics", headers=headers),
        shared_front.client.get("/receipts/sha256:" + "0" * 64, headers=headers),
        shared_front.client.delete("/mcp", headers={**headers, "mcp-session-id": "x"}),
    ):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert TOKEN_A not in answer.text
    assert shared_front.client.get("/healthz").json() == {"status": "ok", "store": "ok"}


def test_a_session_of_another_tenant_does_not_exist(shared_front: Front) -> None:
    """The answer is word for word that for a session there never was."""
    session = shared_front.session(**A)
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    taken = shared_front.post(ping, mcp_session_id=session.id, **B)
    never = shared_front.post(ping, mcp_session_id="x" * 43, **B)
    assert (taken.status_code, taken.text) == (never.status_code, never.text) == (404, never.text)
    headers = {**B, "mcp-session-id": session.id, "accept": "text/event-stream"}
    assert shared_front.client.get("/mcp", headers=headers).status_code == 404
    assert shared_front.client.delete("/mcp", headers=headers).status_code == 404
    assert session.request("ping")["result"] == {}


def test_captured_results_belong_to_their_tenant(shared_front: Front) -> None:
    """An id of one tenant's means nothing, or something else, to the other; also when it names the conversation."""
    _, scratch_id = rows(shared_front, A)
    assert not get(shared_front, A, scratch_id).get("isError")
    for conversation in (None, "any", "local"):
        assert get(shared_front, B, scratch_id, conversation)["isError"]
    listed = shared_front.modern("tools/call", {"name": "scratch_list", "arguments": {}}, **B)
    assert scratch_id not in listed.text
    assert messages(shared_front.modern("resources/read", {"uri": f"scratch://{scratch_id}"}, **B))[-1]["error"]


def test_receipts_are_given_to_their_tenant_alone(shared_front: Front) -> None:
    """As they were signed, with their media type; 404 for the other tenant, as for one there never was."""
    result, _ = rows(shared_front, A)
    digest = result["_meta"]["dev.crp/headers"]["Agent-Memory-Lineage-Receipt"]
    mine = shared_front.client.get(f"/receipts/{digest}", headers=A)
    assert mine.headers["content-type"] == "application/agent-lineage-eccr+json"
    assert mine.json()["alg"] == "Ed25519"
    theirs = shared_front.client.get(f"/receipts/{digest}", headers=B)
    never = shared_front.client.get("/receipts/" + "0" * 64, headers=B)
    assert (theirs.status_code, theirs.text) == (never.status_code, never.text) == (404, never.text)
    assert shared_front.client.get("/receipts/../store", headers=A).status_code == 404
    assert shared_front.client.get("/receipts/sha256:xyz", headers=A).status_code == 400


def test_a_store_that_cannot_be_read_says_nothing_of_a_receipt(tmp_path: Path) -> None:
    """503, and not that the receipt is no longer valid."""
    path = config(tmp_path, {"fixture": fixture()}, two_tenants())
    with Front(tmp_path / "store", "--config", path) as front:
        digest = rows(front, A)[0]["_meta"]["dev.crp/headers"]["Agent-Memory-Lineage-Receipt"]
        (database,) = (tmp_path / "store").glob("tenants/a-*/*.db")
        with closing(sqlite3.connect(database)) as broken, broken:
            broken.execute("ALTER TABLE receipt RENAME TO elsewhere")
        answer = front.client.get(f"/receipts/{digest}", headers=A)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5"), answer.text


def test_headers_of_an_answer_are_response_headers(shared_front: Front) -> None:
    """What a summary says of itself stands in the HTTP headers too, exactly, and nothing a server or client made up."""
    params = {"name": "sized", "arguments": {"bytes": 20_000, "form": "rows"}}
    forged = {"crp_context_scratch_entries": "9/9"}
    answer = shared_front.modern("tools/call", params, **A, **forged)
    inner = answer.json()["result"]["_meta"]["dev.crp/headers"]
    assert inner["CRP-Context-Scratch-Entries"] != "9/9"
    assert {name: answer.headers[name] for name in inner} == inner
    small = shared_front.modern("tools/call", {"name": "echo", "arguments": {"text": "x"}}, **A, **forged)
    assert not any(name.startswith(("crp-", "agent-")) for name in small.headers)


def test_without_a_conversation_only_ids_resolve(shared_front: Front) -> None:
    """A phrase means nothing between requests that do not say that they belong together."""
    _, scratch_id = rows(shared_front, A)
    assert not get(shared_front, A, scratch_id).get("isError")
    unknown = get(shared_front, A, "those results")
    assert unknown["isError"]
    assert "names no conversation" in unknown["content"][0]["text"]
    named = {"dev.crp/conversation": "talk"}
    params = {"name": "sized", "arguments": {"bytes": 20_000, "form": "rows"}}
    shared_front.modern("tools/call", params, meta=named, **A)
    assert not get(shared_front, A, "those results", "talk").get("isError")
    assert get(shared_front, A, "those results", "other talk")["isError"]


def test_a_session_is_a_conversation_and_does_not_show_its_id(shared_front: Front, tmp_path: Path) -> None:
    """References resolve within a session; what is stored of its name does not open it."""
    session, other = shared_front.session(**A), shared_front.session(**A)
    session.call("sized", {"bytes": 20_000, "form": "rows"})
    found = session.call("scratch_get", {"scratch_id": "those results"})
    assert not found["result"].get("isError")
    assert other.call("scratch_get", {"scratch_id": "those results"})["result"]["isError"]
    listed = session.post({"id": 1, "method": "tools/call", "params": {"name": "scratch_list", "arguments": {}}}).text
    assert session.id not in listed


def test_each_tenant_has_a_store_of_its_own(tmp_path: Path) -> None:
    """Two folders, readable by their owner alone, which the command line reads."""
    path = config(tmp_path, {"fixture": fixture()}, two_tenants())
    with Front(tmp_path / "store", "--config", path) as front:
        _, scratch_id = rows(front, A)
        rows(front, B)
    folders = sorted((tmp_path / "store" / "tenants").iterdir())
    assert [folder.name[:2] for folder in folders] == ["a-", "b-"]
    assert all(folder.stat().st_mode & 0o077 == 0 for folder in folders)
    command = [sys.executable, "-m", "crp_mcp", "scratch", "list", "--json", "--store", str(folders[0])]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert scratch_id in listed.stdout


def test_one_tenants_load_leaves_the_other_its_share(tmp_path: Path) -> None:
    """429 for requests above a tenant's limit, while the other's pass; metrics name no tenant."""
    path = config(tmp_path, {"fixture": fixture()}, two_tenants(tenant_requests=2, tenant_streams=1))
    with Front(tmp_path / "store", "--config", path) as front:
        one = front.session(**A)
        slow = {
            "id": 3,
            "method": "tools/call",
            "params": {"name": "progress", "arguments": {"steps": 999, "delay": 0.05}},
        }
        slow["params"]["_meta"] = {"progressToken": 1}
        with one.stream(slow) as first, one.stream(slow) as second, one.stream() as third:
            first.message(), second.message()
            assert third.response.status_code == 200
            refused = front.modern("server/discover", **A)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            assert front.client.get("/mcp", headers={**A, "accept": "text/event-stream"}).status_code == 429
            assert front.modern("server/discover", **B).status_code == 200
            text = front.client.get("/metrics", headers=B).text
            assert 'reason="tenant_requests"} 1' in text
            assert "tenant-a" not in text


def test_a_token_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    """A token that is added comes in, one that is removed does not; a broken file changes nothing and is logged."""
    file = tmp_path / "tokens"
    file.write_text(f"# team\n{TOKEN_A} a\n")
    file.chmod(0o600)
    with Front(tmp_path / "store", "--token-file", file, "--", *fixture()) as front:
        assert front.modern("server/discover", **A).status_code == 200
        assert front.modern("server/discover", **B).status_code == 401
        file.write_text(f"{TOKEN_B} b CONFIDENTIAL\n")
        assert front.modern("server/discover", **B).status_code == 200
        assert front.modern("server/discover", **A).status_code == 401
        file.write_text("too short\n")
        assert front.modern("server/discover", **B).status_code == 200
        assert TOKEN_B not in json.dumps(front.wait_log("token_file"))


def test_clearance_comes_with_the_token(tmp_path: Path) -> None:
    """What is labelled above a tenant's clearance is withheld from it alone."""
    tokens = [
        {"token": TOKEN_A, "tenant": "a", "clearance": "PUBLIC"},
        {"token": TOKEN_B, "tenant": "b", "clearance": "RESTRICTED"},
    ]
    path = config(tmp_path, {"fixture": fixture()}, {"tokens": tokens})
    with Front(tmp_path / "store", "--config", path) as front:
        params = {"name": "sized", "arguments": {"bytes": 20_000, "form": "rows"}}
        assert "withheld" in front.modern("tools/call", params, **A).text
        assert "3 of 285 rows shown" in front.modern("tools/call", params, **B).text


def refusal(*arguments: str | Path) -> str:
    """What `serve` says when it refuses to start."""
    command = [sys.executable, "-m", "crp_mcp", "serve", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert '"listening"' not in done.stderr, "said that it listens, and did not"
    return done.stderr


def test_what_would_let_strangers_in_is_refused_at_the_start(tmp_path: Path) -> None:
    """An address that others can reach, tokens that can be guessed or read by others, two clearances in one store."""
    assert "nothing says who may come in" in refusal("--http", "0.0.0.0:0", "--", "true")
    assert "not HOST:PORT" in refusal("--http", "8080", "--", "true")
    assert "belongs to --http" in refusal("--token-file", tmp_path / "x", "--", "true")
    cases = {
        "can be guessed": {"tokens": [{"token": "short", "tenant": "a"}]},
        "needs `tenant`": {"tokens": [{"token": TOKEN_A}]},
        "same token twice": {"tokens": [{"token": TOKEN_A, "tenant": t} for t in "ab"]},
        "is empty": {"tokens": []},
        "different clearances": {
            "tokens": [
                {"token": t, "tenant": "a", "clearance": c} for t, c in ((TOKEN_A, "PUBLIC"), (TOKEN_B, "INTERNAL"))
            ]
        },
        "not both": {"tokens": [{"token": TOKEN_A, "tenant": "a"}], "oauth": {"issuer": "https://i", "audience": "x"}},
        "must begin with https": {"oauth": {"issuer": "http://issuer.example", "audience": "x"}},
        "whole number from 1": {"limits": {"sessions": 0}},
        "is not a known key": {"token": "x"},
    }
    for text, section in cases.items():
        said = refusal("--http", "127.0.0.1:0", "--config", config(tmp_path, {"f": ["true"]}, section))
        assert text in said, said
        assert TOKEN_A not in said
    file = tmp_path / "tokens"
    file.write_text(f"{TOKEN_A} a\n")
    file.chmod(0o644)
    assert "others can read" in refusal("--http", "127.0.0.1:0", "--token-file", file, "--", "true")


def test_our_own_token_never_goes_upstream(tmp_path: Path) -> None:
    """Handing the client's Authorization on is refused where it holds the token for us."""
    path = tmp_path / "config.json"
    server = {"url": "http://127.0.0.1:9/mcp", "auth": {"passThrough": "Authorization"}}
    path.write_text(json.dumps({"mcpServers": {"r": server}, "crp": {"http": two_tenants()}}))
    assert "name another header" in refusal("--http", "127.0.0.1:0", "--config", path)
