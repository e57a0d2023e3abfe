"""Registry files: read from YAML with line numbers, cached as JSON, and read again when they change.

YAML is slow to import and parse, and a policy is wanted soon after start-up; so what was read once and found right is
kept as JSON in `cache`, under the hash of the file's bytes. A cache missing, torn or not writable costs time only.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from crp_mcp.core.registry import Registry, merge, parse_registry
from crp_mcp.errors import ConfigError

from .jsonc import decode
from .places import shipped_registry_path

_FILE_LIMIT = 4 * 1024 * 1024
_CACHE_KEPT = 8


def load_registry(paths: Sequence[Path] = (), *, cache: Path | None = None) -> Registry:
    """The operator's files, strongest first, over the shipped registry. Absent files are passed over.

    `cache`: a folder of ours for the parsed form. Raises ConfigError, naming file, line and field.
    """
    merged = _load_file(shipped_registry_path(), cache)
    for path in reversed([path for path in paths if path.exists()]):
        merged = merge(_load_file(path, cache), merged)
    return merged


class LiveRegistry:
    """A registry that follows its files. A broken edit leaves the last good one in force; `problem` says why.

    A file that is broken from the start raises ConfigError. With `strict` off the shipped registry is in force until
    it is mended: for who only asks how to show tools, never for who stores results.
    """

    def __init__(self, paths: Sequence[Path] = (), *, cache: Path | None = None, strict: bool = True) -> None:
        self._paths, self._cache = tuple(paths), cache
        self._stamps = self._look()
        self.problem: str | None = None
        try:
            self.registry = load_registry(self._paths, cache=cache)
        except ConfigError as problem:
            if strict:
                raise
            self.registry, self.problem = load_registry(cache=cache), str(problem)

    def changed(self) -> bool:
        """Whether a file is not the one last read: one stat for each, cheap enough for every call."""
        return self._look() != self._stamps

    def reload(self) -> Registry:
        """Read the files again. May import YAML: call it in a thread."""
        self._stamps = self._look()
        try:
            self.registry, self.problem = load_registry(self._paths, cache=self._cache), None
        except ConfigError as problem:
            self.problem = str(problem)
        return self.registry

    def current(self) -> Registry:
        return self.reload() if self.changed() else self.registry

    def _look(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_stamp(path) for path in self._paths)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _load_file(path: Path, cache: Path | None) -> Registry:
    try:
        raw = path.read_bytes()
    except OSError as problem:
        raise ConfigError(f"{path}: the registry cannot be read ({problem.strerror})") from None
    if len(raw) > _FILE_LIMIT:
        raise ConfigError(f"{path}: larger than {_FILE_LIMIT // 2**20} MiB; this is not a tool registry")
    kept = None if cache is None else cache / f"registry-{hashlib.sha256(raw).hexdigest()[:32]}.json"
    known = None if kept is None else _from_cache(kept, str(path))
    if known is not None:
        return known
    from .yaml_lines import read_yaml  # slow to import, and rarely needed

    data, lines = read_yaml(decode(raw, str(path)), str(path))
    registry = parse_registry(data, where=str(path), lines=lines)
    if kept is not None:
        _to_cache(kept, data)
    return registry


def _from_cache(kept: Path, where: str) -> Registry | None:
    """The registry as kept, or None where it cannot be used: then the file itself is read, and says what is wrong."""
    try:
        return parse_registry(json.loads(kept.read_bytes()), where=where)
    except (OSError, ValueError, ConfigError):
        return None


def _to_cache(kept: Path, data: object) -> None:
    """Keep parsed content, whole or not at all; a folder that cannot be written only means reading YAML again."""
    try:
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = kept.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump(data, out, separators=(",", ":"))
        os.replace(temporary, kept)
        by_age = sorted(kept.parent.glob("registry-*.json"), key=lambda one: one.stat().st_mtime_ns, reverse=True)
        for stale in by_age[_CACHE_KEPT:]:
            stale.unlink(missing_ok=True)
    except OSError:
        return
