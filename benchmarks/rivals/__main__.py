"""`python -m benchmarks.rivals [--cache DIR] [--only NAME,…] [--quick]`: the tables of docs/rivals.md."""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from crp_mcp import __version__

from . import features, measure
from .field import PEERS, RIVALS, install, installed_size, ours

NINE = [sys.executable, "-S", str(PEERS / "nine.py")]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def turned(title: str, columns: Mapping[str, Mapping[str, str]]) -> str:
    """Candidates across, figures down."""
    names = list(columns)
    figures = list(dict.fromkeys(figure for column in columns.values() for figure in column))
    return table([title, *names], ([f, *(columns[name].get(f, "—") for name in names)] for f in figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, help="keep the environments here (default: throw them away)")
    parser.add_argument("--only", default="", help="these rivals alone")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rivals-") as folder:
        report(options, options.cache or Path(folder) / "environments", Path(folder))


def report(options: argparse.Namespace, cache: Path, scratch: Path) -> None:
    wanted = [one for one in RIVALS if not options.only or one.name in options.only.split(",")]
    bins = {
        one.name: found for one in wanted if (found := install(one, cache, lambda text: print(text, file=sys.stderr)))
    }
    there = [one for one in wanted if one.name in bins]
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {platform.system()}, crp-mcp {__version__},"
    )
    print(", ".join(f"{one.package} ({one.settings})" for one in there) + ".\n")

    def commands(argv: Sequence[str], label: str) -> dict[str, list[str]]:
        found = {"direct": list(argv)}
        for name in ["crp-mcp", *(name for name in bins if name in good)]:
            place = scratch / f"{label} {name}"
            place.mkdir()
            rival = next((one for one in there if one.name == name), None)
            found[name] = rival.command(bins[name], place, argv) if rival else ours(place, argv)
        return found

    good = list(bins)
    good = list(measure.that_start(commands(NINE, "first"), lambda text: print(text, "\n")))
    rounds = 3 if options.quick else 9
    print(turned("tokens the model sees", measure.tokens_seen(commands(NINE, "tokens"))), "\n", flush=True)
    figures = measure.latencies(commands(NINE, "latency"), rounds)
    begun, idle = measure.starts(commands(NINE, "start"), rounds), measure.idle_memory(commands(NINE, "memory"))
    print(turned("", {name: _figures(name, figures, begun, idle, bins) for name in figures}), "\n", flush=True)
    rows = {n: features.matrix_row(c) for n, c in commands([*features.FIXTURE, *features.OPTIONS], "features").items()}
    print(turned("protocol features", rows))


def _figures(
    name: str,
    figures: Mapping[str, Mapping[str, str]],
    begun: Mapping[str, str],
    idle: Mapping[str, str],
    bins: Mapping[str, Path],
) -> dict[str, str]:
    times = figures[name]
    found = {f"{size} call, ms": times.get(size, "—") for size in ("tiny", "1 MB", "16 MB")}
    found |= {"start to tools/list, ms": begun[name], "memory with server, MB": idle[name]}
    found["memory after 16 MB, MB"] = times.get("memory", "—")
    if name in bins:
        size, count = installed_size(bins[name])
        found["environment, MB / packages"] = f"{size:.0f} / {count}"
    return found


main()
