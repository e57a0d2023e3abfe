"""Who may be asking: a server of the handshake does not say for which call it asks.

Calls that are known to lead to questions run one at a time, so that a question is that one's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from .held import Ask


class Floor:
    """The calls of one bridge that may ask."""

    def __init__(self) -> None:
        self._askers: set[tuple[str, str]] = set()
        """Tools, prompts and resources that have led to a question."""
        self._holder: Ask | None = None
        self._queue: deque[Ask] = deque()

    def takes(self, ask: Ask) -> bool:
        """Whether a call may run now. Where not, it is given back by `leaves` when it may."""
        if not ask.askable or ask.key not in self._askers:
            return True
        if self._holder is None or self._holder is ask:
            self._holder = ask
            return True
        self._queue.append(ask)
        return False

    def leaves(self, ask: Ask) -> Ask | None:
        """A call is over, given up, or waits for its host. The next one that may run."""
        if ask in self._queue:
            self._queue.remove(ask)
        if self._holder is not ask:
            return None
        self._holder = self._queue.popleft() if self._queue else None
        return self._holder

    def asker(self, asks: Iterable[Ask]) -> Ask | None:
        """Whose question it is. None where no call is under way."""
        sent = [ask for ask in asks if ask.askable and ask.sent and ask.answer is None and not ask.over]
        running = [ask for ask in sent if ask.running]
        found: Ask | None
        if self._holder is not None and self._holder.running:
            found = self._holder
        else:
            # One host in any case: the latest call is the likeliest, and a held one may ask for more.
            found = next(reversed(running or sent), None)
        if found is not None:
            self._askers.add(found.key)
            if found.running and self._holder is None:
                self._holder = found
        return found

    def clear(self) -> None:
        self._holder = None
        self._queue.clear()
