"""Where tokens are counted: the counter is loaded by whoever needs it first, and captures count in one thread of it.

The engine keeps 16 MB of tables for the first thread that counts, and as many again for others: one is enough.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

from .service import Counter

T = TypeVar("T")


class LazyCounter:
    """The token counter, once for the process. `after_loading` is called when it is there."""

    def __init__(self, after_loading: Callable[[], object] = lambda: None) -> None:
        self._after_loading = after_loading
        self._lock = threading.Lock()
        self._counter: Counter | None = None
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def loaded(self) -> bool:
        """Whether asking for it costs nothing."""
        return self._counter is not None

    def __call__(self) -> Counter:
        if self._counter is None:
            with self._lock:
                if self._counter is None:
                    from crp_mcp.tokens import open_counter

                    self._counter = open_counter()
                    self._after_loading()
        return self._counter

    def run(self, work: Callable[[Counter], T]) -> T:
        """What `work` gives, done in the counting thread: short work, since others wait for it too."""
        if threading.current_thread() is self._thread:
            return work(self())
        answer: SimpleQueue[tuple[T, None] | tuple[None, BaseException]] = SimpleQueue()

        def answered() -> None:
            try:
                answer.put((work(self()), None))
            except BaseException as error:  # noqa: BLE001 - it is raised where the work was asked for
                answer.put((None, error))

        if self._thread is None:
            self._start()
        self._work.put(answered)
        result, error = answer.get()
        if error is not None:
            raise error
        return result  # type: ignore[return-value]

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._serve, name="crp-mcp-count", daemon=True)
                thread.start()
                self._thread = thread

    def _serve(self) -> None:
        while True:
            self._work.get()()
