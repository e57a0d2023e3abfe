"""Where a store lives and who may read it. Knows paths and permissions, not what is inside the file."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from crp_mcp.errors import StoreError

FILE_NAME = "scratch.db"
_SUFFIXES = (".db", ".sqlite", ".sqlite3")


def default_folder(env: Mapping[str, str], platform: str) -> PurePath:
    """Return the folder of the store for an environment and a `sys.platform`; pure, so every platform is testable.

    `CRP_MCP_STORE` wins, `~/` in front of it is the home. Else `$XDG_DATA_HOME/crp-mcp` or `~/.local/share/crp-mcp`;
    on macOS `~/Library/Application Support/crp-mcp`; on Windows `%LOCALAPPDATA%\\crp-mcp`. Relative XDG paths are
    ignored, as the XDG specification asks.

    Raises:
        StoreError: the environment names no home, so there is no place to choose.
    """
    windows = platform == "win32"
    flavour: type[PurePath] = PureWindowsPath if windows else PurePosixPath
    home = env.get("USERPROFILE" if windows else "HOME", "")
    if chosen := env.get("CRP_MCP_STORE"):
        return flavour(home, chosen[2:]) if home and chosen.startswith(("~/", "~\\")) else flavour(chosen)
    if windows:
        return _windows_folder(env)
    if platform == "darwin" and home:
        return flavour(home, "Library", "Application Support", "crp-mcp")
    data = env.get("XDG_DATA_HOME", "")
    if platform != "darwin" and flavour(data).is_absolute():
        return flavour(data, "crp-mcp")
    if not home:
        raise StoreError("no place for the store: neither HOME nor CRP_MCP_STORE is set; give one with --store FOLDER")
    return flavour(home, ".local", "share", "crp-mcp")


def _windows_folder(env: Mapping[str, str]) -> PurePath:
    if local := env.get("LOCALAPPDATA"):
        return PureWindowsPath(local, "crp-mcp")
    if profile := env.get("USERPROFILE"):
        return PureWindowsPath(profile, "AppData", "Local", "crp-mcp")
    raise StoreError("no place for the store: LOCALAPPDATA is not set; give one with --store FOLDER")


def store_file(where: Path) -> Path:
    """Return the database file for a folder or a file (`.db`, `.sqlite`, `.sqlite3`, or a file that exists).

    Raises:
        StoreError: the place cannot even be looked at.
    """
    try:
        folder = where.is_dir() or (where.suffix.lower() not in _SUFFIXES and not where.is_file())
    except OSError as error:
        raise StoreError(
            f"store {where}: cannot be looked at ({error.strerror}): check its permissions, or choose another place "
            "with --store"
        ) from error
    return where / FILE_NAME if folder else where


def make_private(path: Path) -> None:
    """Make sure the folder and the file exist, the folder 0700 if it is ours to make, the file 0600 always.

    SQLite gives its -wal and -shm files the mode of the database file, whatever the umask.

    Raises:
        StoreError: the folder or file cannot be made here.
    """
    try:
        if not path.parent.is_dir():
            _make_folder(path.parent)
        _make_file(path)
        if stat.S_IMODE(path.stat().st_mode) != 0o600:
            path.chmod(0o600)
    except OSError as error:
        raise StoreError(
            f"store {path}: cannot be made or written ({error.strerror}): make its folder writable, "
            "or choose another with --store"
        ) from error


def _make_file(path: Path) -> None:
    """Make the file if it is not there. One that is there is never opened here: closing it would drop the POSIX locks
    that SQLite holds on it anywhere else in this process.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600))
    except FileExistsError:
        if not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path)) from None


def _make_folder(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise
        return  # another process made it a moment ago, with the same mode
    folder.chmod(0o700)
