"""Configuration files, read: which upstream servers there are, and the tool registry with its cache and live reload.

Values of `env`, `headers`, `args` and `url` may be secrets: they never appear in an error or a repr.
"""

from __future__ import annotations

from .registry_files import LiveRegistry, load_registry, registry_paths, shipped_registry_path
from .servers import Config, ServerConfig, load_config, parse_config

__all__ = [
    "Config",
    "LiveRegistry",
    "ServerConfig",
    "load_config",
    "load_registry",
    "parse_config",
    "registry_paths",
    "shipped_registry_path",
]
