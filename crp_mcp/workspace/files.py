"""Which files of a root are read: `.gitignore` holds; binaries, secrets and links that lead outside stay out."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

MOST_BYTES = 1 << 20
"""Larger files are data, not text to read."""
MOST_FILES = 20_000

SKIPPED_FOLDERS = frozenset(
    (".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache",
     ".ruff_cache", ".pytest_cache", ".idea", ".eggs", ".terraform", ".gradle", "site-packages")
)  # fmt: skip
DOCUMENTS = frozenset((".md", ".markdown", ".rst", ".txt", ".adoc"))
SECRETS = (
    ".env", ".env.*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd",
    "credentials", "credentials.*", "secrets", "secrets.*", "*.secret", "*.secrets", "*service-account*.json",
    "*service_account*.json", ".git-credentials", ".dockercfg", "kubeconfig", "*.tfvars", "*.tfstate",
)  # fmt: skip
NOT_SECRET = (".env.example", ".env.sample", ".env.template", "*.py", "*.md", "*.rst")
PRIVATE_KEY = b"PRIVATE KEY-----"
_SECRET, _OPEN = (re.compile("|".join(map(fnmatch.translate, names))) for names in (SECRETS, NOT_SECRET))


@dataclass(frozen=True, slots=True)
class File:
    """One file: path below its root with forward slashes, and what tells whether it changed."""

    root: Path
    path: str
    size: int
    changed: int
    """Nanoseconds."""

    @property
    def full(self) -> Path:
        return self.root / self.path


def walk(root: Path, wanted: frozenset[str]) -> Iterator[File]:
    """The readable files of a root with one of the `wanted` endings, in a fixed order; at most MOST_FILES."""
    yield from islice(_walk(root, root, "", (), wanted), MOST_FILES)


def _walk(root: Path, folder: Path, below: str, rules: tuple[Ignore, ...], wanted: frozenset[str]) -> Iterator[File]:
    try:
        found = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError:
        return  # a folder we may not list is not ours to read
    own = folder / ".gitignore"
    if any(one.name == ".gitignore" for one in found):
        rules = (*rules, Ignore.read(own, below))
    folders: list[os.DirEntry[str]] = []
    for one in found:
        path = below + one.name
        if one.is_symlink() and not _stays(root, one.path):
            continue
        if one.is_dir(follow_symlinks=False):
            if one.name not in SKIPPED_FOLDERS and not _ignored(rules, path, True):
                folders.append(one)
            continue
        if os.path.splitext(one.name)[1].lower() not in wanted or is_secret(one.name) or _ignored(rules, path, False):
            continue
        try:
            about = one.stat()
        except OSError:
            continue
        if stat.S_ISREG(about.st_mode) and about.st_size <= MOST_BYTES:
            yield File(root, path, about.st_size, about.st_mtime_ns)
    for one in folders:
        yield from _walk(root, Path(one.path), f"{below}{one.name}/", rules, wanted)


def is_secret(name: str) -> bool:
    """Whether a file of this name is not to be read, whatever is in it."""
    lower = name.lower()
    return not _OPEN.match(lower) and _SECRET.match(lower) is not None


def read_text(file: File) -> str | None:
    """The file's text; None where it is binary, holds a private key, left, or leads out of its root."""
    try:
        if not _stays(file.root, file.full):
            return None
        data = file.full.read_bytes()
    except OSError:
        return None
    if b"\0" in data[:8192] or PRIVATE_KEY in data or len(data) > MOST_BYTES:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _stays(root: Path, path: str | Path) -> bool:
    try:
        return os.path.realpath(path).startswith(os.path.realpath(root) + os.sep)
    except OSError:
        return False


def _ignored(rules: tuple[Ignore, ...], path: str, folder: bool) -> bool:
    """What the last rule that fits says; deeper files come later."""
    ignored = False
    for rule in rules:
        said = rule.says(path, folder)
        if said is not None:
            ignored = said
    return ignored


class Ignore:
    """The rules of one `.gitignore`, for paths below its folder."""

    def __init__(self, lines: list[str], below: str) -> None:
        import pathspec  # only a tree that ignores something waits for it

        self._below = below
        self._spec = pathspec.GitIgnoreSpec.from_lines(lines)

    @classmethod
    def read(cls, path: Path, below: str) -> Ignore:
        """From a file; one that cannot be read ignores nothing."""
        try:
            return cls(path.read_text("utf-8", "replace").splitlines(), below)
        except (OSError, ValueError):
            return cls([], below)

    def says(self, path: str, folder: bool) -> bool | None:
        """True: ignored; False: taken back in; None: nothing said."""
        if not path.startswith(self._below):
            return None
        return self._spec.check_file(path[len(self._below) :] + ("/" if folder else "")).include
