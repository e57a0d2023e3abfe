"""Lines too long for memory: one file each, readable by its owner alone, gone when nothing refers to it any more."""

from __future__ import annotations

import os
import re
import weakref
from pathlib import Path

from crp_mcp.pids import is_running

_NAME = re.compile(r"(\d+)-\d+\.line")


class SpoolFile:
    """One line on disk, being written and then read. Removed when the last reference to it is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        self._finalizer = weakref.finalize(self, _remove, self._fd, path)

    def write(self, data: bytes) -> None:
        """Append.

        Raises:
            OSError: the rest does not fit; `size` counts whole writes only.
        """
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
        self.size += len(data)

    def read(self, start: int, end: int) -> bytes:
        """Bytes `start` to `end`; fewer only past the end of the line."""
        pieces = []
        while start < end:
            piece = _read_at(self._fd, end - start, start)
            if not piece:
                break
            pieces.append(piece)
            start += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def remove(self) -> None:
        """Remove it now; nothing may use it after that."""
        self._finalizer()


def _read_at(fd: int, length: int, start: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(fd, length, start)
    end = os.lseek(fd, 0, os.SEEK_CUR)  # Windows; whoever writes goes on at the end
    try:
        os.lseek(fd, start, os.SEEK_SET)
        return os.read(fd, length)
    finally:
        os.lseek(fd, end, os.SEEK_SET)


def _remove(fd: int, path: Path) -> None:
    os.close(fd)
    path.unlink(missing_ok=True)


class Spool:
    """The folder of this process's long lines. Made when the first one comes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0
        self._files: weakref.WeakSet[SpoolFile] = weakref.WeakSet()

    def new(self) -> SpoolFile:
        if not self._count:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            sweep(self.folder)
        self._count += 1
        file = SpoolFile(self.folder / f"{os.getpid()}-{self._count}.line")
        self._files.add(file)
        return file

    def close(self) -> None:
        """Remove whatever is left."""
        for file in list(self._files):
            file.remove()


def sweep(folder: Path) -> int:
    """Remove what processes that are gone have left behind. Number of files removed."""
    removed = 0
    for path in folder.glob("*.line"):
        match = _NAME.fullmatch(path.name)
        # Files of this process id exist before its first only if an earlier process had the same one.
        if match and (int(match[1]) == os.getpid() or not is_running(int(match[1]))):
            path.unlink(missing_ok=True)
            removed += 1
    return removed
