"""What proof costs: hashes against bare hashlib, signatures, canonical JSON, the chain, and captures with and without.

    python -m benchmarks.proof [--quick]

Ratios are of medians of CPU time, both sides run in turn in one process, so that a busy machine hits both alike.
"""

from __future__ import annotations

import hmac
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, cast

from benchmarks.harness import Figure, interleaved, table
from crp_mcp.app.engine import open_engine
from crp_mcp.app.settings import Settings
from crp_mcp.core.model import ToolCall, ToolPolicy
from crp_mcp.keys.ring import audit_key_of, make_keyring, verify_signature
from crp_mcp.proof import eccr, merkle
from crp_mcp.proof.canonical import canonicalize, canonicalize_reference
from crp_mcp.proof.chain import EMPTY_CHAIN, Record, link
from crp_mcp.proof.chain_verify import Verdict, verify_chain
from crp_mcp.proof.lattice import DEFAULT_LATTICE
from crp_mcp.proof.strict_json import read_object
from crp_mcp.relay.service import Job
from crp_mcp.store import Sealed

SEED = bytes(range(32))
RING = make_keyring(SEED, source="benchmark", audit_keys=(audit_key_of(SEED),), own={}, trusted={})
NOW = 1_793_664_000
DIGEST = "sha256:" + "ab" * 32
ITEM = eccr.Item(DIGEST, "INTERNAL", NOW + 86_400)


def cpu(actions: Mapping[str, Callable[[], object]], rounds: int, *, calls: int = 1) -> dict[str, float]:
    """Median CPU microseconds of one call of each action, after one warm round."""
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(rounds + 1):
        for name, action in actions.items():
            start = time.process_time()
            for _ in range(calls):
                action()
            if turn:
                taken[name].append((time.process_time() - start) / calls * 1e6)
    return {name: statistics.median(times) for name, times in taken.items()}


def merkle_root(leaves: int, rounds: int) -> Figure:
    """Root over many leaves, against as many hashlib calls on inputs of the same lengths."""
    data = [number.to_bytes(8) * 4 for number in range(leaves)]
    node = bytes(65)

    def bare() -> None:
        for leaf in data:
            sha256(leaf).digest()
        for _ in range(leaves - 1):
            sha256(node).digest()

    found = cpu({"ours": lambda: merkle.root(data), "bare": bare}, rounds)
    note = f"{found['ours'] / 1e6:.2f} s "
    return Figure(
        f"Merkle root of {leaves:,} leaves, over as many hashlib calls", found["ours"] / found["bare"], 1.3, note=note
    )


def records(count: int) -> list[Record]:
    """A chain as captures leave it: a call and a receipt in turn, in four conversations."""
    made: list[Record] = []
    head = EMPTY_CHAIN
    for number in range(count):
        session = f"conversation-{number % 4}"
        call = {
            "tool_name": "db:query",
            "scratch_id": f"scratch_sql_{number}",
            "input_hash": DIGEST,
            "output_hash": DIGEST,
        }
        record = link(
            head,
            event_type="TOOL_CALL" if number % 2 else "RECEIPT_ISSUED",
            timestamp=NOW + number,
            session_id=session,
            turn_id=number // 9,
            data=call if number % 2 else {"scratch_id": f"scratch_sql_{number}", "receipt": DIGEST},
            mac_key=RING.mac_key(session),
        )
        made.append(record)
        head = record.head
    return made


def chain(count: int, rounds: int) -> Figure:
    """Verification of a whole chain with the secret, against SHA-256 and HMAC over the same bytes."""
    made = records(count)
    key = RING.mac_key("conversation-0")

    def bare() -> None:
        for _, body, _, _ in made:
            sha256(body).hexdigest()
            hmac.digest(key, body, "sha256").hex()

    if verify_chain(made, mac_keys=RING.mac_keys).verdict is not Verdict.VALID:
        raise RuntimeError("the chain that is measured must be valid")
    found = cpu({"ours": lambda: verify_chain(made, mac_keys=RING.mac_keys), "bare": bare}, rounds)
    note = f"{count / found['ours'] * 1e6:,.0f} records/s "
    return Figure(
        f"chain of {count:,} verified, over bare SHA-256 + HMAC", found["ours"] / found["bare"], 2.0, note=note
    )


def steps(rounds: int) -> list[Figure]:
    """Microseconds of the steps that stand in the path of a capture or a verification."""
    receipt = eccr.issue([ITEM], output_hash=DIGEST, issued_at=NOW, kid=RING.kid, sign=RING.sign)
    document = read_object(receipt.body)
    event = {"tool_name": "db:query", "input_hash": DIGEST, "output_hash": DIGEST}
    key = RING.mac_key("s")
    signature = RING.sign(receipt.body)
    found = cpu(
        {
            "sign": lambda: RING.sign(receipt.body),
            "issue": lambda: eccr.issue([ITEM], output_hash=DIGEST, issued_at=NOW, kid=RING.kid, sign=RING.sign),
            "check": lambda: verify_signature(RING.public_key, signature, receipt.body),
            "verify": lambda: eccr.verify(receipt.body, keys=RING.own, verify_signature=verify_signature, now=NOW),
            "link": lambda: link(
                EMPTY_CHAIN, event_type="TOOL_CALL", timestamp=NOW, session_id="s", turn_id=1, data=event, mac_key=key
            ),
            "mac key": lambda: RING.mac_key("conversation"),
            "fast": lambda: canonicalize(document),
            "reference": lambda: canonicalize_reference(document),
        },
        rounds,
        calls=200,
    )
    return [
        Figure("Ed25519 signature", found["sign"], 50, "µs"),
        Figure("receipt issued (leaf, root, two canonical forms, signature)", found["issue"], 150, "µs"),
        Figure(
            "receipt verified (strict reader, signature, times), over the bare signature check",
            found["verify"] / found["check"],
            3.0,
            note=f"{found['verify']:.0f} µs ",
        ),
        Figure("audit record linked (canonical form, hash, HMAC)", found["link"], 60, "µs"),
        Figure("session key derived (HKDF)", found["mac key"], 60, "µs"),
        Figure("canonical JSON of a receipt, over rfc8785", found["fast"] / found["reference"], 0.2),
    ]


class Unproved:
    """A sealer that links and signs nothing: what a capture would cost without proof."""

    lattice = DEFAULT_LATTICE

    def capture(self, *_: object, **__: object) -> Sealed:
        return Sealed()


def captures(rounds: int) -> list[Figure]:
    """Whole captures of a result of about 10 KB: read, summarised, stored; with proof against without, in one run."""
    rows = json.dumps([{"id": n, "city": "Oslo", "amount": n * 1.25, "note": "as agreed"} for n in range(165)])
    result = json.dumps({"content": [{"type": "text", "text": rows}]}).encode()
    return [capture(result, keep, rounds) for keep in (False, True)]


def capture(result: bytes, keep: bool, rounds: int) -> Figure:
    """One kind of capture: replaced by a summary, or passed on as it came (`keep`)."""
    call = ToolCall("shop", "read_query", {"query": "select 1"}, b'{"query":"select 1"}')
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(Settings(folder, project="p", host_key="1:1"))
        job = Job(call, engine.settings.scope("c"), ToolPolicy(), result, keep=keep)
        bare = replace(engine.service, sealer=cast(Any, Unproved()))
        sides = {"proof": lambda: engine.service.capture(job), "bare": lambda: bare.capture(job)}
        found = interleaved(sides, rounds, warm=20)
        engine.close()
    name = f"capture of 10 KB, {'passed on' if keep else 'summarised'}, with proof over without"
    note = f"{found['proof']:.2f} ms over {found['bare']:.2f} ms "
    return Figure(name, found["proof"] / found["bare"], 1.3, note=note)


def main() -> int:
    """Print the table; 1 if a goal is missed."""
    quick = "--quick" in sys.argv
    figures = [
        merkle_root(100_000 if quick else 1_000_000, 3 if quick else 5),
        chain(10_000 if quick else 100_000, 5 if quick else 7),
        *steps(10 if quick else 50),
        *captures(100 if quick else 400),
    ]
    print(table(figures))
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
