"""Python source as definitions, with `ast`: modules, classes, functions; imports, bases, calls. Runs nothing."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator

from .model import Definition, Parsed
from .texts import first_sentence

DOMAIN = "uko-py:"
CALLS_MOST = 200
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LEAVES = frozenset(
    (ast.Constant, ast.Name, ast.Load, ast.Store, ast.Del, ast.Pass, ast.Break, ast.Continue, ast.alias, ast.Global,
     ast.Nonlocal, ast.arguments)
)  # fmt: skip


def parse_python(text: str) -> Parsed:
    """The definitions of a module. Source that does not parse is a module without parts."""
    lines = text.count("\n") + 1
    module = Definition("module", "", "", 1, lines, head=1, body=1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Parsed(DOMAIN, [module])
    made = [module]
    imports: dict[str, str] = {}
    modules: dict[str, None] = {}
    module.doc = first_sentence(_docstring(tree))
    _read_block(tree.body, 0, made, imports, modules)
    return Parsed(DOMAIN, made, imports, tuple(modules))


def _read_block(
    body: Iterable[ast.stmt], parent: int, made: list[Definition], imports: dict[str, str], modules: dict[str, None]
) -> None:
    """Definitions of a module's or class's body, also inside its `if` and `try`; the rest is the parent's own."""
    calls: dict[str, None] = {}
    for statement in body:
        kind = statement.__class__
        if kind is ast.ClassDef or kind in _FUNCTIONS:
            _read_definition(statement, parent, made, imports, modules)  # type: ignore[arg-type]
        elif kind is ast.Import or kind is ast.ImportFrom:
            _read_import(statement, imports, modules)
        elif kind in (ast.If, ast.Try, ast.With, ast.TryStar):
            for inner in _blocks(statement):
                _read_block(inner, parent, made, imports, modules)
        elif len(calls) < CALLS_MOST:
            _find_calls(statement, calls, imports, modules)
    if calls:
        made[parent].calls = tuple(dict.fromkeys((*made[parent].calls, *calls)))


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        if inner := getattr(statement, name, None):
            yield inner
    for handler in getattr(statement, "handlers", ()):
        yield handler.body


def _read_definition(
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
    parent: int,
    made: list[Definition],
    imports: dict[str, str],
    modules: dict[str, None],
) -> None:
    above = made[parent].path
    start = min((one.lineno for one in node.decorator_list), default=node.lineno)
    is_class = isinstance(node, ast.ClassDef)
    definition = Definition(
        "class" if is_class else "function",
        node.name,
        f"{above}.{node.name}" if above else node.name,
        start,
        node.end_lineno or node.lineno,
        parent,
        head=node.lineno,
        body=node.body[0].lineno,
        doc=first_sentence(_docstring(node)),
    )
    made.append(definition)
    calls: dict[str, None] = {}
    for decorator in node.decorator_list:
        name = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if name:
            calls[name] = None
    if isinstance(node, ast.ClassDef):
        definition.bases = tuple(name for base in node.bases if (name := dotted(base)))
        definition.calls = tuple(calls)
        _read_block(node.body, len(made) - 1, made, imports, modules)
        return
    for statement in node.body:
        _find_calls(statement, calls, imports, modules)
    definition.calls = tuple(calls)[:CALLS_MOST]


def _find_calls(top: ast.AST, calls: dict[str, None], imports: dict[str, str], modules: dict[str, None]) -> None:
    """Names that are called anywhere below, and imports that stand there."""
    stack: list[ast.AST] = [top]
    while stack:
        node = stack.pop()
        kind = node.__class__
        if kind is ast.Call:
            if name := dotted(node.func):  # type: ignore[attr-defined]
                calls.setdefault(name)
        elif kind is ast.Import or kind is ast.ImportFrom:
            _read_import(node, imports, modules)
            continue
        for name in kind._fields:
            value = getattr(node, name, None)
            if value.__class__ is list:
                stack.extend(one for one in value if isinstance(one, ast.AST) and one.__class__ not in _LEAVES)
            elif isinstance(value, ast.AST) and value.__class__ not in _LEAVES:
                stack.append(value)


def _read_import(node: ast.AST, imports: dict[str, str], modules: dict[str, None]) -> None:
    if isinstance(node, ast.Import):
        for one in node.names:
            modules.setdefault(one.name)
            imports.setdefault(
                one.asname or one.name.partition(".")[0], one.name if one.asname else one.name.partition(".")[0]
            )
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        modules.setdefault(base)
        for one in node.names:
            dot = "" if base.endswith(".") or not base else "."
            imports.setdefault(one.asname or one.name, f"{base}{dot}{one.name}")


def dotted(node: ast.AST) -> str:
    """`a.b.c` for names and attributes of names; `.c` for an attribute of something else; "" for neither."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    elif isinstance(node, ast.Subscript) and not parts:
        return dotted(node.value)
    elif parts:
        parts.append("")
    return ".".join(reversed(parts))


def _docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if node.body and isinstance(node.body[0], ast.Expr):
        value = node.body[0].value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value
    return ""
