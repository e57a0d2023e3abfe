"""What the commands share: options, the engine of a store, printing as text or JSON."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crp_mcp.app.settings import Settings, load_settings

from .visible import visible as visible

if TYPE_CHECKING:
    from crp_mcp.app.engine import Engine


def add_store(parser: argparse.ArgumentParser) -> None:
    """Options for commands that work on a store."""
    parser.add_argument("--store", metavar="FOLDER", help="where the store is (default: the platform's data folder)")
    parser.add_argument("--registry", metavar="FILE", help="a tool registry of your own, over the shipped one")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def settings_of(options: argparse.Namespace, *, host: bool = False) -> Settings:
    """Settings from the options of `add_store`."""
    return load_settings(store=options.store, registry=options.registry, host=host)


def engine_of(options: argparse.Namespace) -> Engine:
    """The engine of an existing store. Raises StoreError where there is none: looking must not make one."""
    from crp_mcp.app.engine import open_engine

    return open_engine(settings_of(options), create=False)


def print_json(value: Any) -> None:
    """One line of JSON; lone surrogates and the like are escaped, so any terminal and pipe takes it."""
    sys.stdout.write(
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace").decode() + "\n"
    )


def print_text(text: str) -> None:
    """Text for a person: control characters that could drive a terminal are made visible."""
    sys.stdout.write(visible(text) + "\n")


@contextmanager
def passing_folder(prefix: str) -> Iterator[Path]:
    """A folder for as long as a command runs; it goes also where the command is ended by a signal."""
    for name in ("SIGTERM", "SIGHUP"):
        if number := getattr(signal, name, None):
            signal.signal(number, lambda told, _: sys.exit(128 + told))
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
