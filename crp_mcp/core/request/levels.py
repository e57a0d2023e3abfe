"""DetailLevelMap: named levels of detail as depths, inherited from a parent map. The one model that may change."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from crp_mcp.errors import BadRequest


class LevelError(BadRequest, ValueError):
    """A depth or level that a map does not have; the message lists those it has."""


class DetailLevelMap(BaseModel):
    """Named detail levels of one domain. Integer depths run from 0 (what exists) to `max_depth` (everything)."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    domain: str
    parent: DetailLevelMap | None = None
    levels: dict[str, int] = Field(default_factory=dict)
    max_depth: int = Field(ge=0, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _own_levels(cls, data: Any) -> Any:
        """Refuse values that are no depth before pydantic turns them into one; never share the caller's dict."""
        if isinstance(data, dict) and isinstance(data.get("levels"), dict):
            for name, value in data["levels"].items():
                _refuse_non_integer(f"level {name!r}", value)
            return {**data, "levels": dict(data["levels"])}
        return data

    @model_validator(mode="after")
    def _within(self) -> DetailLevelMap:
        for name, value in self.levels.items():
            self._check(name, value)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        """Assignments keep the map whole: no cycle of parents, no level outside it."""
        if name == "parent":
            above = value
            while isinstance(above, DetailLevelMap):
                if above is self:
                    raise LevelError(f"{self.domain} cannot be its own ancestor")
                above = above.parent
        if name == "max_depth":
            _refuse_non_integer("max_depth", value)
            highest = max(self.levels.values(), default=0)
            if value < highest:
                raise LevelError(f"max_depth: {value} is below the level at {highest}")
        super().__setattr__(name, value)

    def resolve(self, depth: int | str) -> int:
        """The depth of a level's name or of a number; numbers above `max_depth` count as `max_depth`.

        Raises:
            LevelError: a negative number, a bool, or a name this map does not have.
        """
        if isinstance(depth, str):
            known = self.effective_levels()
            for name in (depth, depth.strip().upper()):
                if name in known:
                    return known[name]
            if not (depth.strip().isascii() and depth.strip().isdigit()):
                raise LevelError(f"depth: {self.domain} has no level {depth[:60]!r}; {self._choices()}")
            depth = int(depth.strip()[:9])
        if isinstance(depth, bool) or not isinstance(depth, int) or depth < 0:
            raise LevelError(f"depth: {depth!r} is not a depth of {self.domain}; {self._choices()}")
        return min(depth, self.max_depth)

    def register(self, name: str, value: int) -> None:
        """Add or replace a level of this map. Raises LevelError for an empty name or a value outside 0 to max."""
        self._check(name, value)
        self.levels[name] = value

    def insert_after(self, name: str, new_name: str) -> int:
        """Put a level right behind another: everything deeper moves down by one, and so does the maximum.

        Returns the new level's depth. Raises LevelError where `name` is unknown or `new_name` taken.
        """
        known = self.effective_levels()
        if new_name in known:
            raise LevelError(f"level {new_name!r} exists already; {self._choices()}")
        at = self.resolve(name)
        moved = {each: value + 1 if value > at else value for each, value in known.items()}
        super().__setattr__("max_depth", self.max_depth + 1)
        self.levels.update(moved)
        self.register(new_name, at + 1)
        return at + 1

    def effective_levels(self) -> dict[str, int]:
        """All levels, inherited ones included, the shallow first; an inherited one above our maximum counts as it."""
        inherited = self.parent.effective_levels() if self.parent is not None else {}
        merged = {name: min(value, self.max_depth) for name, value in inherited.items()} | self.levels
        return dict(sorted(merged.items(), key=lambda pair: (pair[1], pair[0])))

    def _check(self, name: str, value: object) -> None:
        if not isinstance(name, str) or not name.strip():
            raise LevelError("a level needs a name")
        _refuse_non_integer(f"level {name!r}", value)
        if not 0 <= int(value) <= self.max_depth:  # type: ignore[call-overload]
            raise LevelError(f"level {name!r}: {value} is outside 0 to {self.max_depth}")

    def _choices(self) -> str:
        names = ", ".join(f"{name} ({value})" for name, value in self.effective_levels().items())
        return f"0 to {self.max_depth}" + (f", or {names}" if names else "")


def _refuse_non_integer(what: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise LevelError(f"{what}: {value!r} is not a whole number")
