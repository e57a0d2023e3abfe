"""What one probe got, from the server twice and through us once, told apart: same, added by us, volatile, different.

Pure. What two direct runs do not agree on (times, random values) is volatile and is held to its shape alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .expected import METHOD_NOT_FOUND, Ours, clear, is_refusal, mended_id
from .tokens import ABSENT, Difference, Node, NotJson, differences, get, parse, put, text_of

GONE = "! (gone) #1"
"""The key of what stands for a server that has gone silent, or has ended."""


class Recording(NamedTuple):
    """What one side said in one probe."""

    lines: tuple[str, ...]
    """Messages, in their order."""
    facts: Mapping[str, str] = {}
    """What is no message: how it ended, what stood on stderr."""


class Probe(NamedTuple):
    """What was sent, for judging what came back."""

    feature: str
    sent: Mapping[str, str]
    """Method of each request, by the raw token of its id, in the order sent."""
    unreadable: bool = False
    """What was sent is no message that could be handed on: we answer it ourselves."""

    @property
    def about_ids(self) -> bool:
        return self.feature == "ids"


class Finding(NamedTuple):
    """The verdict on one feature."""

    era: str
    feature: str
    messages: int
    exact: int
    """Of these, how many are the same byte for byte."""
    notes: tuple[str, ...]
    """What we add or mend on purpose."""
    volatile: int
    differences: tuple[Difference, ...]

    @property
    def same(self) -> bool:
        return not self.differences


class Message(NamedTuple):
    """One line: its key says which message of the other side it belongs with."""

    key: str
    line: str
    node: Node


def judge(era: str, probe: Probe, direct: Recording, again: Recording, through: Recording, ours: Ours) -> Finding:
    """Hold what came through us against what came directly."""
    one, two, three = (_read(recording) for recording in (direct, again, through))
    found, notes, volatile, exact = list(_unpaired(one, two, three)), list[str](), 0, 0
    pairs = list(_paired(one, two, three))
    for mine, twin, theirs in pairs:
        exact += mine.line == theirs.line
        seen, added, unsteady = _pair(probe, mine, twin, theirs, ours)
        found += seen
        notes += added
        volatile += unsteady
    for name, value in direct.facts.items():
        if again.facts.get(name) == value != through.facts.get(name):
            found.append(Difference(name, value, through.facts.get(name, ABSENT)))
    if any(message.key == GONE for message in one) and not any(message.key == GONE for message in three):
        notes.append("mended: the server itself goes silent over something, and is still there through us")
        found = [one for one in found if one.path != f"message {GONE}" and one.direct != ABSENT]
    mended = _mended(probe, one, three) if found else None
    if mended:
        notes, found = [*notes, mended], []
    exact += sum(through.facts.get(name) == value for name, value in direct.facts.items())
    return Finding(
        era, probe.feature, len(three) + len(through.facts), exact, tuple(dict.fromkeys(notes)), volatile, tuple(found)
    )


def _mended(probe: Probe, direct: Sequence[Message], through: Sequence[Message]) -> str | None:
    """Why all differences of a probe are for the better; None where they are not."""
    one, three = ([m.node for m in side if m.key[0] == "<"] for side in (direct, through))
    if probe.unreadable and len(one) <= len(three) and all(is_refusal(node) or _is_result(node) for node in three):
        return "mended: what cannot be read is refused by us, or repaired, and the session goes on"
    asked = three and all(_is_answer(node) and get(node, "id") in probe.sent for node in three)
    if probe.about_ids and asked and not any(map(_is_answer, one)):
        return f"mended: an answer under the id {next(iter(probe.sent))}, which the server itself does not manage"
    return None


def _is_result(node: Node) -> bool:
    return get(node, "result") is not None


def _is_answer(node: Node) -> bool:
    """A result, or that there is no such method: what a server says to a ping under any id it manages."""
    return _is_result(node) or get(node, "error", "code") == METHOD_NOT_FOUND


def judge_stderr(era: str, direct: str, again: str, through: str, *, mended: bool = False) -> Finding:
    """What the server writes to stderr must be seen through us too; where it writes the same twice.

    `mended`: something in the session was, of which the server complains only where it is asked directly.
    """
    said = [{_shape(line.strip()): line for line in text.splitlines()} for text in (direct, again, through)]
    steady = {shape: line for shape, line in said[0].items() if shape in said[1]}
    lost = tuple(Difference("stderr", line, ABSENT) for shape, line in steady.items() if shape not in said[2])
    own = len([shape for shape in said[2] if shape not in said[0] and shape not in said[1]])
    notes = (f"{own} lines of our own",) if own else ()
    if mended and lost:
        notes, lost = (*notes, f"mended: {len(lost)} lines fewer, of what the server does not manage"), ()
    return Finding(era, "stderr", len(steady), len(steady) - len(lost), notes, len(said[0]) - len(steady), lost)


def _read(recording: Recording) -> list[Message]:
    counts: Counter[str] = Counter()
    messages = []
    for line in recording.lines:
        try:
            node = parse(line)
        except NotJson:
            node = f'"{line[:80]!r}"'
        key = _key(node)
        counts[key] += 1
        messages.append(Message(f"{key} #{counts[key]}", line, node))
    return messages


def _key(node: Node) -> str:
    method = text_of(get(node, "method"))
    if method is None:
        return "< answer"
    return f"? {method}" if get(node, "id") is not None else f"! {method}"


def _unpaired(one: Sequence[Message], two: Sequence[Message], three: Sequence[Message]) -> Iterator[Difference]:
    """Messages that only one side has, and messages in another order; unless the server itself is not steady there."""
    orders = [[message.key for message in side] for side in (one, two, three)]
    steady = Counter(orders[0]) == Counter(orders[1])
    for key in dict.fromkeys(orders[0]):
        if key not in orders[2] and (steady or key in orders[1]):
            yield Difference(f"message {key}", next(m.line for m in one if m.key == key), ABSENT)
    for key in dict.fromkeys(orders[2]):
        if key not in orders[0] and (steady or key not in orders[1]):
            yield Difference(f"message {key}", ABSENT, next(m.line for m in three if m.key == key))
    if orders[0] == orders[1] != orders[2] and Counter(orders[0]) == Counter(orders[2]):
        yield Difference("order of messages", ", ".join(orders[0]), ", ".join(orders[2]))


def _paired(
    one: Sequence[Message], two: Sequence[Message], three: Sequence[Message]
) -> Iterator[tuple[Message, Message, Message]]:
    twins, theirs = ({message.key: message for message in side} for side in (two, three))
    for message in one:
        if message.key in theirs:
            yield message, twins.get(message.key, message), theirs[message.key]


def _pair(
    probe: Probe, mine: Message, twin: Message, theirs: Message, ours: Ours
) -> tuple[list[Difference], tuple[str, ...], int]:
    """Differences of one message, what of it is meant, and how many places of it are volatile."""
    sent = _sent(probe, theirs)
    through, added = clear(probe.sent.get(sent or "", ""), mine.node, theirs.node, ours)
    through, mended = mended_id(sent, mine.node, through)
    direct, again = (_neutral(node) for node in (mine.node, twin.node))
    unsteady = {d.path: d for d in differences(direct, again)}
    found = [
        difference
        for difference in differences(direct, _neutral(through))
        if not any(_within(difference, place) for place in unsteady.values())
    ]
    return found, (*mended, *added), len(unsteady)


def _sent(probe: Probe, message: Message) -> str | None:
    """The id of the request that an answer through us belongs to."""
    ident = get(message.node, "id")
    return ident if isinstance(ident, str) and ident in probe.sent else None


def _neutral(node: Node) -> Node:
    """A request of the server without its id: each side numbers its own."""
    if isinstance(get(node, "method"), str) and get(node, "id") is not None:
        return put(node, "id", '"(any)"')
    return node


def _within(difference: Difference, place: Difference) -> bool:
    """Whether a difference lies where the server does not agree with itself, and has the shape it has there."""
    if difference.path == place.path:
        return _shape(place.direct) != _shape(place.through) or _shape(difference.through) == _shape(place.direct)
    return difference.path.startswith((f"{place.path}.", f"{place.path}["))


def _shape(text: str) -> str:
    """What stays of a value when times and counts change."""
    return re.sub(r"[0-9]+", "0", text)
