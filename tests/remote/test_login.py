"""Logins, against a real authorization server: got, kept, renewed by one of many, refused, forgotten; never shown."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.mcp.spec import OAuth

from .support import MODERN, SECONDS, connected, free_port, process, run, script, wait_for


@dataclass
class Realm:
    """An authorization server and the MCP server it guards."""

    port: int
    mcp_port: int
    tmp_path: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.mcp_port}/mcp"

    @property
    def tokens(self) -> Path:
        return self.tmp_path / "tokens"

    def ask(self, path: str, method: str = "GET") -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def counts(self) -> dict[str, int]:
        return dict(self.ask("/counts"))

    def crp(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One command of ours, to its end."""
        return subprocess.run(
            command(*arguments), env=self.env(), capture_output=True, text=True, timeout=60, check=False
        )

    def env(self, **more: str) -> dict[str, str]:
        return {**os.environ, "CRP_MCP_TOKENS": str(self.tokens), "CRP_MCP_STORE": str(self.tmp_path / "store"), **more}

    def log_in(self, *arguments: str) -> str:
        """`crp-mcp login`, with us as the browser; what it printed."""
        child = subprocess.Popen(
            command("login", *(arguments or ("--url", self.url)), "--no-browser"),
            env=self.env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        killer = threading.Timer(60, child.kill)
        killer.start()
        assert child.stdout
        printed = ""
        for line in child.stdout:
            printed += line
            if line.startswith("http"):
                browse(line.strip())
        child.wait()
        child.stdout.close()
        killer.cancel()
        assert child.returncode == 0, printed
        return printed

    def logins(self) -> list[dict[str, Any]]:
        return [json.loads(file.read_text()) for file in sorted(self.tokens.glob("*.json"))]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "crp_mcp", *arguments]


def browse(url: str) -> str:
    with urllib.request.urlopen(url, timeout=SECONDS) as page:
        return str(page.read().decode())


@contextmanager
def realm(tmp_path: Path, life: int = 3600) -> Iterator[Realm]:
    port, mcp_port = free_port(), free_port()
    with process(script("authorization.py", port, mcp_port, life), port) as child:
        wait_for(mcp_port, child)
        yield Realm(port, mcp_port, tmp_path)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    """A realm whose tokens last, with a login."""
    with realm(tmp_path_factory.mktemp("realm")) as one:
        printed = one.log_in()
        assert "logged in to 127.0.0.1, scope read; the token ends in 60 min, renewed by itself" in printed
        yield one


def call(one: Realm, tool: str = "echo", **spec: Any) -> dict[str, Any]:
    """One call through a connection of ours."""

    async def go() -> dict[str, Any]:
        async with connected(one.url, one.tmp_path, **spec) as core:
            arguments = {"name": tool, "arguments": {"text": "hi"}, "_meta": MODERN}
            await core.ask("tools/list", {"_meta": MODERN})
            return await core.ask("tools/call", arguments)

    answer: dict[str, Any] = run(go())
    return answer


def test_a_login_is_kept_for_its_owner_and_used(lasting: Realm) -> None:
    """One file, 0600 in a folder 0700, whole; calls then carry its token."""
    (file,) = lasting.tokens.glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(lasting.tokens.stat().st_mode) == 0o700
    assert call(lasting)["result"]["content"][0]["text"] == "hi"
    assert lasting.counts()["register"] == 1


def test_without_a_login_the_error_says_how_to_get_one(tmp_path: Path, lasting: Realm) -> None:
    """No browser is opened, nothing is waited for."""
    without = Realm(lasting.port, lasting.mcp_port, tmp_path)
    text = call(without)["error"]["message"]
    assert text == "The MCP server 'odd' wants a login (HTTP 401); run `crp-mcp login --url URL`."


def test_a_scope_that_lacks_is_named_and_a_login_adds_it(tmp_path: Path) -> None:
    """403 insufficient_scope: the error has the command; what was granted before stays granted."""
    with realm(tmp_path) as one:
        one.log_in()
        text = call(one, "ask")["error"]["message"]
        assert "only with the scope `write` (HTTP 403); run `crp-mcp login --url URL --scope 'write'`" in text
        one.log_in("--url", one.url, "--scope", "write")
        assert one.logins()[0]["scope"] == "read write"
        assert "result" in call(one, "ask")
        assert one.counts()["register"] <= 2


def test_a_token_that_ended_is_renewed(tmp_path: Path) -> None:
    """Before it is sent, since it says when it ends; and the new one is kept."""
    with realm(tmp_path, life=20) as one:
        one.log_in()
        before = one.logins()[0]
        assert "result" in call(one)
        after = one.logins()[0]
        assert one.counts()["refresh"] >= 1
        assert one.counts()["reused"] == 0
        assert after["access_token"] != before["access_token"]
        assert after["refresh_token"] != before["refresh_token"]


def test_a_token_that_is_refused_is_renewed_once(tmp_path: Path) -> None:
    """A 401 was no call: the same call is made again with the new token; without one it is an error."""
    with realm(tmp_path) as one:
        one.log_in()
        one.ask("/forget", "POST")
        assert "result" in call(one)
        assert one.counts()["refresh"] == 1
        one.ask("/forget?all", "POST")
        assert "does not accept the login any more" in call(one)["error"]["message"]


def test_one_of_many_renews_and_the_others_read(tmp_path: Path) -> None:
    """Five connections of this process and three of others at once: one refresh, and no token is used twice."""
    with realm(tmp_path) as one:
        one.log_in()
        one.ask("/forget", "POST")
        others = [
            subprocess.Popen([sys.executable, "-c", OTHER, one.url, str(tmp_path)], stdout=subprocess.PIPE)
            for _ in range(3)
        ]

        async def go() -> None:
            async def single() -> None:
                async with connected(one.url, tmp_path) as core:
                    assert "result" in await core.ask("tools/list", {"_meta": MODERN})

            await asyncio.gather(*(single() for _ in range(5)))

        run(go())
        for other in others:
            assert other.communicate(timeout=60)[0] == b"ok\n"
        assert one.counts()["refresh"] == 1
        assert one.counts()["reused"] == 0


OTHER = """
import asyncio, sys
from pathlib import Path
from tests.remote.support import MODERN, connected
async def go():
    async with connected(sys.argv[1], Path(sys.argv[2])) as core:
        assert "result" in await core.ask("tools/list", {"_meta": MODERN})
        print("ok")
asyncio.run(go())
"""


def test_a_machine_logs_in_by_itself(tmp_path: Path) -> None:
    """Client credentials: no person, no file beforehand; the secret is written nowhere."""
    with realm(tmp_path, life=20) as one:
        auth = OAuth(
            scopes=("read",),
            client_id="machine",
            client_secret="machine-s3cret",
            grant="client_credentials",
            issuer=f"http://127.0.0.1:{one.port}",
        )
        assert "result" in call(one, auth=auth)
        assert "result" in call(one, auth=auth)
        assert one.counts()["client_credentials"] >= 2
        assert all("machine-s3cret" not in file.read_text() for file in tmp_path.rglob("*.json"))


def test_a_machines_secret_goes_to_its_own_authorization_server_only(tmp_path: Path) -> None:
    """A server that names another authorization server than the configured one gets nothing."""
    with realm(tmp_path) as one:
        auth = OAuth((), "machine", "machine-s3cret", grant="client_credentials", issuer="https://issuer.example")
        assert "gives no token to our client credentials" in call(one, auth=auth)["error"]["message"]
        assert one.counts()["client_credentials"] == 0


def test_a_strangers_answer_is_not_taken(tmp_path: Path) -> None:
    """What comes to the loopback address without our state is refused, and the login goes on."""
    with realm(tmp_path) as one:
        child = subprocess.Popen(
            command("login", "--url", one.url, "--no-browser"), env=one.env(), stdout=subprocess.PIPE, text=True
        )
        assert child.stdout
        url = next(line.strip() for line in child.stdout if line.startswith("http"))
        back = re.search(r"redirect_uri=([^&]+)", url)
        assert back
        address = urllib.request.unquote(back[1])  # type: ignore[attr-defined]
        for query in ("?code=x&state=wrong", "?code=x", "?error=access_denied&state="):
            with pytest.raises(urllib.error.HTTPError, match="400"):
                browse(address + query)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            browse(address.replace("/callback", "/"))
        assert "close this window" in browse(url)
        assert child.wait(30) == 0
        child.stdout.close()


def test_a_login_ends_here_and_there(tmp_path: Path) -> None:
    """`logout` removes the file and has the token revoked; without a login it says so."""
    with realm(tmp_path) as one:
        one.log_in()
        done = one.crp("logout", "--url", one.url)
        assert done.stdout == "logged out of 127.0.0.1; the token is revoked\n"
        assert one.logins() == []
        assert one.counts()["revoke"] == 1
        assert one.crp("logout", "--url", one.url).stdout == "there was no login to 127.0.0.1\n"


def test_a_damaged_or_open_file_is_not_used(tmp_path: Path) -> None:
    """A file that others may read, or that is no login: the error names it."""
    with realm(tmp_path) as one:
        one.log_in()
        (file,) = one.tokens.glob("*.json")
        file.chmod(0o644)
        assert "may be read by others" in call(one)["error"]["message"]
        file.chmod(0o600)
        file.write_text("{")
        assert "is damaged" in call(one)["error"]["message"]


def test_what_wants_no_login_gets_none(tmp_path: Path) -> None:
    """`login` to a server without authorization says so, and keeps nothing."""
    port = free_port()
    with process(script("sdk_server.py", port), port):
        one = Realm(port, port, tmp_path)
        done = one.crp("login", "--url", one.url, "--no-browser")
    assert done.returncode == 1
    assert "no login to '127.0.0.1': it wants none" in done.stderr
    assert not one.tokens.exists()


def test_secrets_are_seen_nowhere(tmp_path: Path) -> None:
    """Through the whole of us, with the log at its most talkative, and in `doctor`: names, never values."""
    from tests.mcp.host import Host

    with realm(tmp_path) as one:
        config = tmp_path / "servers.json"
        headers = {"X-Key": "${KEY}", "X-File": "${file:key.txt}"}
        server = {"type": "http", "url": f"{one.url}?key=${{KEY}}", "headers": headers, "auth": {"scopes": ["read"]}}
        config.write_text(json.dumps({"mcpServers": {"guarded": server}}))
        (tmp_path / "key.txt").write_text("file-s3cret\n")
        os.environ["KEY"] = "env-s3cret"
        try:
            one.log_in("guarded", "--config", str(config))
            login = one.logins()[0]
            log = (tmp_path / "log.txt").open("w+b")
            serve = command("serve", "--config", str(config), "--log-level", "debug")
            with Host(serve, env=one.env(), stderr=log) as host:
                params = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": {"name": "h", "version": "1"},
                }
                host.wait(host.post("initialize", params))
                host.notify("notifications/initialized")
                host.wait(host.post("tools/list"))
                told = host.wait(host.post("tools/call", {"name": "rows", "arguments": {"rows": 2000}}))
                assert "scratch" in json.dumps(told)
                one.ask("/forget?all", "POST")
                failed = host.wait(host.post("tools/call", {"name": "echo", "arguments": {"text": "x"}}))
            doctor = one.crp("doctor", "--config", str(config))
        finally:
            del os.environ["KEY"]
        log.seek(0)
        seen = log.read().decode() + json.dumps([told, failed]) + doctor.stdout + doctor.stderr
        log.close()
        assert f"run `crp-mcp login guarded --config {config}`" in json.dumps(failed)
        assert "X-File, X-Key" in doctor.stdout
        stored = b"".join(f.read_bytes() for f in (tmp_path / "store").rglob("*") if f.is_file())
        for secret in ("env-s3cret", "file-s3cret", login["access_token"], login["refresh_token"]):
            assert secret not in seen
            assert secret.encode() not in stored


def test_a_browser_that_is_waited_for_holds_nothing_up(tmp_path: Path) -> None:
    """A terminal's browser ends when its user has read the last page, which is ours."""
    browser = tmp_path / "browser.py"
    browser.write_text(
        f"#!{sys.executable}\nimport sys, urllib.request as web\nprint(web.urlopen(sys.argv[1], timeout=30).status)\n"
    )
    browser.chmod(0o700)
    with realm(tmp_path) as one:
        said = subprocess.run(
            command("login", "--url", one.url),
            env=one.env(BROWSER=f"{browser} %s"),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert said.returncode == 0, said
        assert "logged in" in said.stdout
