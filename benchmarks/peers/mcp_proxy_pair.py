"""mcp-proxy there and back: one that serves a command over HTTP, one that brings it back to stdio."""

import os
import signal
import socket
import subprocess
import sys
import time

program, *server = sys.argv[1:]
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
there = subprocess.Popen(
    [program, "--port", str(port), "--pass-environment", "--", *server], stdin=subprocess.DEVNULL, stdout=2
)
try:
    while there.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.02)
    back = [program, "--transport", "streamablehttp", f"http://127.0.0.1:{port}/mcp"]
    sys.exit(subprocess.call(back))
finally:
    os.kill(there.pid, signal.SIGTERM)
