"""Source in other languages as definitions, with tree-sitter where it is installed (the `code` extra).

Strategy: grammars name their nodes alike, so one reading serves all: what declares a type or a function and has a name
is a definition; what calls, is a call. A language whose grammar is not installed is not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .model import Definition, Parsed
from .texts import first_sentence

DOMAIN = "uko-code:"
CALLS_MOST = 200

GRAMMARS = {
    "tree_sitter_javascript": ("language", (".js", ".jsx", ".mjs", ".cjs")),
    "tree_sitter_typescript": ("language_typescript", (".ts", ".mts", ".cts")),
    "tree_sitter_go": ("language", (".go",)),
    "tree_sitter_rust": ("language", (".rs",)),
    "tree_sitter_java": ("language", (".java",)),
    "tree_sitter_c": ("language", (".c", ".h")),
    "tree_sitter_cpp": ("language", (".cc", ".cpp", ".cxx", ".hpp", ".hh")),
    "tree_sitter_c_sharp": ("language", (".cs",)),
    "tree_sitter_ruby": ("language", (".rb",)),
}
TYPES = frozenset(
    ("class_declaration", "class_definition", "class_specifier", "class", "abstract_class_declaration", "struct_item",
     "struct_specifier", "struct_declaration", "enum_item", "enum_specifier", "enum_declaration", "trait_item",
     "interface_declaration", "type_spec", "type_alias_declaration", "impl_item", "mod_item", "module",
     "internal_module", "namespace_definition", "namespace_declaration", "record_declaration", "union_specifier")
)  # fmt: skip
FUNCTIONS = frozenset(
    ("function_declaration", "function_definition", "function_item", "method_declaration", "method_definition",
     "method", "singleton_method", "constructor_declaration", "generator_function_declaration", "function_signature",
     "function_signature_item", "abstract_method_signature", "method_signature", "local_function_statement")
)  # fmt: skip
CALLS = frozenset(
    ("call_expression", "method_invocation", "call", "invocation_expression", "new_expression",
     "object_creation_expression")
)  # fmt: skip
BASES = frozenset(
    ("class_heritage", "superclass", "super_interfaces", "base_class_clause", "base_list", "extends_clause",
     "implements_clause", "extends_type_clause")
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z_]\w*")
_MARKS = re.compile(r"^\s*(?:/\*+|\*+/|\*|//[/!]?|#+)?\s?|\*/\s*$", re.M)


def code_parsers() -> dict[str, Callable[[str], Parsed]]:
    """Parsers by file ending, for the grammars that are installed. Loads none of them yet."""
    if find_spec("tree_sitter") is None:
        return {}
    there = {name: found for name, found in GRAMMARS.items() if find_spec(name) is not None}
    return {
        ending: partial(parse_code, name, function) for name, (function, endings) in there.items() for ending in endings
    }


_loaded: dict[str, Any] = {}


def _parser(module: str, function: str) -> Any:
    if module not in _loaded:
        sitter = import_module("tree_sitter")
        _loaded[module] = sitter.Parser(sitter.Language(getattr(import_module(module), function)()))
    return _loaded[module]


def parse_code(module: str, function: str, text: str) -> Parsed:
    """The definitions of one file, by the grammar in `module`. Text with mistakes gives what can be read of it."""
    root = _parser(module, function).parse(text.encode("utf-8", "replace")).root_node
    made = [Definition("module", "", "", 1, text.count("\n") + 1, head=1, body=1)]
    _read(root, 0, made)
    for one in made:
        one.calls = tuple(dict.fromkeys(one.calls))[:CALLS_MOST]
    return Parsed(DOMAIN, made)


def _read(top: Any, parent: int, made: list[Definition]) -> None:
    """Definitions and calls below a node, in the order of the source; deep trees need no deep stack."""
    stack: list[tuple[Any, int]] = [(child, parent) for child in reversed(top.named_children)]
    while stack:
        node, around = stack.pop()
        kind = "class" if node.type in TYPES else "function" if _is_function(node) else ""
        name = _name(node) if kind else ""
        if name:
            made.append(_definition(node, kind, name, around, made[around].path))
            around = len(made) - 1
        elif node.type in CALLS and (called := _called(node)):
            made[around].calls = (*made[around].calls, called)
        stack += [(child, around) for child in reversed(node.named_children)]


def _is_function(node: Any) -> bool:
    if node.type in FUNCTIONS:
        return True
    value = node.child_by_field_name("value") if node.type == "variable_declarator" else None
    return value is not None and value.type in ("arrow_function", "function_expression", "function")


def _definition(node: Any, kind: str, name: str, parent: int, above: str) -> Definition:
    start, end = node.start_point[0] + 1, node.end_point[0] + 1
    body = node.child_by_field_name("body")
    return Definition(
        kind,
        name,
        f"{above}.{name}" if above else name,
        start,
        end,
        parent,
        head=start,
        body=body.start_point[0] + 1 if body is not None else start,
        bases=tuple(_bases(node)),
        doc=_doc(node),
    )


def _name(node: Any) -> str:
    """A definition's bare name; "" where it has none (an anonymous class)."""
    found = node.child_by_field_name("name")
    if found is None and node.type == "impl_item":
        found = node.child_by_field_name("type")
    inner = node.child_by_field_name("declarator") if found is None else None
    while inner is not None:
        found, inner = inner, inner.child_by_field_name("declarator")
    names = _NAME.findall(_text(found)) if found is not None else []
    return names[-1] if names and node.type != "impl_item" else names[0] if names else ""


def _called(node: Any) -> str:
    """`a.b.c` of what is called, or `.c` where it is called on something without a name."""
    for field in ("function", "constructor", "type", "name", "method"):
        found = node.child_by_field_name(field)
        if found is not None:
            holder = node.child_by_field_name("object") or node.child_by_field_name("receiver")
            text = f"{_text(holder)}.{_text(found)}" if holder is not None else _text(found)
            parts = _NAME.findall(text.replace("this", "self", 1) if text.startswith("this.") else text)
            plain = re.fullmatch(r"[\w.:>\-]+", text) is not None
            return ".".join(parts) if plain else f".{parts[-1]}" if parts else ""
    return ""


def _bases(node: Any) -> Iterator[str]:
    for child in node.named_children:
        if child.type in BASES:
            yield from dict.fromkeys(_NAME.findall(_text(child).replace("extends", "").replace("implements", "")))


def _doc(node: Any) -> str:
    """The first sentence of the comments right above a definition."""
    holder = node
    while holder.parent is not None and holder.parent.type in (
        "export_statement",
        "type_declaration",
        "lexical_declaration",
    ):
        holder = holder.parent
    lines: list[str] = []
    before, row = holder.prev_named_sibling, holder.start_point[0]
    while before is not None and "comment" in before.type and before.end_point[0] >= row - 1:
        lines.insert(0, _text(before))
        before, row = before.prev_named_sibling, before.start_point[0]
    return first_sentence(_MARKS.sub("", "\n".join(lines)))


def _text(node: Any) -> str:
    return bytes(node.text or b"").decode("utf-8", "replace")
