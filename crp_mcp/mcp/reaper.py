"""What ends the servers when we cannot: a tiny process that outlives us, and ends their groups if we die unasked.

It reads a pipe that only we write to. End of file without a farewell means that we were killed. It is a shell, so that
it costs about a megabyte while it waits.
"""

from __future__ import annotations

import os
import subprocess
import sys

_SCRIPT = r"""
trap '' HUP INT QUIT TERM PIPE USR1 USR2
groups=
while read -r op group; do
  case $op in
    +) groups="$groups $group" ;;
    -) rest=; for g in $groups; do [ "$g" = "$group" ] || rest="$rest $g"; done; groups=$rest ;;
    q) exit 0 ;;
  esac
done
[ -n "$groups" ] || exit 0
exec "$0" -I -S "$1" $groups
"""


class Reaper:
    """Started with the first server. On Windows there is none: closing their stdin is what ends the servers."""

    def __init__(self) -> None:
        self._pipe: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        if os.name != "posix":
            return
        read_end, write_end = os.pipe()
        try:
            # It has a session of its own, or what ends us could end it too.
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, sys.executable, os.path.join(os.path.dirname(__file__), "reap.py")],
                stdin=read_end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            os.close(write_end)
            from crp_mcp.log import log

            log("warning", "no_reaper", reason=str(error))
            return
        finally:
            os.close(read_end)
        self._pipe = write_end

    def watch(self, group: int) -> None:
        """End this process group if we die."""
        self._tell(f"+ {group}\n")

    def forget(self, group: int) -> None:
        """This group has ended; its number may come to mean another."""
        self._tell(f"- {group}\n")

    def close(self) -> None:
        """All groups have ended, and so do we."""
        self._tell("q\n")
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        if self._process is not None:
            try:
                self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _tell(self, line: str) -> None:
        if self._pipe is None:
            return
        try:
            os.write(self._pipe, line.encode())
        except OSError:
            # Somebody killed the reaper; the servers still end with their stdin.
            os.close(self._pipe)
            self._pipe = None
