"""Whether another process still runs. Standard library alone."""

from __future__ import annotations

import os


def is_running(pid: int) -> bool:
    """Whether a process of this id runs; True where the system cannot be asked without sending a signal."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
