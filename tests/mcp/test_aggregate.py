"""Many servers behind one front: names, lists, routing, both eras, private environments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .host import MODERN_META, Host, fixture, proxied


def two(*options: str, **spec: object) -> list[dict]:
    return [
        {"name": "one", "argv": fixture("--name=one", "--prompt=only_one", *options), **spec},
        {"name": "two", "argv": fixture("--name=two", "--prompt=only_two", "--page=4", *options), **spec},
    ]


@pytest.fixture(scope="module", params=["handshake", "modern"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Host, dict]]:
    with Host(proxied(tmp_path_factory.mktemp("two"), two(), own=True, replace=5000)) as host:
        if request.param == "handshake":
            host.initialize()
            yield host, {}
        else:
            assert host.request("server/discover", {"_meta": MODERN_META})["result"]["resultType"] == "complete"
            yield host, {"_meta": MODERN_META}


def names_of(host: Host, meta: dict) -> list[str]:
    result = host.request("tools/list", meta)["result"]
    assert "nextCursor" not in result
    if meta:
        assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 1000, "public")
    return [tool["name"] for tool in result["tools"]]


def test_one_sorted_page_of_distinct_names(pair: tuple[Host, dict]) -> None:
    """Every page of every server followed, names kept apart, our tools once, always the same order."""
    host, meta = pair
    names = names_of(host, meta)
    assert names == sorted(set(names)) == names_of(host, meta)
    assert {"one_echo", "two_echo", "two_app", "scratch_get"} <= set(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,48}", name) for name in names)


def test_calls_reach_the_server_they_name(pair: tuple[Host, dict]) -> None:
    """The server sees its own tool's name; unknown tools are an error."""
    host, meta = pair
    for name in ("one", "two"):
        host.call(f"{name}_add", {"a": 1, "b": 2}, **({"meta": MODERN_META} if meta else {}))
        seen = [json.loads(line) for line in host.text(f"{name}_received", {"last": 4}, meta=meta.get("_meta"))]
        assert [m["params"]["name"] for m in seen if m["method"] == "tools/call"][-2:] == ["add", "received"]
    assert host.request("tools/call", {"name": "echo", **meta})["error"]["code"] == -32602


def test_captured_calls_know_their_server(pair: tuple[Host, dict]) -> None:
    """The capture is told the server's name for itself and its tool."""
    host, meta = pair
    text = host.text("two_sized", {"bytes": 9000}, meta=meta.get("_meta"))
    assert re.fullmatch(r"summary of \d+ bytes of two:sized", text)


def test_prompts_resources_and_completion_find_their_server(pair: tuple[Host, dict]) -> None:
    """By name, by listing, by template, by asking around."""
    host, meta = pair
    prompts = [prompt["name"] for prompt in host.request("prompts/list", meta)["result"]["prompts"]]
    assert prompts == ["one_greet", "only_one", "only_two", "two_greet"]
    got = host.request("prompts/get", {"name": "two_greet", **meta})["result"]
    assert got["messages"][0]["content"]["text"] == "two: greet"
    uris = [resource["uri"] for resource in host.request("resources/list", meta)["result"]["resources"]]
    assert uris == [f"fixture://{name}/{n}" for name in ("one", "two") for n in range(3)]
    for uri in ("fixture://two/1", "fixture://two/not-listed"):
        contents = host.request("resources/read", {"uri": uri, **meta})["result"]["contents"]
        assert contents == [{"uri": uri, "text": "two", "x-odd": None}]
    assert host.request("resources/read", {"uri": "nobody://has/this", **meta})["error"]["code"] == -32602
    ref = {"type": "ref/prompt", "name": "two_greet"}
    asked = {"ref": ref, "argument": {"name": "who", "value": "x"}, **meta}
    assert host.request("completion/complete", asked)["result"]["completion"]["values"][0] == "two"
    seen = json.loads(host.text("two_received", {"last": 1}, meta=meta.get("_meta"))[0])
    assert seen["params"]["name"] == "received"
    templates = host.request("resources/templates/list", meta)["result"]["resourceTemplates"]
    assert templates[-1]["uriTemplate"] == "scratch://{scratch_id}"
    assert host.request("resources/read", {"uri": "scratch://x", **meta})["result"]["contents"][0]["text"] == "ours"


def test_unknown_requests_go_to_whoever_knows_them(pair: tuple[Host, dict]) -> None:
    """An extension's method is served; what nobody knows is an error."""
    host, meta = pair
    assert host.request("x/unknown-but-served", {"a": 1, **meta})["result"]["x"] == {"a": 1, **meta}
    assert host.request("x/unknown", meta)["error"]["code"] == -32601


def test_questions_of_two_servers_at_once(tmp_path: Path) -> None:
    """Both use the same ids; each gets its own answer."""
    with Host(proxied(tmp_path, two())) as host:
        host.initialize({"elicitation": {}})
        names_of(host, {})
        calls = [host.post("tools/call", {"name": f"{name}_elicit"}) for name in ("one", "two")]
        questions = [host.wait_other("elicitation/create") for _ in calls]
        assert questions[0]["id"] != questions[1]["id"]
        for question in reversed(questions):
            host.send({"id": question["id"], "result": {"answer": question["id"]}})
        answers = [json.loads(host.wait(call)["result"]["content"][0]["text"])["result"]["answer"] for call in calls]
        assert set(answers) == {question["id"] for question in questions}


def test_cancelling_and_progress_behind_names(tmp_path: Path) -> None:
    """The ids differ on both sides; the right call is cancelled, the token is the host's."""
    with Host(proxied(tmp_path, two())) as host:
        host.initialize()
        names_of(host, {})
        ident = host.post("tools/call", {"name": "two_slow", "arguments": {"seconds": 30}})
        host.notify("notifications/cancelled", {"requestId": ident})
        assert len(host.text("two_cancelled")) == 1
        assert host.text("one_cancelled") == []
        host.call("one_progress", {"steps": 2}, meta={"progressToken": [1] and 7})
        tokens = [m["params"]["progressToken"] for m in host.others if m["method"] == "notifications/progress"]
        assert tokens == [7, 7]


def test_a_stream_of_events_from_all(tmp_path: Path) -> None:
    """`subscriptions/listen` is acknowledged once; every server's events come under the host's own id."""
    with Host(proxied(tmp_path, two())) as host:
        ident = host.post("subscriptions/listen", {"_meta": MODERN_META, "notifications": {"toolsListChanged": True}})
        tag = {"_meta": {"io.modelcontextprotocol/subscriptionId": ident}}
        acknowledged = host.wait_other("notifications/subscriptions/acknowledged")
        assert acknowledged["params"] == {"notifications": {"toolsListChanged": True}, **tag}
        for _ in range(2):
            assert host.wait_other("notifications/tools/list_changed")["params"] == tag
        host.notify("notifications/cancelled", {"requestId": ident})
        host.request("tools/list", {"_meta": MODERN_META})
        for name in ("one", "two"):
            assert len(host.text(f"{name}_cancelled", meta=MODERN_META)) == 1
        assert not [m for m in host.others if m["method"] == "notifications/subscriptions/acknowledged"]


def test_allow_deny_and_prefix(tmp_path: Path) -> None:
    """Only what is let through is listed or callable; a prefix is put before every name."""
    servers = two()
    servers[0].update(allow=["e*", "add"], deny=["error"], prefix="p")
    servers[1].update(allow=["add"])
    with Host(proxied(tmp_path, servers)) as host:
        host.initialize()
        assert names_of(host, {}) == ["add", "p_add", "p_echo", "p_elicit", "p_environment"]
        assert host.text("p_add", {"a": 2, "b": 3}) == 5
        assert host.call("p_error")["error"]["code"] == -32602


def test_tools_that_appear_later(tmp_path: Path) -> None:
    """The host hears of the change, lists again and can call; also a host that calls without listing."""
    with Host(proxied(tmp_path, two()[:1])) as host:
        host.initialize()
        assert host.text("echo", {"text": "unlisted"}) == "unlisted"
        host.call("grow", {"tool": "grown"})
        host.wait_other("notifications/tools/list_changed")
        assert "grown" in names_of(host, {})
        assert host.text("grown") == "a grown tool"


def test_no_servers_at_all(tmp_path: Path) -> None:
    """Our own side alone is a server too, in both eras."""
    with Host(proxied(tmp_path, [], own=True)) as host:
        assert set(host.initialize()["result"]["capabilities"]) == {"tools", "resources", "completions"}
        assert names_of(host, {}) == ["scratch_get", "scratch_list"]
        assert host.request("prompts/list")["result"] == {"prompts": []}
        assert host.request("ping")["result"] == {}
    with Host(proxied(tmp_path, [], own=True)) as host:
        result = host.request("server/discover", {"_meta": MODERN_META})["result"]
        assert result["supportedVersions"] == ["2026-07-28"]


def test_old_servers_alone_send_a_probing_host_to_the_handshake(tmp_path: Path) -> None:
    """The probe is refused by name; the handshake then works with all of them."""
    servers = [{"name": name, "argv": fixture(f"--name={name}", "--legacy")} for name in ("one", "two")]
    with Host(proxied(tmp_path, servers)) as host:
        error = host.request("server/discover", {"_meta": MODERN_META})["error"]
        assert error["code"] == -32601
        assert "one, two" in error["message"]
        host.initialize()
        names_of(host, {})
        for name in ("one", "two"):
            assert host.text(f"{name}_pid")["initializations"] == 1


def test_an_old_server_among_others_is_bridged_to(tmp_path: Path) -> None:
    """The host is told of all of them in its own era; the old one is greeted once."""
    servers = [*two(), {"name": "old", "argv": fixture("--name=old", "--legacy")}]
    with Host(proxied(tmp_path, servers)) as host:
        assert "result" in host.request("server/discover", {"_meta": MODERN_META})
        listed = host.request("tools/list", {"_meta": MODERN_META})["result"]
        assert {"one_echo", "two_echo", "old_echo"} <= {tool["name"] for tool in listed["tools"]}
        assert (listed["resultType"], listed["ttlMs"], listed["cacheScope"]) == ("complete", 0, "private")
        counts = [host.text(f"{name}_pid", meta=MODERN_META)["initializations"] for name in ("one", "two", "old")]
        assert counts == [0, 0, 1]


def test_a_new_server_among_others_is_bridged_to(tmp_path: Path) -> None:
    """A host of the handshake has its tools as well."""
    servers = [*two()[:1], {"name": "new", "argv": fixture("--name=new", "--modern")}]
    with Host(proxied(tmp_path, servers)) as host:
        host.initialize()
        assert {"one_echo", "new_echo"} <= set(names_of(host, {}))


@pytest.mark.parametrize("era", ["2026-07-28", "handshake"])
def test_a_configured_era_is_bridged_to(tmp_path: Path, era: str) -> None:
    """In place, hosts of either era are served at once; the server hears its own alone."""
    with Host(proxied(tmp_path, [{**two()[0], "era": era}], in_place=True)) as host:
        meta = MODERN_META if era == "handshake" else None
        opened = host.request("server/discover", {"_meta": meta}) if meta else host.initialize()
        assert opened["result"]["capabilities"]["tools"] == {"listChanged": True}
        assert host.text("pid", meta=meta)["initializations"] == (1 if era == "handshake" else 0)


def test_a_slow_server_does_not_delay_the_others_calls(tmp_path: Path) -> None:
    """Only what needs it waits for it."""
    servers = [*two()[:1], {"name": "late", "argv": fixture("--name=late", "--init-delay=2")}]
    with Host(proxied(tmp_path, servers)) as host:
        opened = host.post("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
        assert host.request("ping", timeout=1.9)["result"] == {}
        assert host.wait(opened)["result"]["capabilities"]["tools"] == {"listChanged": True}


def test_environments_are_private(tmp_path: Path) -> None:
    """A server sees the environment its spec gives it and nothing else."""
    servers = [{**two()[0], "env": {"PATH": "/usr/bin", "TOKEN": "t"}}]
    with Host(proxied(tmp_path, servers), env={"SECRET_OF_ANOTHER": "x"}) as host:
        host.initialize()
        seen = host.text("environment")
        assert {k: v for k, v in seen.items() if k != "LC_CTYPE"} == {"PATH": "/usr/bin", "TOKEN": "t"}
