"""`${VAR}`, `${VAR:-default}` and the hosts' other forms in configured text. Errors name variables, never values."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from crp_mcp.errors import ConfigError

_REFERENCE = re.compile(r"\$\{(?P<body>[^${}]*)\}")
_NESTED = re.compile(r"\$\{[^}]*\$\{")
_NAME = re.compile(r"(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True, repr=False)
class Expander:
    """What references stand for: the environment, and the folders hosts have names for."""

    env: Mapping[str, str]
    folders: Mapping[str, str]
    """`workspaceFolder`, `userHome` and the like."""
    base: Path | None = None
    """Where relative paths of `${file:PATH}` start."""

    def text(self, value: str, place: str) -> str:
        """The text with every reference replaced, once: what a variable holds is not looked at again.

        `$` alone and `$VAR` stay as they are. Raises ConfigError, saying `place`, for a variable that is not set.
        """
        if _NESTED.search(value):
            raise ConfigError(f"{place}: a ${{…}} inside another is not understood; use one variable for the whole")
        return _REFERENCE.sub(lambda found: self._one(found["body"], place), value)

    def _one(self, body: str, place: str) -> str:
        if body in self.folders:
            return self.folders[body]
        found = _NAME.fullmatch(body)
        if found is None:
            kind, _, rest = body.partition(":")
            if kind == "file" and rest:
                return self._file(rest, place)
            if kind == "input":
                raise ConfigError(
                    f"{place}: ${{{body}}} asks the editor for a value, which it gives to no one else; "
                    "keep the value in an environment variable and write ${env:NAME}"
                )
            raise ConfigError(
                f"{place}: ${{{body}}} is not known; write ${{NAME}}, ${{NAME:-default}} or ${{env:NAME}}"
            )
        value = self.env.get(found["name"], "") if found["default"] is not None else self.env.get(found["name"])
        if value is None:
            raise ConfigError(
                f"{place}: the environment variable {found['name']} is not set; set it where crp-mcp is started, "
                f"or write ${{{found['name']}:-default}}"
            )
        return value or found["default"] or ""

    def _file(self, name: str, place: str) -> str:
        """What a file holds, without the line end after it."""
        path = (self.base or Path()) / os.path.expanduser(name)
        try:
            return path.read_text("utf-8").rstrip("\r\n")
        except OSError as problem:
            raise ConfigError(f"{place}: ${{file:…}} names {path}, which cannot be read ({problem.strerror})") from None
        except UnicodeDecodeError:
            raise ConfigError(f"{place}: ${{file:…}} names {path}, which is not text in UTF-8") from None


def folders_of(file: Path) -> dict[str, str]:
    """The hosts' names for folders, seen from a config file. A project's file may stand in `.vscode` or `.cursor`."""
    folder = file.absolute().parent
    project = folder.parent if folder.name.startswith(".") else folder
    return {"workspaceFolder": str(project), "userHome": str(Path.home()), "pathSeparator": os.sep, "/": os.sep}


def read_env_file(text: str) -> dict[str, str]:
    """`NAME=value` lines; `#` comments, `export` and quotes around the value are understood, other lines skipped."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", name):
            continue
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        found[name] = value
    return found
