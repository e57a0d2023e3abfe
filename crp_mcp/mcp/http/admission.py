"""How many requests and open streams there are, in all and of each tenant, and who has to wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .request import Refusal

if TYPE_CHECKING:
    from crp_mcp.config.http import Limits

    from .metrics import Metrics

AGAIN = {"retry-after": "1"}


class Admission:
    """Counts per kind: `request` for what ends by itself, `stream` for what stays open."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._most = {
            "request": (limits.requests, limits.tenant_requests),
            "stream": (limits.streams, limits.tenant_streams),
        }
        self._metrics = metrics
        self._by_tenant: Counter[tuple[str, str]] = Counter()
        self.all: Counter[str] = Counter()

    @contextmanager
    def slot(self, tenant: str, kind: str = "request") -> Iterator[Slot]:
        """Raises Refusal where there are too many."""
        slot = Slot(self, tenant, kind)
        self.take(tenant, kind)
        try:
            yield slot
        finally:
            self.give_back(tenant, slot.kind)

    def take(self, tenant: str, kind: str) -> None:
        most, most_of_one = self._most[kind]
        if self._by_tenant[tenant, kind] >= most_of_one:
            self._metrics.refused[f"tenant_{kind}s"] += 1
            raise Refusal(429, f"You have too many {kind}s under way: let some end first.", headers=AGAIN)
        if self.all[kind] >= most:
            self._metrics.refused[f"{kind}s"] += 1
            raise Refusal(503, f"Too many {kind}s are under way here.", headers=AGAIN)
        self._by_tenant[tenant, kind] += 1
        self.all[kind] += 1

    def give_back(self, tenant: str, kind: str) -> None:
        self.all[kind] -= 1
        self._by_tenant[tenant, kind] -= 1
        if not self._by_tenant[tenant, kind]:
            del self._by_tenant[tenant, kind]


class Slot:
    """A place taken."""

    def __init__(self, admission: Admission, tenant: str, kind: str) -> None:
        self._admission = admission
        self._tenant = tenant
        self.kind = kind

    def stay_open(self) -> None:
        """The request turned out to be one for a stream. Raises Refusal."""
        self._admission.take(self._tenant, "stream")
        self._admission.give_back(self._tenant, self.kind)
        self.kind = "stream"
