"""Coverage-guided fuzzing of everything that reads received bytes: only the typed rejection may escape.

    pip install atheris
    python -m tests.fuzz.fuzz_proof [-max_total_time=60] [CORPUS_FOLDER]

Not collected by pytest; `tests/proof/test_fuzz_target.py` runs the same target over its seeds.
"""

from __future__ import annotations

import contextlib
import json
import sys

from crp_mcp.errors import Rejected
from crp_mcp.keys.ring import audit_key_of, make_keyring
from crp_mcp.proof import eccr, export, lineage, merkle, signed
from crp_mcp.proof.chain import read_checkpoint
from crp_mcp.proof.chain_verify import Verdict, verify_chain
from crp_mcp.proof.reasons import Reason
from crp_mcp.proof.strict_json import read

SEED = b"\x2a" * 32
RING = make_keyring(SEED, source="fuzz", audit_keys=(audit_key_of(SEED),), own={}, trusted={})
NOW = 1_793_664_000
ITEM = eccr.Item("sha256:" + "1" * 64, "INTERNAL", NOW + 9)
RECEIPT = eccr.issue([ITEM] * 5, output_hash=ITEM.digest, issued_at=NOW, kid=RING.kid, sign=RING.sign)
FOUND = eccr.verify(RECEIPT.body, keys=RING.own, verify_signature=RING.verify, now=NOW)
SEEDS = [
    RECEIPT.body,
    RECEIPT.leaves[0],
    lineage.prove(RECEIPT.leaves, 3).to_json(),
    signed.reject_record("EXPIRED", b"", at=NOW, kid=RING.kid, sign=RING.sign).body,
    b'{"type":"header","format":"crp-audit-export","v":1,"lattice":["A"],"head":{"seq":1,"hash":""}}\n{"type":"seal"}\n',
]
READERS = (signed.verify_rejection, signed.verify_tombstone, read_checkpoint)


def accept_anything(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """A signature check that is always content, so that the fuzzer reaches what lies behind it."""
    return True


def one_input(data: bytes) -> None:
    """Feed one input to every reader. Raises what should never be raised."""
    _strict_json(data)
    for check in (RING.verify, accept_anything):
        for leaves in (None, [data], RECEIPT.leaves):
            with expected():
                eccr.verify(data, keys=RING.own, verify_signature=check, now=NOW, leaves=leaves)
        for reader in READERS:
            with expected():
                reader(data, keys=RING.own, verify_signature=check)
    with expected():
        lineage.verify_inclusion(FOUND, lineage.read_proof(data))
    _merkle(data)
    lines = data.splitlines(keepends=True)
    export.verify_export(lines, keys=RING.own, verify_signature=accept_anything)
    rows = [(number, line, line[:9].hex(), "") for number, line in enumerate(lines, 1)]
    found = verify_chain(rows, mac_keys=RING.mac_keys, checkpoints=lines, keys=RING.own, verify_signature=RING.verify)
    if found.verdict is Verdict.VALID:
        raise AssertionError("a chain of made-up records was found valid")


@contextlib.contextmanager
def expected():  # type: ignore[no-untyped-def]
    """Let only the typed rejection pass, with a code that exists."""
    try:
        yield
    except Rejected as refusal:
        Reason(refusal.code)


def _strict_json(data: bytes) -> None:
    """What the strict reader accepts, the standard one reads the same."""
    with expected():
        value = read(data)
        if json.loads(data) != value:
            raise AssertionError("two readers, two values")


def _merkle(data: bytes) -> None:
    path = [data[at : at + 32] for at in range(4, len(data), 32)]
    index, size = int.from_bytes(data[:2]), int.from_bytes(data[2:4])
    root = data[-32:]
    with expected():
        merkle.verify_inclusion(leaf=root, index=index, size=size, path=path, expected_root=root)
    with expected():
        merkle.verify_consistency(first=index, second=size, first_root=root, second_root=root, path=path)


def main() -> None:
    """Run under atheris."""
    import atheris

    atheris.instrument_all()
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
