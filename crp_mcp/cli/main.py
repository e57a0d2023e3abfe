"""Reads the command line and runs one command. Modules of commands load only when they are chosen."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from crp_mcp import __version__
from crp_mcp.errors import CrpError

from .visible import complain, visible

COMMANDS = {
    "serve": "stand between a host and its MCP servers (what a host's configuration starts)",
    "demo": "show on real data what a host would have got, and what it gets",
    "context": "print what a request for context would get, from files and what is stored",
    "check": "hold what a text says against tool results, in files or stored",
    "capture": "record a tool output that did not come through the proxy",
    "hook": "record turns, as a host's hook (reads its JSON on standard input)",
    "summarise": "print the summary a host would get for a file",
    "scratch": "list, get, pin, unpin, export and count what is stored",
    "audit": "verify, export or sign the record of everything that happened",
    "receipt": "show, verify or prove a compaction receipt",
    "purge": "erase stored results and everything made from them",
    "sweep": "purge what is past its retention, and finish erasures that had to wait",
    "login": "log in to a server over HTTP, and keep its token",
    "logout": "forget the token of a server over HTTP",
    "keys": "list, rotate, export or trust signing keys",
    "selftest": "drive a server directly and through us, and print what differs",
    "doctor": "check store, keys, configuration and upstream servers",
}
USAGE = 2


class Formatter(argparse.HelpFormatter):
    """Finds the terminal's width by itself: argparse loads `shutil` for that, for every parser that is made."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return int(named)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


class Parser(argparse.ArgumentParser):
    """Repeats what it refuses in a form that drives no terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(visible(message))


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns its exit code. Errors are a sentence on stderr, never a traceback."""
    if not arguments or arguments[0] not in COMMANDS:
        return _other(arguments)
    name = arguments[0]
    module = import_module(f"crp_mcp.cli.{name}")
    description = COMMANDS[name][:1].upper() + COMMANDS[name][1:]
    parser = Parser(prog=f"crp-mcp {name}", description=description, formatter_class=Formatter)
    module.add(parser)
    failed: int | None = getattr(module, "FAILED", None)  # for a command whose codes from 1 on are answers
    try:
        options = parser.parse_args(arguments[1:])
    except SystemExit as end:
        return int(end.code or 0) and (failed or USAGE)
    try:
        return int(module.run(options))
    except CrpError as error:
        complain(str(error))
        return failed or 1
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130


def _other(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="crp-mcp",
        description="A relay between an MCP host and its servers: floods become summaries, nothing is lost.",
        epilog="commands:\n" + "\n".join(f"  {name:10} {text}" for name, text in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"crp-mcp {__version__}")
    parser.add_argument("command", nargs="?", metavar="COMMAND", choices=list(COMMANDS))
    parser.parse_args(arguments)
    parser.print_help(sys.stderr)
    return USAGE
