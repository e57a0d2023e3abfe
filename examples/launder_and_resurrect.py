"""Launder a label and resurrect a deleted document: against a naive memory, and against this one.

    python examples/launder_and_resurrect.py

The attack needs no malice, only a memory that summarises. Three documents, one of them highly confidential, are put
together into one memory; then that document is deleted. In a naive memory what was made of it is unlabelled, and still
there. Here both fail, and the failure can be shown to an outsider. Exits with 1 if any of that should not hold.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from crp_mcp.app.engine import Engine, open_engine
from crp_mcp.app.settings import Settings
from crp_mcp.core.model import ToolCall, ToolPolicy
from crp_mcp.errors import Rejected
from crp_mcp.relay.choosing import Selection
from crp_mcp.relay.service import Job

SECRET = "Meridian"
DOCUMENTS = {
    "menu": ("PUBLIC", [{"topic": "lunch", "text": "Soup on Monday, curry on Tuesday"}]),
    "merger": ("HIGHLY_CONFIDENTIAL", [{"topic": "merger", "text": f"We buy {SECRET} Ltd for 41 million in March"}]),
    "travel": ("INTERNAL", [{"topic": "travel", "text": "Trains are booked by the office"}]),
}
failures: list[str] = []


def show(attack: str, outcome: str, *, held: bool | None = None) -> None:
    """Print one line; a defence that did not hold is counted."""
    mark = "" if held is None else ("  held: " if held else "  BROKEN: ")
    print(f"{attack}\n  {mark}{outcome}")
    if held is False:
        failures.append(attack)


# -- a naive memory: summaries are text, deleting a document deletes the document


class NaiveMemory:
    """What most memories are: documents with labels, and notes made of them."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[str, list[dict[str, str]]]] = dict(DOCUMENTS)
        self.notes: list[str] = []

    def compact(self) -> None:
        self.notes.append("; ".join(row["text"] for _, rows in self.documents.values() for row in rows))

    def delete(self, name: str) -> None:
        del self.documents[name]


def attack_naive() -> None:
    """Both attacks, which are no more than using it."""
    memory = NaiveMemory()
    memory.compact()
    show("Launder: ask the naive memory for its note", f"unlabelled, for anyone: {memory.notes[0]!r}")
    memory.delete("merger")
    still = SECRET in memory.notes[0]
    show("Resurrect: delete the document, ask again", f"{SECRET} is {'still there' if still else 'gone'}")


# -- this memory


def capture(engine: Engine, name: str, label: str, rows: list[dict[str, str]]) -> str:
    """One document as a tool gives it. Its label is what the registry declares of the tool, or the tool itself says."""
    result = json.dumps({"content": [{"type": "text", "text": json.dumps(rows)}], "_meta": {"dev.crp/label": label}})
    call = ToolCall("documents", f"read_{name}", {"name": name}, json.dumps({"name": name}).encode())
    scope = engine.settings.scope("conversation")
    job = Job(call, scope, ToolPolicy(sensitivity="PUBLIC"), result.encode())
    return engine.service.capture(job).entry.scratch_id


def tool(engine: Engine, name: str, **arguments: Any) -> dict[str, Any]:
    return engine.tools.call(name, arguments, engine.settings.scope("conversation"))


def compact(engine: Engine, ids: dict[str, str]) -> str:
    """The same compaction: one table made of the three."""
    sql = " UNION ALL ".join(f"SELECT topic, text FROM {scratch_id}" for scratch_id in ids.values())
    return str(tool(engine, "scratch_query", sql=sql)["structuredContent"]["scratch_id"])


def launder(engine: Engine, memory: str) -> bytes:
    """Try to come by the content under a lower label. Returns the memory's receipt."""
    scope = engine.settings.scope("conversation")
    entry = engine.reader.entry(scope, memory)
    again = tool(engine, "scratch_query", sql=f"SELECT text FROM {memory}")["structuredContent"]["scratch_id"]
    label = engine.reader.entry(scope, again).label
    held = entry.label == label == "HIGHLY_CONFIDENTIAL"
    show("Launder: compact, and compact what was compacted", f"labelled {entry.label}, then {label}", held=held)
    stored = engine.store.receipt(scope, str(entry.receipt))
    forged = stored.body.replace(b'"HIGHLY_CONFIDENTIAL"', b'"PUBLIC"')
    present(engine, "Launder: write a lower label into the receipt", forged, "BAD_SIGNATURE")
    twice = stored.body.replace(b"{", b'{"inherited_sensitivity_ceiling":"PUBLIC",', 1)
    present(engine, "Launder: write it a second time, lower", twice, "DUPLICATE_KEY")
    fewer = [leaf for leaf in stored.leaves if b"HIGHLY_CONFIDENTIAL" not in leaf]
    present(engine, "Launder: leave the confidential source out", stored.body, "COUNT_MISMATCH", fewer)
    return stored.body


def present(engine: Engine, attack: str, body: bytes, wanted: str, leaves: list[bytes] | None = None) -> None:
    """Show a receipt to a verifier, which must refuse it for this reason."""
    try:
        engine.receipts.verify(body, scope=engine.settings.scope("conversation"), leaves=leaves)
        outcome = "accepted"
    except Rejected as refusal:
        outcome = refusal.code
    show(attack, f"refused: {outcome}" if outcome != "accepted" else outcome, held=outcome == wanted)


def read_below(folder: Path, clearance: str, ids: list[str]) -> None:
    """A conversation that is cleared for less, over the same store."""
    engine = open_engine(Settings(str(folder), project="demo", clearance=(("*", clearance),)))
    try:
        for scratch_id in ids:
            answer = json.dumps(tool(engine, "scratch_get", scratch_id=scratch_id, view="raw"))
            held = SECRET not in answer and "withheld" in answer
            show(f"Launder: read {scratch_id} with clearance {clearance}", "withheld, and recorded", held=held)
    finally:
        engine.close()


def resurrect(engine: Engine, folder: Path, ids: dict[str, str], memory: str, receipt: bytes) -> None:
    """Delete the document, then look for it everywhere."""
    scope = engine.settings.scope("conversation")
    plan = engine.eraser.plan(Selection(ids=(ids["merger"],)))
    report = engine.eraser.carry_out(plan, reason="purge")
    print(f"Purged {', '.join(report.purged)}; made anew: {report.rebuilt}")
    new = engine.reader.entry(scope, report.rebuilt[memory])
    text = b"".join(engine.store.iter_payload(new.payload_id)).decode()
    held = SECRET not in text and "Soup" in text and new.label == "INTERNAL"
    show("Resurrect: ask the memory again", f"labelled {new.label}, made of what remains: {text!r}", held=held)
    present(engine, "Resurrect: present the old receipt", receipt, "TOMBSTONED")
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = [path.name for path in files if SECRET.encode() in path.read_bytes()]
    show("Resurrect: read the store's files byte by byte", f"{len(files)} files, found in {found}", held=not found)
    audit = engine.auditor.verify()
    show(
        "Deny it: verify the whole record", f"{audit.verdict.value}: {audit.note}", held=audit.verdict.value == "VALID"
    )


def main() -> int:
    print("A naive memory\n")
    attack_naive()
    print("\nThis memory\n")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "store"
        engine = open_engine(Settings(str(folder), project="demo"))
        try:
            ids = {name: capture(engine, name, label, rows) for name, (label, rows) in DOCUMENTS.items()}
            memory = compact(engine, ids)
            receipt = launder(engine, memory)
            read_below(folder, "INTERNAL", [ids["merger"], memory])
            resurrect(engine, folder, ids, memory, receipt)
        finally:
            engine.close()
    print(f"\n{len(failures)} attacks succeeded against this memory" + "".join(f"\n  {one}" for one in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
