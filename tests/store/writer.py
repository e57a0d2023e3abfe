"""A process that captures, for the tests of several: `writer FOLDER NAME COUNT [SIZE]`; prints each id once stored."""

from __future__ import annotations

import sys
from pathlib import Path

from crp_mcp.core.model import Scope
from crp_mcp.store import open_store
from tests.store.support import SCOPE, capture, noise


def payload(name: str, number: int, size: int) -> bytes:
    """What this writer stores: recognisable, of varying size; every seventh is large enough to be spilled."""
    start = f"{name}:{number}:".encode()
    return start + (noise(size, seed=number) if number % 7 == 6 else b"row;" * (number % 50))


def main(folder: str, name: str, count: int, size: int) -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    store = open_store(folder)
    for number in range(count):
        entry = capture(store, payload(name, number, size), scope=Scope(SCOPE.tenant, SCOPE.project, name))
        print(entry.scratch_id, entry.provenance_hash, number, flush=True)
        if number % 20 == 19 and store.checkpoint_due():
            store.checkpoint()
    store.close()


if __name__ == "__main__":
    main(str(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 0)
