"""`crp-mcp hook`: what a host calls at a prompt, after a tool and when an answer is complete. Reads one JSON object.

It prints nothing on standard output unless it is asked to check answers: what a hook prints there, a host acts upon.
"""

from __future__ import annotations

import argparse
import errno
import os
import stat
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from crp_mcp.log import LEVELS, log, set_level

from . import common

if TYPE_CHECKING:
    from crp_mcp.app.engine import Engine
    from crp_mcp.core.claims import Verdict
    from crp_mcp.relay.hooking import HookEvent, Hooks

TAIL_BYTES = 512 * 1024
"""So much of a transcript's end is read for the assistant's last words."""
MOST_SAID = 10
"""So many wrong claims are handed back at once."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tools",
        nargs="+",
        default=(),
        metavar="GLOB",
        help="also capture results of these built-in tools (Bash Read)",
    )
    parser.add_argument(
        "--check",
        choices=("report", "block"),
        help="hold a complete answer against the stored results; what is wrong is shown, or sent back to the model",
    )
    parser.add_argument("--log-level", choices=LEVELS, default="warning")
    common.add_store(parser)


def run(options: argparse.Namespace) -> int:
    from crp_mcp.app.engine import open_engine
    from crp_mcp.app.host import read_ancestors
    from crp_mcp.relay.hooking import Hooks, last_said, read_event

    set_level(options.log_level)
    event = read_event(sys.stdin.buffer.read())
    settings = common.settings_of(options, host=True)
    others = [process.key for process in read_ancestors()]
    hosts = list(dict.fromkeys([settings.host_key, *others]))
    engine = open_engine(settings._replace(conversation=None))
    try:
        hooks = Hooks(
            engine.store,
            engine.now,
            engine.turns,
            engine.using,
            engine.service,
            lambda server, tool: engine.policy(server, tool),
            settings.tenant,
            settings.project,
            hosts,
        )
        said = None
        if event.kind == "Stop" and not event.text and event.transcript:
            said = last_said(tail(Path(event.transcript)).splitlines())
        for done in hooks.record(event, options.tools, said):
            log("info", "hook", did=done)
        if options.check and event.kind == "Stop" and (event.text or said):
            check(engine, hooks, event, event.text or said or "", block=options.check == "block")
    finally:
        engine.close()
    return 0


def check(engine: Engine, hooks: Hooks, event: HookEvent, text: str, *, block: bool) -> None:
    """Print what a host is to do about claims that a stored result contradicts; nothing where there is none.

    An answer is sent back once, with the right values; after that it is only reported on.
    """
    from crp_mcp.core.claims import Outcome
    from crp_mcp.mcp.tools.checking import verdict_line

    ask = replace(hooks.ask_of(event), policy=engine.life.operator)
    checked = engine.checking.checker().check(ask, text)
    wrong = [verdict for verdict in checked.verdicts if verdict.outcome is Outcome.CONTRADICTED]
    log("info", "checked", attributed=checked.attributed, distorted=checked.distorted)
    if not wrong:
        return
    lines = [verdict_line(verdict, checked.notes) for verdict in wrong[:MOST_SAID]]
    said = "\n".join([headline(wrong), *lines])
    if block and not event.again:
        common.print_json({"decision": "block", "reason": said + "\nCorrect the answer."})
    else:
        common.print_json({"systemMessage": said})


def headline(wrong: Sequence[Verdict]) -> str:
    """How many claims are wrong, and by what: the tools' results, facts of the project, or what was said."""
    from crp_mcp.core.claims import Attribution

    by_source = {
        Attribution.CONTEXT_GROUNDED: "not what a fact of the project says",
        Attribution.CONVERSATION_GROUNDED: "not what was said in this conversation",
    }
    counts = Counter(by_source.get(verdict.attribution, "not what the tools returned") for verdict in wrong)
    return "crp-mcp: claims of this answer: " + "; ".join(f"{said}: {count}" for said, count in counts.items())


def tail(path: Path) -> bytes:
    """The end of a file, from the first whole line on; b"" where it cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe or a device may have no end
            raise OSError(errno.EINVAL, "not a regular file")
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            data = file.read(TAIL_BYTES)
    except OSError as error:
        log("warning", "transcript_unreadable", reason=error.strerror or "")
        return b""
    return data if size <= TAIL_BYTES else data.partition(b"\n")[2]
