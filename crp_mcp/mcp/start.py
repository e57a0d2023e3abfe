"""The first thing a process of ours does: start the servers, so that they get ready while we import the rest.

Imports next to nothing itself, for that reason.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from crp_mcp.errors import UpstreamError

from .reaper import Reaper
from .spawn import start_process
from .spec import UpstreamSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .spec import ServerSpec


class Started:
    """Servers that were started ahead of everything else; an error where one could not be."""

    __slots__ = ("processes", "reaper")

    def __init__(self, reaper: Reaper) -> None:
        self.reaper = reaper
        self.processes: dict[str, subprocess.Popen[bytes] | UpstreamError] = {}


def start_servers(specs: Sequence[ServerSpec]) -> Started:
    """Start all servers that are programs at once. Call it before importing what takes time: they start meanwhile."""
    started = Started(Reaper())
    for spec in specs:
        if not isinstance(spec, UpstreamSpec):
            continue
        try:
            process = start_process(spec.argv, spec.env, spec.cwd)
        except UpstreamError as error:
            started.processes[spec.name] = error
        else:
            started.reaper.watch(process.pid)
            started.processes[spec.name] = process
    return started
