"""Whatever order things happen in: every request is answered once, every question once, and nothing is left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.core.wire.bridges.rewrite import rewritten
from crp_mcp.core.wire.commands import Capture
from crp_mcp.core.wire.frame import make
from crp_mcp.core.wire.scan import members

from .playbook import error, note, request, result
from .test_bridge_to_handshake import ABLE, FORM, bridged
from .test_bridge_to_modern import ELICIT, asks
from .test_bridge_to_modern import bridged as bridged_to_modern
from .test_properties import CONVERSATION, METHODS, VALUES, converse

CHOICES = st.lists(st.integers(0, 2**16), max_size=60)


class World:
    """Host and server around one bridge. `messages` are dealt out as they come; each side keeps its own books."""

    def __init__(self, play: Any) -> None:
        self.play = play
        self.calls: dict[Any, Any] = {}
        """What the host waits for, by id."""
        self.answered: set[Any] = set()
        self.gone: set[Any] = set()
        """Cancelled by the host."""
        self.running: dict[Any, dict] = {}
        """Requests that the server has and has not answered."""
        self.next = 100

    def ident(self) -> int:
        self.next += 1
        return self.next

    def deal(self, said: list[Any]) -> None:
        while said:
            command = said.pop(0)
            if isinstance(command, Capture):
                said += self.play.settled(command.key, None)
                continue
            to, message = command
            (self.at_host if to == "host" else self.at_server)(message)

    def at_host(self, message: dict) -> None:
        if "method" in message:
            self.asked(message)
            return
        ident = message["id"]
        assert ident in self.calls, f"the host waits for nothing under {ident}: {message}"
        assert ident not in self.answered
        self.answered.add(ident)
        self.result(ident, self.calls.pop(ident), message)

    def at_server(self, message: dict) -> None:
        if message.get("method") == "notifications/cancelled":
            self.running.pop(message["params"]["requestId"], None)
        elif "method" in message and "id" in message:
            assert message["id"] not in self.running
            self.running[message["id"]] = message
        elif "method" not in message:
            self.replied(message)

    def cancel(self, ident: Any) -> None:
        self.calls.pop(ident)
        self.gone.add(ident)
        self.deal(self.play.host(note("notifications/cancelled", requestId=ident)))

    def asked(self, message: dict) -> None:
        raise NotImplementedError

    def replied(self, message: dict) -> None:
        raise NotImplementedError

    def result(self, ident: Any, call: Any, message: dict) -> None:
        raise NotImplementedError

    def moves(self) -> list[Callable[[], None]]:
        """What can happen now."""
        raise NotImplementedError

    def run(self, choices: list[int]) -> None:
        for choice in choices:
            moves = self.moves()
            moves[choice % len(moves)]()


class OldServer(World):
    """Behind a host of 2026-07-28. The server asks whenever it likes while it has calls."""

    def __init__(self) -> None:
        super().__init__(bridged())
        self.open: dict[Any, None] = {}
        self.held: list[tuple[str, str, list[str]]] = []

    def begin(self, name: str) -> None:
        ident = self.ident()
        self.calls[ident] = name
        self.deal(self.play.host(request(ident, "tools/call", name=name, _meta=ABLE)))

    def ask(self) -> None:
        ident = f"e{self.ident()}"
        self.open[ident] = None
        self.deal(self.play.server("s", request(ident, "elicitation/create", **FORM)))

    def withdraw(self) -> None:
        ident = next(iter(self.open))
        del self.open[ident]
        self.deal(self.play.server("s", note("notifications/cancelled", requestId=ident)))

    def finish(self, ident: Any) -> None:
        del self.running[ident]
        self.deal(self.play.server("s", result(ident, content=[])))

    def asked(self, message: dict) -> None:
        raise AssertionError(f"a host of 2026-07-28 is asked nothing: {message}")

    def replied(self, message: dict) -> None:
        assert message["id"] in self.open, f"answered twice, or never asked: {message}"
        del self.open[message["id"]]

    def result(self, ident: Any, call: Any, message: dict) -> None:
        got = message["result"]
        if got["resultType"] == "input_required":
            assert got["inputRequests"]
            self.held.append((call, got["requestState"], list(got["inputRequests"])))

    def come_back(self, some: bool) -> None:
        name, state, keys = self.held.pop(0)
        ident = self.ident()
        self.calls[ident] = name
        responses = {key: {"action": "decline"} for key in (keys[:1] if some else keys)}
        params = {"name": name, "_meta": ABLE, "requestState": state, "inputResponses": responses}
        self.deal(self.play.host(request(ident, "tools/call", **params)))

    def moves(self) -> list[Callable[[], None]]:
        moves: list[Callable[[], None]] = [lambda: self.begin("t"), lambda: self.begin("u")]
        if self.running:
            moves += [self.ask, lambda: self.finish(next(iter(self.running)))]
            moves.append(lambda: self.finish(next(reversed(self.running))))
        if self.held:
            moves += [lambda: self.come_back(False), lambda: self.come_back(True)]
        if self.calls:
            moves.append(lambda: self.cancel(next(iter(self.calls))))
        if self.open:
            moves.append(self.withdraw)
        return moves

    def end(self) -> None:
        """Everybody does what is still to be done."""
        for _ in range(10 * (self.next + 10)):
            if self.held:
                self.come_back(False)
            elif self.open:
                self.withdraw()
            elif self.running:
                self.finish(next(iter(self.running)))
        assert (self.held, self.running, self.calls) == ([], {}, {}), "nothing moves any more"


@given(CHOICES)
def test_held_calls(choices: list[int]) -> None:
    """Calls, questions, returns, cancellations in any order: all are answered once, and the tables are empty."""
    world = OldServer()
    world.run(choices)
    world.end()
    world.deal(world.play.wait(10_000))
    bridge: Any = world.play.proxy.links["s"].bridge
    assert (bridge._asks, bridge._by_outer) == ({}, {})
    assert world.play.proxy.next_deadline() is None


class NewServer(World):
    """Behind a host of the handshake. The server answers calls by questions, or at last by a result."""

    def __init__(self) -> None:
        super().__init__(bridged_to_modern())
        self.questions: dict[Any, None] = {}
        self.states: set[str] = set()

    def begin(self) -> None:
        ident = self.ident()
        self.calls[ident] = "t"
        self.deal(self.play.host(request(ident, "tools/call", name="t")))

    def ask(self, count: int) -> None:
        ident = next(iter(self.running))
        self.check(self.running.pop(ident))
        state = f"s{self.ident()}"
        self.states.add(state)
        self.deal(self.play.server("s", asks({"id": ident}, state, **{f"k{n}": ELICIT for n in range(count)})))

    def check(self, message: dict) -> None:
        """Nothing of one round is in another's."""
        state = message["params"].get("requestState")
        if state is not None:
            assert state in self.states
            self.states.remove(state)

    def finish(self) -> None:
        ident = next(reversed(self.running))
        self.check(self.running.pop(ident))
        self.deal(self.play.server("s", result(ident, content=[], resultType="complete")))

    def asked(self, message: dict) -> None:
        if message["method"] == "notifications/cancelled":
            self.questions.pop(message["params"]["requestId"])
        else:
            assert message["id"] not in self.questions
            self.questions[message["id"]] = None

    def answer(self, good: bool) -> None:
        ident = next(iter(self.questions))
        del self.questions[ident]
        self.deal(self.play.host(result(ident, action="decline") if good else error(ident, -1)))

    def replied(self, message: dict) -> None:
        raise AssertionError(f"a server of 2026-07-28 is answered nothing: {message}")

    def result(self, ident: Any, call: Any, message: dict) -> None:
        assert "resultType" not in message.get("result", {})

    def moves(self) -> list[Callable[[], None]]:
        moves: list[Callable[[], None]] = [self.begin]
        if self.running:
            moves += [lambda: self.ask(1), lambda: self.ask(3), self.finish]
        if self.questions:
            moves += [lambda: self.answer(True), lambda: self.answer(True), lambda: self.answer(False)]
        if self.calls:
            moves.append(lambda: self.cancel(next(iter(self.calls))))
        return moves

    def end(self) -> None:
        while self.questions or self.running:
            self.answer(True) if self.questions else self.finish()


@given(CHOICES)
def test_rounds(choices: list[int]) -> None:
    """Calls, questions, refusals, cancellations in any order: all are answered once, and the tables are empty."""
    world = NewServer()
    world.run(choices)
    world.end()
    assert world.calls == {}
    bridge: Any = world.play.proxy.links["s"].bridge
    assert (bridge._jobs, bridge._rounds._turns, bridge._rounds._later) == ({}, {}, [])


NAMES = st.sampled_from(["a", "b", "_meta", "resultType", "é", 'q"', "content"])
SPACE = st.sampled_from(["", " ", "\t ", "  "])
OBJECTS = st.dictionaries(NAMES, st.sampled_from(["1.50", "null", '"x"', '{"k": [1, 2]}', "[]"]), max_size=6)


@given(OBJECTS, st.dictionaries(NAMES, st.sampled_from(["7", '{"y": 1}']), max_size=3), st.sets(NAMES), SPACE)
def test_members_are_set_and_taken_out(found: dict, put: dict, drop: set, space: str) -> None:
    """All others keep their bytes and their order, however the object was spelt."""
    spelt = f",{space}".join(f"{json.dumps(name)}{space}:{space}{value}{space}" for name, value in found.items())
    line = f'{{"jsonrpc":"2.0", "id" :1,{space}"result":{space}{{{space}{spelt}}}{space}}}'.encode()
    raw = {name: value.encode() for name, value in put.items()}
    fresh = b"".join(rewritten(make(line), put=raw, drop=drop, ident=b'"i"').forward())  # type: ignore[arg-type]
    message = make(fresh)
    got = {name: fresh[start:end].decode() for name, (start, end) in message.inner.items()}
    wanted = {name: value for name, value in found.items() if name not in drop - put.keys()} | put
    assert got == wanted
    kept = [name for name in found if name in wanted]
    assert list(got)[: len(kept)] == kept
    assert members(fresh).keys() == {"jsonrpc", "id", "result"}
    assert message.id == b'"i"'


def odd_notes(play: Any, notes: list[tuple[str, Any]]) -> None:
    for name, value in notes:
        play.host({"method": f"notifications/{name}", "params": value})
        play.server("s", {"method": f"notifications/{name}", "params": value})


@given(st.booleans(), *CONVERSATION, st.lists(st.tuples(st.sampled_from(METHODS), VALUES), max_size=2))
def test_anything_through_a_bridge(
    modern: bool, method: str, params: Any, answers: list, notes: list, asked: list
) -> None:
    """One answer, whatever the server makes of it, asks and says meanwhile."""
    play = bridged() if modern else bridged_to_modern()
    if modern:
        params = {**(params if isinstance(params, dict) else {}), "_meta": ABLE}
    converse(play, method, params, answers, notes)
    play.host(
        {
            "jsonrpc": "2.0",
            "id": "r",
            "method": "tools/call",
            "params": {"name": "t", "_meta": params} if not modern else params,
        }
    )
    for number, (question, value) in enumerate(asked):
        kinds = ("elicitation/create", "sampling/createMessage", "roots/list", question)
        for kind in kinds:
            play.server("s", {"jsonrpc": "2.0", "id": f"{kind}{number}", "method": kind, "params": value})
            play.host({"jsonrpc": "2.0", "id": f"crp-mcp-ask-{number}", "result": value})
    odd_notes(play, notes)
    play.closed("s")
    assert play.proxy.drain() == []
