"""Configuration files, read: which upstream servers there are, and the tool registry with its cache and live reload.

Values of `env`, `headers`, `args` and `url` may be secrets: they never appear in an error or a repr. Names load when
they are first used: a server wrapped in place needs no config file, and start-up is measured.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .names import derived_name
    from .places import registry_paths, shipped_registry_path
    from .registry_files import LiveRegistry, load_registry
    from .servers import Config, ServerConfig, load_config, parse_config

__all__ = [
    "Config",
    "LiveRegistry",
    "ServerConfig",
    "derived_name",
    "load_config",
    "load_registry",
    "parse_config",
    "registry_paths",
    "shipped_registry_path",
]

_HOMES = {
    **dict.fromkeys(("Config", "ServerConfig", "load_config", "parse_config"), ".servers"),
    **dict.fromkeys(("registry_paths", "shipped_registry_path"), ".places"),
    **dict.fromkeys(("LiveRegistry", "load_registry"), ".registry_files"),
    "derived_name": ".names",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
