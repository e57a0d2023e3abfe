"""Who is measured, how each is installed in an environment of its own, and the command that puts it before a server."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

PEERS = Path(__file__).resolve().parents[1] / "peers"
_BIN = "Scripts" if sys.platform == "win32" else "bin"


@dataclass(frozen=True, slots=True)
class Rival:
    """One proxy. `command(bin folder, scratch folder, server's argv)` is its own documented way over stdio."""

    name: str
    package: str
    command: Callable[[Path, Path, Sequence[str]], list[str]]
    settings: str = "defaults"


def _ctxtual(bins: Path, scratch: Path, argv: Sequence[str]) -> list[str]:
    return [str(bins / "ctxtual"), "wrap", "--", *argv]


def _jmunch(bins: Path, scratch: Path, argv: Sequence[str]) -> list[str]:
    config = scratch / "jmunch.toml"
    upstream = f"[upstream]\ncommand = {json.dumps(argv[0])}\nargs = {json.dumps(list(argv[1:]))}\n"
    config.write_text(f"threshold_tokens = 1000\n\n{upstream}")
    return [str(bins / "jmunch-mcp"), "--config", str(config)]


def _terse(bins: Path, scratch: Path, argv: Sequence[str]) -> list[str]:
    return [str(bins / "terse"), "proxy", "--no-stats", "--", *argv]


def _fastmcp(bins: Path, scratch: Path, argv: Sequence[str]) -> list[str]:
    return [str(bins / "python"), str(PEERS / "fastmcp_proxy.py"), *argv]


def _mcp_proxy(bins: Path, scratch: Path, argv: Sequence[str]) -> list[str]:
    return [str(bins / "python"), str(PEERS / "mcp_proxy_pair.py"), str(bins / "mcp-proxy"), *argv]


def ours(scratch: Path, argv: Sequence[str]) -> list[str]:
    """Our own command line."""
    return [sys.executable, "-m", "crp_mcp", "serve", "--store", str(scratch / "store"), "--", *argv]


RIVALS = (
    Rival("ctxtual", "ctxtual[mcp]==0.5.0", _ctxtual),
    Rival("jmunch-mcp", "jmunch-mcp==0.2.3", _jmunch, "threshold_tokens = 1000"),
    Rival("terse-mcp", "terse-mcp==0.45.1", _terse),
    Rival("FastMCP", "fastmcp==4.2.3", _fastmcp, "create_proxy(config)"),
    Rival("mcp-proxy", "mcp-proxy==0.13.0", _mcp_proxy, "stdio to HTTP and back"),
)


def install(rival: Rival, cache: Path, say: Callable[[str], None]) -> Path | None:
    """The folder of its programs, installed there unless it is; None where it cannot be installed."""
    home = cache / rival.name.lower()
    bins = home / _BIN
    stamp = home / ".installed"
    if stamp.is_file() and stamp.read_text() == rival.package:
        return bins
    say(f"installing {rival.package} …")
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    pip = [str(bins / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", rival.package]
    done = subprocess.run(pip, check=False, capture_output=True, text=True)
    if done.returncode:
        say(f"{rival.package} cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
        return None
    stamp.write_text(rival.package)
    return bins


def installed_size(bins: Path) -> tuple[float, int]:
    """Megabytes of an environment, and how many distributions are in it besides pip and setuptools."""
    site = next(bins.parent.glob("lib/python*/site-packages"))
    bytes_ = sum(file.stat().st_size for file in site.rglob("*") if file.is_file() and not file.is_symlink())
    found = {info.name.partition("-")[0].lower() for info in site.glob("*.dist-info")} - {"pip", "setuptools"}
    return bytes_ / 1e6, len(found)
