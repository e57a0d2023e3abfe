"""Counters and gauges of the front, as Prometheus text. No tenant, tool or address is named in any of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """`gauges`: name -> (help, how to read it now)."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        """By method and status."""
        self.refused: Counter[str] = Counter()
        """By reason."""
        self.sent = 0
        self.received = 0
        self.sessions = 0
        """Opened so far."""
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}
        self._seconds = [0] * (len(BUCKETS) + 1)
        self._total = 0.0

    def done(self, method: str, status: int, seconds: float | None, sent: int) -> None:
        """A request is over; `seconds` None where it may last as long as the client likes."""
        self.requests[method, status] += 1
        self.sent += sent
        if seconds is None:
            return
        self._total += seconds
        index = next((at for at, bound in enumerate(BUCKETS) if seconds <= bound), len(BUCKETS))
        self._seconds[index] += 1

    def text(self) -> str:
        lines = _head("http_requests_total", "counter", "HTTP requests answered")
        for (method, status), count in sorted(self.requests.items()):
            lines.append(f'crp_mcp_http_requests_total{{method="{method}",status="{status}"}} {count}')
        lines += _head("http_refused_total", "counter", "Requests refused, by reason")
        for reason, count in sorted(self.refused.items()):
            lines.append(f'crp_mcp_http_refused_total{{reason="{reason}"}} {count}')
        for name, kind, what, value in (
            ("http_sent_bytes_total", "counter", "Bytes of response bodies", self.sent),
            ("http_received_bytes_total", "counter", "Bytes of request bodies", self.received),
            ("sessions_opened_total", "counter", "Sessions opened", self.sessions),
        ):
            lines += [*_head(name, kind, what), f"crp_mcp_{name} {value}"]
        for name, (what, read) in sorted(self.gauges.items()):
            lines += [*_head(name, "gauge", what), f"crp_mcp_{name} {read():g}"]
        return "\n".join([*lines, *self._histogram(), ""])

    def _histogram(self) -> list[str]:
        name = "http_request_seconds"
        lines, count = _head(name, "histogram", "Time until a POST was answered in full"), 0
        for bound, here in zip((*BUCKETS, None), self._seconds, strict=True):
            count += here
            lines.append(f'crp_mcp_{name}_bucket{{le="{"+Inf" if bound is None else bound}"}} {count}')
        return [*lines, f"crp_mcp_{name}_sum {self._total:.6f}", f"crp_mcp_{name}_count {count}"]


def _head(name: str, kind: str, what: str) -> list[str]:
    return [f"# HELP crp_mcp_{name} {what}.", f"# TYPE crp_mcp_{name} {kind}"]
