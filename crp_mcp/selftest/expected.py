"""What we add or mend on purpose, taken back out of a message and named, so that what is left can be compared. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .tokens import Arr, Node, Obj, get, put, text_of, write

METHOD_NOT_FOUND = "-32601"
CAPABILITIES = ("tools", "resources", "completions")
LISTS = {
    "tools/list": ("tools", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}


OFFERED = ("resources/read", "completion/complete")
"""What we tell hosts there is, for our own resources, also where the server knows no such request."""
NOT_FOUND = ("-32002", "-32602")


class Ours(NamedTuple):
    """What our own side offers, as the report recognises it."""

    tools: frozenset[str] = frozenset()
    templates: frozenset[str] = frozenset()
    instructions: str = ""
    replaces: bool = True
    """Whether results may become summaries."""


class Cleared(NamedTuple):
    """A message without what is ours, and the names of what was taken out."""

    message: Node
    notes: tuple[str, ...] = ()


def clear(method: str, direct: Node, through: Node, ours: Ours) -> Cleared:
    """The answer through us as it would be without what we add on purpose."""
    if method in ("initialize", "server/discover"):
        return _opening(direct, through, ours)
    if method in LISTS:
        return _list(method, direct, through, ours)
    if method == "tools/call":
        return _summary(direct, through)
    if method in OFFERED and ours.templates and get(direct, "error", "code") == METHOD_NOT_FOUND:
        return _offered(method, direct, through)
    return Cleared(through)


def _opening(direct: Node, through: Node, ours: Ours) -> Cleared:
    result = get(through, "result")
    if get(direct, "error") is not None and isinstance(result, Obj):
        return Cleared(direct, ("mended: an opening that the server refuses is answered by way of a bridge",))
    if get(direct, "result") is None or not isinstance(result, Obj):
        return Cleared(through)
    notes: list[str] = []
    capabilities = get(result, "capabilities")
    for name in CAPABILITIES if isinstance(capabilities, Obj) else ():
        if get(capabilities, name) == Obj(()) and get(direct, "result", "capabilities", name) is None:
            assert capabilities is not None
            capabilities = put(capabilities, name, None)
            notes.append(f"capability {name}")
    if notes:
        result = put(result, "capabilities", capabilities)
    said = text_of(get(result, "instructions"))
    if ours.instructions and said is not None and said.endswith(ours.instructions):
        before = text_of(get(direct, "result", "instructions"))
        if said == (f"{before}\n\n{ours.instructions}" if before else ours.instructions):
            result = put(result, "instructions", get(direct, "result", "instructions"))
            notes.append("a sentence of instructions")
    return Cleared(put(through, "result", result), tuple(notes))


def _list(method: str, direct: Node, through: Node, ours: Ours) -> Cleared:
    member, key = LISTS[method]
    shown = get(through, "result", member)
    if not isinstance(shown, Arr):
        return Cleared(through)
    mine = ours.tools if member == "tools" else ours.templates
    kept = [item for item in shown.items if text_of(get(item, key)) not in mine]
    added = len(shown.items) - len(kept)
    notes = [f"{added} of our own"] if added else []
    if not kept and get(direct, "error", "code") == METHOD_NOT_FOUND:
        return Cleared(direct, (*notes, "an answer where the server has no such list"))
    listed = get(direct, "result", member)
    if member == "tools" and isinstance(listed, Arr):
        kept, changed = _definitions(listed.items, kept)
        notes += changed
    result = get(through, "result")
    assert result is not None
    return Cleared(put(through, "result", put(result, member, Arr(tuple(kept)))), tuple(notes))


def _definitions(listed: Iterable[Node], shown: Iterable[Node]) -> tuple[list[Node], list[str]]:
    """Tool definitions with `outputSchema` where it was left out, since a summary may come in place of a result."""
    theirs = {text_of(get(item, "name")): item for item in listed}
    restored, count = [], 0
    for item in shown:
        there = theirs.get(text_of(get(item, "name")))
        if there is not None and get(there, "outputSchema") is not None and get(item, "outputSchema") is None:
            if put(there, "outputSchema", None) == item:
                item = there
            count += 1
        restored.append(item)
    return restored, [f"outputSchema left out of {count}: results may become summaries"] if count else []


def _summary(direct: Node, through: Node) -> Cleared:
    """A large result that became its summary. The server's own is what the receipt is about."""
    meta = get(through, "result", "_meta")
    if get(direct, "result") is None or get(meta, "dev.crp/scratch_id") is None:
        return Cleared(through)
    sizes = f"{len(write(direct).encode()):,} bytes became {len(write(through).encode()):,}"
    return Cleared(direct, (f"large result: {sizes}",))


def _offered(method: str, direct: Node, through: Node) -> Cleared:
    """That there is no such resource, or nothing to complete, where the server knows of neither."""
    none = get(through, "error", "code") in NOT_FOUND or get(through, "result", "completion", "values") == Arr(())
    return Cleared(direct, ("not found, where the server has no such method",)) if none else Cleared(through)


def mended_id(sent: str | None, direct: Node, through: Node) -> Cleared:
    """An answer under the very id that was asked with, where the server itself gives back another."""
    theirs, mine = get(direct, "id"), get(through, "id")
    if sent is None or mine != sent or theirs in (None, sent) or not isinstance(through, Obj):
        return Cleared(through)
    order = [key for key, _ in direct.members] if isinstance(direct, Obj) else []
    place = {key: number for number, key in enumerate(order)}
    renamed = put(through, "id", theirs)
    assert isinstance(renamed, Obj)
    same = Obj(tuple(sorted(renamed.members, key=lambda member: place.get(member[0], len(place)))))
    return Cleared(same, (f"mended: the server answers id {sent} as {write(theirs or 'null')}",))


def is_refusal(message: Node) -> bool:
    """An error that says the request itself cannot be read, or, once it is repaired, that there is no such method."""
    return get(message, "error", "code") in ("-32700", "-32600", "-32602", METHOD_NOT_FOUND)
