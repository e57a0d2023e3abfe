"""Token counting behind one call: exact for `o200k_base`, offline, linear in time and bounded in memory.

Nothing is loaded by importing this; `open_counter` builds the engine (half a second, once a process).
"""

from .counter import VOCABULARY_SHA256, Counter, CounterFailed, Running, lower_bound, open_counter, upper_bound

__all__ = [
    "VOCABULARY_SHA256",
    "Counter",
    "CounterFailed",
    "Running",
    "lower_bound",
    "open_counter",
    "upper_bound",
]
