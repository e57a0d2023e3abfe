"""What the store tests share: one key, real links and receipts for the seal callback, and drafts."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crp_mcp.core.model import Entry, Scope
from crp_mcp.proof import eccr
from crp_mcp.proof.chain import Head, link, salted_digest
from crp_mcp.store import CaptureDraft, Leaf, Sealed, SealedReceipt, SqliteStore
from tests.proof.support import RING, SIGN

REPO = Path(__file__).resolve().parents[2]
NOW = 1_793_664_000.0
SALT = b"0123456789abcdef"
SCOPE = Scope("local", "/srv/shop", "morning")
MAC_KEY = RING.mac_key("morning")


def draft(scope: Scope = SCOPE, **more: Any) -> CaptureDraft:
    """A capture of `sales:query` with what the test cares about replaced."""
    given: dict[str, Any] = {
        "scope": scope,
        "server": "sales",
        "tool_name": "query",
        "tool_call_args": {"sql": "SELECT 1"},
        "created_at": NOW,
        "salt": SALT,
        "slug": "sql",
        "expires_at": int(NOW) + 86_400,
    }
    return CaptureDraft(**given | more)


def records(head: Head, *events: str) -> list[Any]:
    """Records of these events, linked after `head`."""
    linked: list[Any] = []
    for event in events:
        record = link(
            head, event_type=event, timestamp=NOW, session_id="morning", turn_id=None, data={}, mac_key=MAC_KEY
        )
        linked.append(record)
        head = record.head
    return linked


def seal(head: Head, entry: Entry) -> Sealed:
    """What a capture is sealed with: its record, and a receipt over its one leaf."""
    item = eccr.Item(salted_digest(SALT, entry.provenance_hash), entry.label, entry.expires_at)
    receipt = eccr.issue([item], output_hash=item.digest, issued_at=int(NOW), **SIGN)
    leaf = Leaf(eccr.leaf_bytes(item), entry.scratch_id)
    return Sealed(records(head, "TOOL_CALL", "RECEIPT_ISSUED"), SealedReceipt(receipt.digest, receipt.body, (leaf,)))


def noted(event: str) -> Any:
    """A seal callback that records one event and signs nothing."""
    return lambda head, _entry: Sealed(records(head, event))


def capture(store: SqliteStore, data: bytes = b"[1, 2, 3]", scope: Scope = SCOPE, **more: Any) -> Entry:
    return store.commit_capture(draft(scope, **more), store.write_payload(data), seal)


def noise(size: int, seed: int = 7) -> bytes:
    """Bytes that do not compress, the same every time."""
    return random.Random(seed).randbytes(size)


def start(module: str, *arguments: object) -> subprocess.Popen[str]:
    """Start `python -m tests.store.<module>` with a pipe on each side."""
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.store.{module}", *map(str, arguments)],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": str(REPO), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(children: Sequence[subprocess.Popen[str]], seconds: float = 120) -> list[str]:
    """Wait for children to end well; returns what each printed."""
    printed = []
    for child in children:
        out, err = child.communicate(timeout=seconds)
        assert child.returncode == 0, err
        printed.append(out)
    return printed
