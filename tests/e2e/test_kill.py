"""kill -9 at any moment: every id the host was ever shown is there, and its bytes hash right."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from crp_mcp.app.engine import open_engine
from crp_mcp.app.settings import Settings
from crp_mcp.proof.chain_verify import verify_chain
from tests.e2e.support import relay_command

UPSTREAM = [sys.executable, "-S", str(Path(__file__).parents[1] / "servers" / "rows_server.py")]
ROUNDS = 6


def ask(process: subprocess.Popen[bytes], number: int, method: str, params: dict[str, object]) -> None:
    assert process.stdin is not None
    process.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
    )
    process.stdin.flush()


def shown_until_killed(store: Path, calls: int) -> list[str]:
    """Call for rows so many times, kill the relay in the middle of one more, return the ids that were shown."""
    shown: list[str] = []
    with subprocess.Popen(
        relay_command(store, "--", *UPSTREAM), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        client = {"name": "killer", "version": "1"}
        ask(process, 0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        process.stdout.readline()
        for number in range(1, calls + 1):
            ask(process, number, "tools/call", {"name": "rows", "arguments": {"count": 60 + number % 500}})
            line = process.stdout.readline()
            shown.append(json.loads(line)["result"]["_meta"]["dev.crp/scratch_id"])
        ask(process, calls + 1, "tools/call", {"name": "rows", "arguments": {"count": 9_000}})
        os.kill(process.pid, signal.SIGKILL)
    return shown


def test_every_id_that_was_shown_survives_kill_9(tmp_path: Path) -> None:
    """Relay and worker die in the middle of captures, again and again; the store has all that was promised."""
    dice, store, shown = random.Random(7), tmp_path / "store", list[str]()
    for _ in range(ROUNDS):
        shown += shown_until_killed(store, dice.randint(1, 12))
    assert len(shown) == len(set(shown)) > ROUNDS
    engine = open_engine(Settings(str(store), project=str(Path.cwd())), create=False)
    scope = engine.settings.scope()
    for made in shown:
        entry = engine.reader.entry(scope, made)
        payload = b"".join(engine.store.iter_payload(entry.payload_id))
        assert entry.provenance_hash == "sha256:" + hashlib.sha256(payload).hexdigest()
        assert entry.receipt is not None
    keys = engine.keyring
    verdict = verify_chain(
        engine.store.records(), keys=keys.public_keys(), verify_signature=keys.verify, expected_head=engine.store.head()
    )
    assert not verdict.faults
    engine.close()
