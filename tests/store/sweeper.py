"""A process that sweeps once and prints how many uploads it removed: `sweeper FOLDER`."""

from __future__ import annotations

import sys

from crp_mcp.store import open_store

if __name__ == "__main__":
    with open_store(sys.argv[1]) as store:
        print(store.sweep_uploads())
