"""Where registry files stand. Imports next to nothing: it is asked before the first answer to a host."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from crp_mcp.errors import ConfigError

REGISTRY_ENV = "CRP_MCP_REGISTRY"


def shipped_registry_path() -> Path:
    """The registry that comes with the package: inside it when installed, beside it in a source tree."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "tool_registry.yaml"
    return inside if inside.is_file() else package.parent / "tool_registry.yaml"


def registry_paths(env: Mapping[str, str], explicit: Path | None = None) -> tuple[Path, ...]:
    """The operator's registry files, strongest first: the named one, else $CRP_MCP_REGISTRY, else the user's usual one.

    A file that was named must exist; the usual one may be absent.
    """
    named = explicit or (Path(env[REGISTRY_ENV]).expanduser() if env.get(REGISTRY_ENV) else None)
    if named is not None:
        if not named.is_file():
            raise ConfigError(f"{named}: there is no registry file here; check --registry or ${REGISTRY_ENV}")
        return (named,)
    return (_config_folder(env) / "tool_registry.yaml",)


def _config_folder(env: Mapping[str, str]) -> Path:
    if os.name == "nt":
        return Path(env.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "crp-mcp"
    return Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "crp-mcp"
