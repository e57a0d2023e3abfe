"""YAML to plain data with the line of every path; keys that stand twice are refused. Alone in importing yaml."""

from __future__ import annotations

from typing import Any

import yaml

from crp_mcp.errors import ConfigError

Path = tuple[str | int, ...]

_NODES = 200_000
_DEPTH = 32


def read_yaml(text: str, where: str) -> tuple[Any, dict[Path, int]]:
    """Data and the line (from 1) of each path in it. Raises ConfigError. Aliases are followed within a limit."""
    try:
        return _Reader(text, where).read()
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        at = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        raise ConfigError(f"{where}{at}: not valid YAML: {problem.problem or problem.context}") from None
    except yaml.YAMLError as problem:
        raise ConfigError(f"{where}: not valid YAML: {str(problem).splitlines()[0]}") from None


class _Reader:
    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        self.lines: dict[Path, int] = {}
        self.visited = 0

    def read(self) -> tuple[Any, dict[Path, int]]:
        try:
            node = self.loader.get_single_node()
            return (None if node is None else self.value(node, ())), self.lines
        finally:
            self.loader.dispose()

    def value(self, node: yaml.Node, path: Path) -> Any:
        self.visited += 1
        if self.visited > _NODES or len(path) > _DEPTH:
            raise self.error(node, "too many or too deep values; this is not a tool registry")
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(one, (*path, index)) for index, one in enumerate(node.value)]
        return self.loader.construct_object(node, deep=True)

    def mapping(self, node: yaml.MappingNode, path: Path) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                raise self.error(key_node, "a key must be plain text")
            if key in found:
                raise self.error(key_node, f"the key `{key}` stands here twice; remove one")
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            found[key] = self.value(value_node, (*path, key))
        return found

    def error(self, node: yaml.Node, message: str) -> ConfigError:
        return ConfigError(f"{self.where}:{node.start_mark.line + 1}: {message}")
