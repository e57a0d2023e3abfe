"""`crp-mcp sweep`: purge what has reached the end of its retention, and finish erasures that had to wait."""

from __future__ import annotations

import argparse

from . import common
from .purge import report_json, say


def add(parser: argparse.ArgumentParser) -> None:
    common.add_store(parser)
    common.add_json(parser)


def run(options: argparse.Namespace) -> int:
    engine = common.engine_of(options)
    try:
        report = engine.eraser.sweep()
    finally:
        engine.close()
    if options.json:
        common.print_json(report_json(report))
    else:
        say(report)
    return 0
