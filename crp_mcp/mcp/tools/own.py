"""Runs our own tools: arguments in, pages out. One place for all of them, whichever process asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crp_mcp.core.model import Entry, Scope
from crp_mcp.errors import BadRequest, CrpError, NotFound, Refused
from crp_mcp.proof.wire import MEDIA_TYPE
from crp_mcp.relay.erasure import Eraser
from crp_mcp.relay.reading import Reader
from crp_mcp.relay.receipts import Receipts
from crp_mcp.relay.using import Ask

from .answers import HEADERS_KEY, answer, failure
from .arguments import Arguments
from .context import ContextTools
from .getting import GetTool, reference_of
from .life import LifeTools
from .listing import LIST_MOST, ListTool
from .query import QueryTool

if TYPE_CHECKING:
    from .checking import CheckTool

RECEIPT_URI = "receipt://"
RESOURCE_BYTES = 1 << 20
"""A resource read gives the whole payload up to this size; of a larger one the summary and the way to the rest."""


@dataclass(slots=True)
class OwnTools:
    """Our tools over one store."""

    reader: Reader
    get: GetTool
    query: QueryTool
    receipts: Receipts
    eraser: Eraser
    life: LifeTools
    headers: Callable[..., Mapping[str, str]]
    """Headers of an answer in a scope, and of the entries it used."""
    context: Callable[[], ContextTools]
    """Loads on first use: its models cost start-up."""
    checking: Callable[[], CheckTool]
    """Loads on first use, as well."""

    def call(self, name: str, arguments: object, scope: Scope, ask: Ask | None = None) -> dict[str, Any]:
        """The `tools/call` result of one of our tools; what is wrong with the call is in it, with `isError`.

        Raises NeedsCall where an upstream's tool must be called again first, and whoever asks can do that.
        """
        ask = ask or Ask(scope)
        tools: dict[str, Callable[[Arguments], dict[str, Any]]] = {
            "request_context": lambda given: self.context().request_context(given, ask),
            "query_history": lambda given: self.context().query_history(given, ask),
            "get_context_budget": lambda given: self.context().get_context_budget(given, ask),
            "scratch_get": lambda given: self.get.call(given, ask),
            "scratch_list": lambda given: ListTool(self.reader).call(given, scope),
            "scratch_pin": lambda given: self.life.pin(given, ask),
            "scratch_query": lambda given: self._query(given, ask),
            "verify_claims": lambda given: self.checking().call(given, ask),
            "record_turn": lambda given: self.life.record_turn(given, ask),
            "scratch_forget": lambda given: self._forget(given, ask),
        }
        try:
            if name not in tools:
                raise NotFound(f"no tool {name!r}; there are {', '.join(tools)}")
            return self._with_headers(tools[name](Arguments(name, arguments)), scope)
        except CrpError as error:
            return self.refuse(error, scope)

    def refuse(self, error: CrpError, scope: Scope) -> dict[str, Any]:
        """The result of a call that is not served."""
        return self._with_headers(failure(str(error), error.code), scope)

    def _query(self, given: Arguments, ask: Ask) -> dict[str, Any]:
        result, read = self.query.call(given, ask.scope)
        for entry in read:
            self.life.using.note(ask, entry)
        return {**result, "_meta": {HEADERS_KEY: dict(self.headers(ask.scope, read))}}

    def _with_headers(self, result: dict[str, Any], scope: Scope) -> dict[str, Any]:
        """Every answer of ours says how full the buffer is, also one that gives nothing of an entry."""
        return result if "_meta" in result else {**result, "_meta": {HEADERS_KEY: dict(self.headers(scope))}}

    def read_resource(self, uri: str, scope: Scope) -> dict[str, Any]:
        """`resources/read` of `scratch://{scratch_id}`. Raises NotFound or BadRequest."""
        if uri.startswith(RECEIPT_URI):
            return self._receipt_resource(uri, scope)
        entry = self.reader.entry(scope, reference_of(uri))
        mime = mime_of(entry)
        if entry.payload_bytes <= RESOURCE_BYTES:
            data = self.reader.store.read(entry.payload_id, 0, entry.payload_bytes)
            text = data.decode("utf-8", "replace")
        else:
            mime, text = "text/plain", self.get.summary(entry)
        return {"contents": [{"uri": uri, "mimeType": mime, "text": text}]}

    def _receipt_resource(self, uri: str, scope: Scope) -> dict[str, Any]:
        found = self.receipts.find(scope, uri.removeprefix(RECEIPT_URI))
        self.receipts.verify(found.body, scope=scope, leaves=found.leaves or None)
        return {"contents": [{"uri": uri, "mimeType": MEDIA_TYPE, "text": found.body.decode()}]}

    def complete(self, prefix: str, scope: Scope) -> dict[str, Any]:
        """`completion/complete` of a scratch_id or pinned name."""
        page = self.reader.store.list(scope, limit=LIST_MOST, within="project")
        shown = [entry for entry in page.entries if self.reader.may_see(scope, entry)]
        names = [name for entry in shown for name in (entry.name, entry.scratch_id) if name]
        values = [name for name in names if name.startswith(prefix)]
        return {"completion": {"values": values[:100], "total": len(values), "hasMore": page.cursor is not None}}

    # -- scratch_forget --------------------------------------------------------------------------------------------

    def _forget(self, given: Arguments, ask: Ask) -> dict[str, Any]:
        reference = reference_of(str(given.text("scratch_id", required=True)))
        given.done()
        entry = self._meant(ask, reference)
        if not ask.policy.evicts:
            kept = ask.policy.retain.value if ask.policy.retain else ""
            raise Refused(f"{entry.scratch_id} stays: everything is kept (tool-output-retain={kept})")
        report = self.eraser.forget_one(ask.scope, entry.scratch_id)
        others = [name for name in report.purged if name != entry.scratch_id]
        said = f"{entry.scratch_id} erased" + (f", with what was made from it: {', '.join(others)}" if others else "")
        if report.rebuilt:
            said += "; made anew without it: " + ", ".join(report.rebuilt.values())
        if report.pending:
            said += "; its bytes leave the store's file as soon as no other process reads them"
        return answer(said, None, {"scratch_id": entry.scratch_id, "pending": report.pending})

    def _meant(self, ask: Ask, reference: str) -> Entry:
        """The entry of an id or pinned name; of a phrase it is only said which one it may mean."""
        try:
            return self.reader.entry(ask.scope, reference)
        except NotFound as nothing:
            try:
                entry, _ = self.life.using.find(ask.scope, reference)
            except CrpError:
                raise nothing from None
        raise BadRequest(f"scratch_forget takes a scratch_id or pinned name; {reference!r} may mean {entry.scratch_id}")

    def list_line(self, entry: Entry) -> str:
        """One entry on one line, as `scratch_list` shows it."""
        return ListTool(self.reader).line(entry)


def mime_of(entry: Entry) -> str:
    """What a payload is, as a resource."""
    source = str((entry.structured or {}).get("source", ""))
    return "application/json" if entry.form == "result" or source.startswith("json") else "text/plain"
