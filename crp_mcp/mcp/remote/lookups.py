"""Threads for what the event loop cannot wait for by itself, such as a name server: nobody waits for them at the end.

The loop's own threads are joined before a process may end, and a resolver can take half a minute to give up.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any
from weakref import WeakSet

THREADS = 16
_Work = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...], dict[str, Any]]

_DETACHED: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


class Detached(ThreadPoolExecutor):
    """An executor of daemon threads; a pool by name alone, since a loop takes nothing else."""

    def __init__(self) -> None:
        super().__init__(1)
        self._work: SimpleQueue[_Work] = SimpleQueue()
        self._left = THREADS
        self._free = threading.Semaphore(0)
        """As often as a thread has nothing to do."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._work.put((future, fn, args, kwargs))
        if not self._free.acquire(blocking=False) and self._left:
            self._left -= 1
            threading.Thread(target=self._run, name="crp-mcp-lookup", daemon=True).start()
        return future

    def _run(self) -> None:
        while True:
            future, fn, args, kwargs = self._work.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fn(*args, **kwargs))
                except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
                    future.set_exception(error)
            self._free.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing is waited for."""


def detach_lookups(loop: asyncio.AbstractEventLoop) -> None:
    """Have the loop's lookups hold up no end, from now on."""
    if loop not in _DETACHED:
        _DETACHED.add(loop)
        loop.set_default_executor(Detached())
