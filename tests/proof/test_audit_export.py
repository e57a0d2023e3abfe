"""The export: what the library and the stand-alone verifier say of whole, damaged and forged files."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.proof import export, signed
from crp_mcp.proof.chain import make_checkpoint
from crp_mcp.proof.chain_verify import Verdict
from tests.proof.chains import Chain, chain
from tests.proof.support import NOW, OTHER, REPO, RING, SIGN, TRUST, item, receipt

EXAMPLE = REPO / "examples" / "verify_audit.py"


def sealed_chain(length: int = 35) -> Chain:
    made = chain(length)
    made.seal()
    return made


def check(lines: list[bytes], **more: Any) -> export.ExportVerdict:
    return export.verify_export(lines, **{**TRUST, **more})


def alone(lines: list[bytes], tmp_path: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and output of the stand-alone verifier, run as an auditor would: without this project."""
    path = tmp_path / "export.ndjson"
    path.write_bytes(b"".join(lines))
    trust = arguments or ("--key", RING.public_key.hex())
    command = [sys.executable, "-I", str(EXAMPLE), *trust, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def edited(lines: list[bytes], number: int, **changes: Any) -> list[bytes]:
    """The lines with members of one changed, and no seal made anew."""
    document = {**json.loads(lines[number]), **changes}
    return [*lines[:number], json.dumps(document).encode() + b"\n", *lines[number + 1 :]]


def find(lines: list[bytes], kind: str, nth: int = 0) -> int:
    return [n for n, line in enumerate(lines) if json.loads(line)["type"] == kind][nth]


def without_seal(lines: list[bytes]) -> list[bytes]:
    return lines[:-1]


def test_whole_export_is_valid(tmp_path: Path) -> None:
    """Chain, receipts and seal all fit, for the library and for the stand-alone verifier."""
    lines = sealed_chain().lines(tombstones=[signed.sign_tombstone(item(3).digest, at=NOW + 5, **SIGN).body])
    found = check(lines)
    assert (found.verdict, found.receipts, found.sealed, found.faults) == (Verdict.VALID, 7, True, ())
    code, output = alone(lines, tmp_path)
    assert (code, output.splitlines()[0][:5]) == (0, "VALID")


def forged_head(lines: list[bytes]) -> list[bytes]:
    return edited(lines, 0, head={"seq": 40, "hash": "sha256:" + "0" * 64})


TAMPERED: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "changed record": lambda lines: edited(lines, 9, body=json.loads(lines[9])["body"].replace("query", "drop")),
    "dropped record": lambda lines: [*lines[:9], *lines[10:]],
    "swapped records": lambda lines: [*lines[:9], lines[10], lines[9], *lines[11:]],
    "repeated record": lambda lines: [*lines[:9], lines[9], *lines[9:]],
    "changed hash": lambda lines: edited(lines, 9, hash="sha256:" + "0" * 64),
    "changed MAC": lambda lines: edited(lines, 9, mac="0" * 64),
    "forged head": forged_head,
    "cut tail": lambda lines: [*lines[:30], *lines[36:]],
    "cut file": lambda lines: lines[:30],
    "dropped checkpoint": lambda lines: [*lines[: find(lines, "checkpoint")], *lines[find(lines, "checkpoint") + 1 :]],
    "dropped receipt": lambda lines: [*lines[: find(lines, "receipt")], *lines[find(lines, "receipt") + 1 :]],
    "dropped leaf": lambda lines: edited(
        lines, find(lines, "receipt"), leaves=json.loads(lines[find(lines, "receipt")])["leaves"][:1]
    ),
    "lowered label of a leaf": lambda lines: edited(
        lines,
        find(lines, "receipt"),
        leaves=[leaf.replace("CONFIDENTIAL", "PUBLIC") for leaf in json.loads(lines[find(lines, "receipt")])["leaves"]],
    ),
    "lowered lattice": lambda lines: edited(
        lines, 0, lattice=["CONFIDENTIAL", "HIGHLY_CONFIDENTIAL", "RESTRICTED", "PUBLIC", "INTERNAL"]
    ),
    "unknown line": lambda lines: [*lines[:9], b'{"type":"note"}\n', *lines[9:]],
    "duplicate member": lambda lines: [*lines[:9], b'{"type":"record",' + lines[9][1:], *lines[10:]],
    "no header": lambda lines: lines[1:],
    "something after the seal": lambda lines: [*lines, lines[9]],
}


@pytest.mark.parametrize("name", list(TAMPERED))
def test_tampered_export_is_broken(name: str, tmp_path: Path) -> None:
    """Whatever was done to the file, both verifiers say so."""
    lines = TAMPERED[name](sealed_chain().lines())
    expected = Verdict.PARTIAL if name == "cut file" else Verdict.BROKEN
    head_known = json.loads(lines[0])["type"] == "header"
    if name == "cut file" and head_known:
        expected = Verdict.BROKEN  # the header's head says how far it went
    assert check(lines).verdict is expected
    code, output = alone(lines, tmp_path)
    assert (code, output.splitlines()[0].split(":")[0]) == (1, "BROKEN")


@pytest.mark.parametrize("seq", [1, 14, 20, 35])
def test_both_verifiers_locate_the_record(seq: int, tmp_path: Path) -> None:
    """A record changed in place is named by its number."""
    lines = sealed_chain().lines()
    lines = edited(lines, seq, body=json.loads(lines[seq])["body"].replace('"data":{"', '"data":{"x'))
    assert (seq, seq) in {(fault.first, fault.last) for fault in check(lines).chain.faults}
    assert f"record {seq} " in alone(lines, tmp_path)[1]


def test_unsealed_file_is_partial(tmp_path: Path) -> None:
    """Without its seal a file may lack lines at the end, and the verdict says so."""
    lines = without_seal(sealed_chain().lines())
    assert check(lines).verdict is Verdict.PARTIAL
    code, output = alone(lines, tmp_path)
    assert (code, output[:7]) == (2, "PARTIAL")


def test_unsealed_tail_is_partial(tmp_path: Path) -> None:
    """Records after the last checkpoint are linked, but nobody vouches for them."""
    lines = chain(35).lines()
    found = check(lines)
    assert (found.verdict, found.chain.sealed) == (Verdict.PARTIAL, 30)
    assert alone(lines, tmp_path)[0] == 2


def test_what_cannot_be_checked_at_all_is_no_verdict(tmp_path: Path) -> None:
    """Exit code 4 and a sentence: a wrong option or an unreadable file must not pass for PARTIAL. Empty is BROKEN."""
    (tmp_path / "empty").touch()
    code, output = alone([], tmp_path)
    assert (code, "the file is empty" in output) == (1, True)
    lines = sealed_chain().lines()
    for wrong in (("--key", "zz"), ("--nonsense",), ("--checkpoint", str(tmp_path / "empty")), ("--checkpoint", "no")):
        code, output = alone(lines, tmp_path, *wrong)
        assert (code, "verify_audit.py: error: " in output) == (4, True), wrong


def test_keys_of_the_file_are_not_believed(tmp_path: Path) -> None:
    """A file that brings its own keys proves only that it fits together."""
    lines = sealed_chain().lines()
    of_another = check(lines, keys=OTHER.public_keys())
    assert (of_another.verdict, "it is another's" in of_another.note) == (Verdict.BROKEN, True)
    assert check(lines, keys={}).verdict is Verdict.BROKEN
    code, output = alone(lines, tmp_path, "--key", OTHER.public_key.hex())
    assert (code, output[:6]) == (1, "BROKEN")
    path = tmp_path / "export.ndjson"
    done = subprocess.run([sys.executable, "-I", str(EXAMPLE), str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:10]) == (3, "UNVERIFIED")


def test_checkpoint_kept_elsewhere_shows_an_older_file(tmp_path: Path) -> None:
    """An honest but earlier export is found out by a later checkpoint."""
    made = sealed_chain(20)
    lines = made.lines()
    for _ in range(3):
        made.add()
    later = make_checkpoint(made.head, time=NOW + 9, **SIGN).body
    assert check(lines, more_checkpoints=[later]).verdict is Verdict.BROKEN
    kept = tmp_path / "checkpoint.json"
    kept.write_bytes(later)
    code, output = alone(lines, tmp_path, "--key", RING.public_key.hex(), "--checkpoint", str(kept))
    assert code == 1
    assert "21 to 23" in output


def test_receipts_must_be_recorded_and_over_nothing_purged(tmp_path: Path) -> None:
    """A receipt the chain knows nothing of, or issued over an item after its tombstone, is a fault."""
    made = sealed_chain()
    made.receipts.append(receipt(item(99)))
    assert check(made.lines()).verdict is Verdict.BROKEN
    assert "issued" in alone(made.lines(), tmp_path)[1]
    lines = sealed_chain().lines(tombstones=[signed.sign_tombstone(item(6).digest, at=NOW - 5, **SIGN).body])
    assert check(lines).verdict is Verdict.BROKEN
    assert "purged" in alone(lines, tmp_path)[1]


def test_erased_leaves_leave_the_receipt_verifiable(tmp_path: Path) -> None:
    """Leaves that were erased with what they stood for do not break the file."""
    made = sealed_chain()
    bare = [export.ExportedReceipt(found.body) for found in made.receipts]
    assert check(made.lines(receipts=bare)).verdict is Verdict.VALID
    assert alone(made.lines(receipts=bare), tmp_path)[0] == 0


@given(st.integers(0, 48), st.integers(0, 10_000), st.integers(1, 255))
def test_any_changed_byte_is_found(number: int, position: int, change: int) -> None:
    """No byte of any line can be changed unnoticed, and no exception escapes."""
    lines = sealed_chain(20).lines()
    number %= len(lines)
    line = bytearray(lines[number])
    line[position % (len(line) - 1)] ^= change
    found = check([*lines[:number], bytes(line), *lines[number + 1 :]])
    assert found.verdict is Verdict.BROKEN


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_no_exception_for_any_lines(lines: list[bytes]) -> None:
    """Arbitrary lines are broken, or no export at all."""
    assert check(lines).verdict is Verdict.BROKEN


def test_stand_alone_verifier_imports_nothing_of_ours() -> None:
    """About 150 lines, the standard library and PyNaCl."""
    source = EXAMPLE.read_text()
    assert len(source.splitlines()) <= 160
    modules = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert modules - set(sys.stdlib_module_names) == {"nacl"}


@pytest.mark.parametrize("content", [b"", b"\n\n", b"[]\n", b"\xff\xfe\n", b"[" * 5000 + b"\n", b'{"type":"header"}\n'])
def test_stand_alone_verifier_survives_any_file(content: bytes, tmp_path: Path) -> None:
    """A file that is no export is broken, not a traceback."""
    assert alone([content], tmp_path)[0] == 1


@pytest.mark.parametrize("body", ["no JSON", "[]", '{"seq":9}'])
def test_a_record_that_is_none_is_located_by_both(body: str, tmp_path: Path) -> None:
    """Also where its hash was made to fit."""
    lines = sealed_chain().lines()
    digest = "sha256:" + hashlib.sha256(body.encode()).hexdigest()
    for changes in ({"body": body}, {"body": body, "hash": digest}):
        damaged = edited(lines, 9, **changes)
        assert (9, 9) in {(fault.first, fault.last) for fault in check(damaged).chain.faults}
        assert "record 9 " in alone(damaged, tmp_path)[1]


class Lines:
    """A long export that is made as it is read."""

    def __init__(self, made: Chain) -> None:
        self.made, self.size = made, 0

    def __iter__(self) -> Iterator[bytes]:
        self.size = 0
        for line in self.made.stream():
            self.size += len(line)
            yield line


def test_a_long_export_is_not_held() -> None:
    """Memory stays far under the size of the file."""
    made = chain(6_000)
    made.seal()
    lines = Lines(made)
    tracemalloc.start()
    try:
        found = export.verify_export(lines, **TRUST)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.verdict is Verdict.VALID
    assert peak < lines.size / 3, (peak, lines.size)
