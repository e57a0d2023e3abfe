"""The models of the Context Request Protocol, named as its reference names them. Frozen; unknown fields are refused."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


class TemporalScope(StrEnum):
    """Which time a request is about. The reference names CURRENT; the others are ours."""

    CURRENT = "CURRENT"
    """What holds now: superseded and removed things are left out."""
    RECENT = "RECENT"
    """What holds now, the newest first."""
    HISTORICAL = "HISTORICAL"
    """Only what was superseded or removed."""
    ALL = "ALL"


def _whole(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a bool is no number")
    return value


def _depth(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError("a depth is a whole number or the name of a level")
    if isinstance(value, int) and value < 0:
        raise ValueError("a depth is 0 or more")
    return value


Whole = Annotated[int, BeforeValidator(_whole), Field(ge=0)]
Depth = Annotated[int | str, BeforeValidator(_depth)]
Share = Annotated[float, BeforeValidator(_whole), Field(ge=0.0, le=1.0)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ContextRequest(_Frozen):
    """A structured request for context, issued while reasoning. `as_of` is ours: the state at a point in time."""

    query: str | None = None
    entities: list[str] = Field(default_factory=list)
    uko_types: list[str] = Field(default_factory=list)
    focus: list[str] = Field(default_factory=list)
    breadth: Whole = 2
    depth: Depth = 3
    depth_gradient: bool = True
    temporal: TemporalScope = TemporalScope.CURRENT
    max_tokens: Whole | None = None
    preferred_strategies: list[str] = Field(default_factory=list)
    required_backends: list[str] = Field(default_factory=list)
    priority: Share = 0.5
    purpose: str = ""
    as_of: datetime | None = None

    @property
    def until(self) -> float | None:
        """`as_of` in epoch seconds; a time without a zone is in UTC."""
        if self.as_of is None:
            return None
        return (self.as_of if self.as_of.tzinfo else self.as_of.replace(tzinfo=UTC)).timestamp()


class FragmentProvenance(_Frozen):
    """Links a fragment to the resource it came from, the place in it, and the strategy that found it."""

    resource_uri: str
    location: str = ""
    strategy: str = ""


class ContextFragment(_Frozen):
    """One unit of context: a node, rendered."""

    uko_node: str
    content: str
    detail_depth: Whole
    token_count: Whole
    relevance_score: Share
    provenance: FragmentProvenance
    metadata: dict[str, Any] = Field(default_factory=dict)


class ContextBudget(_Frozen):
    """A token budget of which a part may be reserved."""

    max_tokens: Whole
    reserved_tokens: Whole = 0

    @model_validator(mode="after")
    def _reserve_fits(self) -> ContextBudget:
        if self.reserved_tokens > self.max_tokens:
            raise ValueError(f"reserved_tokens ({self.reserved_tokens}) is more than max_tokens ({self.max_tokens})")
        return self

    @property
    def available_tokens(self) -> int:
        return self.max_tokens - self.reserved_tokens


class AssembledContext(_Frozen):
    """The fused context within its budget. `total_tokens` counts what is delivered, preamble and wrappers included."""

    fragments: list[ContextFragment] = Field(default_factory=list)
    total_tokens: Whole = 0
    budget_used: Share = 0.0
    strategies_used: list[str] = Field(default_factory=list)
    context_hash: str = ""
    preamble: str | None = None
    provenance_map: dict[str, Any] = Field(default_factory=dict)
