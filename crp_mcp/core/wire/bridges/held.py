"""Calls of a host of 2026-07-28 that a server of the handshake has questions about, and what brings the host back.

Such a call stays under way at the server while its host is answered `input_required`. What the host gets for it is
sealed: it names the call and the round, for that request alone, and is good once.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

from crp_mcp.core.wire.answers import dump
from crp_mcp.core.wire.frame import Frame, text_of

from .base import Job
from .dialects import ASKABLE
from .rewrite import written

HELD_SECONDS = 600.0
"""So long a call waits for its host to come back. The server mostly gives up sooner."""
MAX_HELD = 1000
_MARK = "crp-mcp-held-"


class Ask(Job):
    """A request of the host's, over all its rounds. While it is held, nobody waits for it: `outer` is None."""

    __slots__ = (
        "answer", "capabilities", "deadline", "given", "key", "level", "missing", "number", "questions", "replies",
        "round", "sent", "token",
    )  # fmt: skip

    def __init__(self, number: int, given: Frame, frame: Frame) -> None:
        super().__init__(None, frame)
        self.number = number
        self.given = given
        """The request as the host sent it; `frame` is what goes to the server."""
        self.key = (self.method, text_of(frame.part("name")) or "")
        self.capabilities: dict[str, Any] = {}
        self.token: bytes | None = None
        """The host's progress token."""
        self.level: str | None = None
        """The log level the host asked for."""
        self.questions: dict[str, tuple[bytes, bytes]] = {}
        """By our key: the id the server asked under (empty: in an error), and the input request."""
        self.replies: dict[bytes, bytes] = {}
        """What the host has brought, by the server's id."""
        self.missing: dict[str, Any] = {}
        """Capabilities a question needed and the host has not declared."""
        self.round = 0
        self.sent = False
        self.answer: Frame | None = None
        """The server's answer, where it came while nobody waited."""
        self.deadline: float | None = None

    @property
    def askable(self) -> bool:
        return self.method in ASKABLE

    @property
    def running(self) -> bool:
        """Whether the server works on it for a host that waits."""
        return self.sent and self.outer is not None and self.answer is None and not self.over

    @property
    def held(self) -> bool:
        return self.outer is None and not self.over


def digest_of(frame: Frame) -> bytes:
    """What makes two requests the same call: method, name or URI, arguments, however they are spelt."""
    parts = [(frame.method or "").encode(), frame.part("name") or b"", frame.part("uri") or b""]
    arguments = frame.part("arguments")
    if arguments is not None:
        parts.append(_spelt(arguments))
    elif "arguments" in frame.inner:
        start, end = frame.inner["arguments"]
        parts.append(b"%d" % (end - start))
    else:
        parts.append(b"")
    return hashlib.sha256(b"\0".join(parts)).digest()


def _spelt(arguments: bytes) -> bytes:
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    return json.dumps(value, sort_keys=True).encode() if value != {} else b""


class Seal:
    """Makes and checks the states hosts bring back. `secret`: a key nobody else has."""

    def __init__(self, secret: Callable[[], bytes], scope: str) -> None:
        self._secret = secret
        self._scope = scope

    def state(self, ask: Ask) -> str:
        """What brings the host back to this round of its call."""
        return f"{_MARK}{ask.number}.{ask.round}.{self._mac(ask.number, ask.round, digest_of(ask.given))}"

    def number(self, state: str, frame: Frame) -> tuple[int, int] | None:
        """Call and round that a state names; None where we have not made it for this request."""
        number, _, rest = state.removeprefix(_MARK).partition(".")
        round_, _, mac = rest.partition(".")
        if not is_ours(state) or not (number.isdecimal() and round_.isdecimal() and len(number) + len(round_) < 30):
            return None
        wanted = self._mac(int(number), int(round_), digest_of(frame))
        if not hmac.compare_digest(wanted.encode(), mac.encode("utf-8", "replace")):
            return None
        return int(number), int(round_)

    def _mac(self, number: int, round_: int, digest: bytes) -> str:
        text = b"\0".join([b"held", self._scope.encode("utf-8", "replace"), b"%d.%d" % (number, round_), digest])
        return hmac.new(self._secret(), text, hashlib.sha256).hexdigest()


def is_ours(state: str | None) -> bool:
    """Whether a state looks like one of these."""
    return state is not None and state.startswith(_MARK)


def question_result(ask: Ask, state: str, stamp: bytes | None) -> bytes:
    """The `input_required` result that asks all open questions of a call."""
    found = {
        "resultType": b'"input_required"',
        "inputRequests": written({key: raw for key, (_, raw) in ask.questions.items()}),
        "requestState": dump(state),
    }
    return written({**found, "_meta": stamp} if stamp is not None else found)
