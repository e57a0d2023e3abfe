"""What an audit finds, gathered in the order in which it is found; the first hundred are kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from crp_mcp.proof.chain_verify import MAX_FAULTS, Fault, FaultKind


@dataclass(slots=True)
class Findings:
    """Faults of a store. `total` counts those that are not kept too."""

    faults: list[Fault] = field(default_factory=list)
    total: int = 0

    def add(self, kind: FaultKind, message: str, *, seq: int = 0, item: str = "") -> None:
        """`seq`: the record that says otherwise; `item`: the id of what does not fit."""
        self.total += 1
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(Fault(kind, seq, seq, message, item))
