"""audit, receipt, purge, sweep and keys as a person, a script or an auditor runs them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_command_line import crp, lines
from tests.proof.support import shared
from tests.relay.support import START, bench, order_rows, text_result

REPO = Path(__file__).resolve().parents[2]
NEEDLE = "Zorblatt-Quux-90417"


def rows(count: int = 400) -> str:
    made = order_rows(count)
    made[7]["city"] = NEEDLE
    return json.dumps(made)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store whose captures were made just now, so that nothing in it is too old; with a query over one."""
    with bench(tmp_path) as at:
        at.clock.at = float(int(time.time()))
        table = at.capture(text_result(rows())).entry.scratch_id
        at.capture(text_result("a short note"), tool="read_note")
        at.tool("scratch_query", sql=f"select city, count(*) as n from {table} group by city")
    return tmp_path / "store"


def edit(store: Path, *statements: str) -> None:
    """What somebody with the file in hand can do."""
    with closing(sqlite3.connect(store / "scratch.db")) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def verdict(store: Path, *more: str | Path, check: int) -> dict[str, Any]:
    return lines(crp("audit", "verify", "--store", store, "--json", *more, check=check))[0]


# -- audit


def test_an_untouched_store_is_valid(store: Path) -> None:
    """Every record, receipt and entry fits."""
    found = verdict(store, check=0)
    assert (found["verdict"], found["receipts"], found["entries"], found["faults"]) == ("VALID", 3, 3, [])
    assert b"VALID" in crp("audit", "verify", "--store", store).stdout


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE record SET body = replace(body, 'TOOL_CALL', 'TOOL_CALK') WHERE seq = 3", "record 3"),
        ("DELETE FROM record WHERE seq = 2", "2"),
        ("DELETE FROM record WHERE seq = (SELECT max(seq) FROM record)", "cut off"),
        ("DELETE FROM record", "cut off"),
        ("UPDATE record SET mac = (SELECT mac FROM record WHERE seq = 1) WHERE seq = 4", "record 4"),
        ("UPDATE record SET seq = seq + 1000 WHERE seq = 2", "2"),
        ("UPDATE entry SET provenance_hash = 'sha256:' || lower(hex(zeroblob(32))) WHERE seq = 1", "scratch_"),
        ("UPDATE receipt SET digest = 'sha256:' || lower(hex(zeroblob(32))) WHERE id = 1", "receipt"),
    ],
)
def test_tampering_is_found_and_located(store: Path, statement: str, message: str) -> None:
    """A changed, dropped, moved or re-signed record, a cut tail, an exchanged entry or receipt."""
    with closing(sqlite3.connect(store / "scratch.db")) as db:
        db.create_function("replace", 3, lambda body, old, new: body.replace(old.encode(), new.encode()))
        db.execute(statement)
        db.commit()
    found = verdict(store, check=1)
    assert found["verdict"] == "BROKEN"
    assert any(message in fault["message"] for fault in found["faults"]), found


def test_a_tail_cut_with_the_stores_own_head_is_found_by_a_checkpoint_kept_elsewhere(
    store: Path, tmp_path: Path
) -> None:
    """Without it everything fits again; with it the end is missing."""
    kept = tmp_path / "kept.json"
    kept.write_bytes(crp("audit", "checkpoint", "--store", store).stdout)
    edit(
        store,
        "DELETE FROM record WHERE seq > 2",
        "DELETE FROM checkpoint",
        "DELETE FROM leaf",
        "DELETE FROM receipt WHERE id > 1",
        "DELETE FROM payload WHERE id NOT IN (SELECT payload_id FROM entry ORDER BY seq LIMIT 1)",
        "DELETE FROM entry WHERE seq > (SELECT min(seq) FROM entry)",
        "DELETE FROM derivation",
        "UPDATE tally SET head_seq = 2, head_hash = (SELECT hash FROM record WHERE seq = 2) WHERE id = 0",
    )
    assert verdict(store, check=0)["verdict"] == "VALID"
    found = verdict(store, "--checkpoint", kept, check=1)
    assert "cut off" in found["note"]


def test_one_conversation_is_verified_by_its_own_key(store: Path) -> None:
    """Its MACs are checked, the others' are not."""
    assert verdict(store, "--conversation", "conv_test", check=0)["macs_checked"] == 6


def test_a_question_that_cannot_be_answered_is_no_verdict(store: Path, tmp_path: Path) -> None:
    """Exit code 4: a conversation that never was, with what is near to it; a wrong option; files that are not there."""
    typo = crp("audit", "verify", "--store", store, "--conversation", "conv_tset", check=4)
    assert b"no conversation 'conv_tset' in this store; did you mean 'conv_test'?" in typo.stderr
    for wrong in (("--nonsense",), ("--store", tmp_path / "none"), ("--checkpoint", tmp_path / "none")):
        assert not crp("audit", "verify", "--store", store, *wrong, check=4).stdout


def test_a_conversation_whose_records_were_taken_away_is_broken(store: Path) -> None:
    """It is not mistaken for one that never was."""
    edit(store, "DELETE FROM record WHERE seq > 1")
    assert verdict(store, "--conversation", "conv_gone", check=1)["verdict"] == "BROKEN"


def test_an_export_convinces_an_outsider_with_the_public_key_alone(store: Path, tmp_path: Path) -> None:
    """The stand-alone verifier and our own agree, before and after a purge; a changed byte convinces neither."""
    crp("purge", "--store", store, "--matching", NEEDLE, "--rows", "--json")
    export, key = tmp_path / "export.ndjson", crp("keys", "export", "--store", store).stdout.decode().strip()
    crp("audit", "export", "--store", store, "-o", export)
    text = export.read_bytes()
    assert NEEDLE.encode() not in text
    for damaged, code in ((False, 0), (True, 1)):
        if damaged:
            export.write_bytes(text.replace(b"TOMBSTONED", b"TOMBSTONER", 1))
        alone = [sys.executable, REPO / "examples" / "verify_audit.py", "--key", key, export]
        assert subprocess.run(alone, capture_output=True, check=False).returncode == code
        crp("audit", "verify", "--export", export, "--key", key, check=code)


def test_an_export_ends_with_a_checkpoint_over_its_head_and_a_seal(store: Path) -> None:
    """So that a cut tail shows."""
    written = lines(crp("audit", "export", "--store", store))
    head = written[0]["head"]
    marks = [json.loads(line["body"]) for line in written if line["type"] == "checkpoint"]
    assert (marks[-1]["seq"], marks[-1]["hash"]) == (head["seq"], head["hash"])
    assert written[-1]["type"] == "seal"


# -- receipt


def test_the_vectors_as_files_are_accepted_and_refused_with_their_reasons(tmp_path: Path) -> None:
    """Both receipts verify at their time; each input that must be rejected is, for a reason given beside it."""
    profile = json.loads(shared("eccr", "profile_vectors.json").read_bytes())
    for number, body in enumerate(profile["must_reject_hex"].values()):
        (tmp_path / f"{number}.json").write_bytes(bytes.fromhex(body))
    for name in ("first", "after_tombstone_of_item_2"):
        (tmp_path / f"{name}.json").write_bytes(bytes.fromhex(profile[name]["jcs_hex"]))
        (tmp_path / f"{name}.leaves").write_text("\n".join(map(json.dumps, profile[name]["items"])))
    asked = ["receipt", "verify", "--json", "--public-key", profile["public_key_hex"], "--now", "1793667600"]
    asked += ["--store", str(tmp_path / "no store")]
    bad = [tmp_path / f"{number}.json" for number in range(len(profile["must_reject_hex"]))]
    answers = lines(crp(*asked, *bad, check=1))
    assert [answer["file"] for answer in answers] == [str(path) for path in bad]
    for answer, name in zip(answers, profile["must_reject_hex"], strict=True):
        assert answer.keys() == {"file", "valid", "reason"}
        assert not answer["valid"]
        assert answer["reason"] in profile["must_reject_reason"][name], name
    for name in ("first", "after_tombstone_of_item_2"):
        good = lines(crp(*asked, "--leaves", tmp_path / f"{name}.leaves", tmp_path / f"{name}.json"))
        assert good == [{"file": str(tmp_path / f"{name}.json"), "valid": True, "reason": None}]
    other = lines(crp(*asked, "--leaves", tmp_path / "first.leaves", bad_pair := tmp_path / f"{name}.json", check=1))
    assert other == [{"file": str(bad_pair), "valid": False, "reason": "COUNT_MISMATCH"}]
    assert not (tmp_path / "no store").exists()


def shown(store: Path, tmp_path: Path, name: str) -> tuple[Path, Path]:
    receipt, leaves = tmp_path / "receipt.json", tmp_path / "leaves"
    receipt.write_bytes(crp("receipt", "show", name, "--store", store).stdout)
    leaves.write_bytes(crp("receipt", "show", name, "--leaves", "--store", store).stdout)
    return receipt, leaves


def ids(store: Path) -> dict[str, str]:
    found = lines(crp("scratch", "list", "--store", store, "--json"))[0]["entries"]
    return {entry["tool_name"]: entry["scratch_id"] for entry in found}


def test_a_receipt_is_shown_verified_and_proved(store: Path, tmp_path: Path) -> None:
    """What is printed verifies, with its leaves, and with the proof that a source is among them."""
    there = ids(store)
    receipt, leaves = shown(store, tmp_path, there["scratch_query"])
    proof = tmp_path / "proof.json"
    named = ("--item", there["read_query"], "--store", store)
    proof.write_bytes(crp("receipt", "prove", there["scratch_query"], *named).stdout)
    crp("receipt", "verify", receipt, "--leaves", leaves, "--proof", proof, "--store", store)
    wrong = json.loads(proof.read_bytes())
    wrong["tree_size"] = 2
    proof.write_text(json.dumps(wrong))
    answer = lines(crp("receipt", "verify", receipt, "--proof", proof, "--store", store, "--json", check=1))[0]
    assert answer["reason"] == "COUNT_MISMATCH"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("summary = summary || '!'", "OUTPUT_MISMATCH"),
        ("label = 'PUBLIC'", "CEILING_MISMATCH"),
        ("expires_at = expires_at + 1", "RETENTION_EXCEEDED"),
    ],
)
def test_a_receipt_that_says_something_else_than_its_entry_is_shown_as_not_valid(
    store: Path, change: str, reason: str
) -> None:
    """In the words of `scratch_get` with `view: "receipt"`."""
    name = ids(store)["read_query"]
    edit(store, f"UPDATE entry SET {change} WHERE tool_name = 'read_query'")
    answer = crp("receipt", "show", name, "--store", store, "--json", check=1)
    assert (lines(answer)[0]["valid"], lines(answer)[0]["reason"]) == (False, reason)


def test_every_refusal_is_signed_and_recorded_without_what_was_refused(store: Path, tmp_path: Path) -> None:
    """RECEIPT_REJECTED stands in the chain, the signed rejection in the store."""
    receipt, _ = shown(store, tmp_path, ids(store)["read_query"])
    forged = tmp_path / "forged.json"
    forged.write_bytes(receipt.read_bytes().replace(b"INTERNAL", b"PUBLIC"))
    answer = lines(crp("receipt", "verify", "--json", "--store", store, receipt, forged, check=1))
    assert [line["reason"] for line in answer] == [None, "BAD_SIGNATURE"]
    with closing(sqlite3.connect(store / "scratch.db")) as db:
        last = db.execute("SELECT body FROM record ORDER BY seq DESC LIMIT 1").fetchone()[0]
        kept = db.execute("SELECT body FROM rejection").fetchall()
    assert json.loads(last)["event_type"] == "RECEIPT_REJECTED"
    assert len(kept) == 1
    assert json.loads(kept[0][0])["reason"] == "BAD_SIGNATURE"
    assert verdict(store, check=0)["verdict"] == "VALID"


def test_a_receipt_of_what_was_purged_is_tombstoned(store: Path, tmp_path: Path) -> None:
    """Somebody who kept it is told that it is out of force."""
    name = ids(store)["read_query"]
    receipt, leaves = shown(store, tmp_path, name)
    crp("receipt", "verify", receipt, "--leaves", leaves, "--store", store)
    crp("purge", name, "--store", store, "--json")
    answer = lines(crp("receipt", "verify", receipt, "--store", store, "--json", check=1))[0]
    assert answer["reason"] == "TOMBSTONED"


# -- purge, sweep


def test_a_purge_is_shown_first_and_then_leaves_no_byte(store: Path) -> None:
    """The dry run lists the query made from the table; afterwards no file has the text."""
    there = ids(store)
    planned = lines(crp("purge", "--store", store, "--matching", NEEDLE, "--dry-run", "--json"))[0]
    assert {step["scratch_id"]: step["because"] for step in planned["steps"]} == {
        there["read_query"]: None,
        there["scratch_query"]: there["read_query"],
    }
    assert ids(store) == there
    done = lines(crp("purge", "--store", store, "--matching", NEEDLE, "--json"))[0]
    assert (set(done["purged"]), done["pending"]) == ({there["read_query"], there["scratch_query"]}, False)
    assert not [path for path in store.rglob("*") if path.is_file() and NEEDLE.encode() in path.read_bytes()]
    assert ids(store).keys() == {"read_note"}
    assert verdict(store, check=0)["verdict"] == "VALID"


def test_purges_that_choose_nothing_or_too_vaguely(store: Path) -> None:
    """No selection and --rows without a text are errors; a text nobody has is not."""
    assert b"nothing is chosen" in crp("purge", "--store", store, check=1).stderr
    assert b"--matching" in crp("purge", "--store", store, "--rows", "--tool", "x", check=1).stderr
    assert b"nothing is stored that fits" in crp("purge", "--store", store, "--matching", "nowhere").stderr


def test_a_sweep_purges_what_is_too_old(tmp_path: Path) -> None:
    """Captures of long ago have reached their epoch."""
    with bench(tmp_path) as at:
        at.clock.at = START - 400 * 86_400
        old = at.capture(text_result(f"a note on {NEEDLE}")).entry.scratch_id
    store = tmp_path / "store"
    assert lines(crp("sweep", "--store", store, "--json"))[0]["purged"] == [old]
    assert not [path for path in store.rglob("*") if path.is_file() and NEEDLE.encode() in path.read_bytes()]


def test_an_erasure_that_had_to_wait_is_said_to_be_finished(store: Path) -> None:
    """By the sweep that finishes it: it has nothing to purge itself, and does not answer with zeros alone."""
    with closing(sqlite3.connect(store / "scratch.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entry").fetchone()
        done = lines(crp("purge", "--store", store, "--matching", NEEDLE, "--json"))[0]
        assert (done["pending"], done["finished"]) == (True, 0)
    swept = crp("sweep", "--store", store).stdout.decode()
    assert "finished" in swept
    assert lines(crp("sweep", "--store", store, "--json"))[0]["finished"] == 0
    assert not [path for path in store.rglob("*") if path.is_file() and NEEDLE.encode() in path.read_bytes()]


def test_a_quick_audit_says_that_it_read_no_payload(store: Path) -> None:
    """The whole one finds a changed byte of a payload and names whose it is; the quick one says what it left out."""
    name = ids(store)["read_note"]
    edit(
        store,
        "UPDATE payload SET data = CAST(x'62' || substr(data, 2) AS BLOB) WHERE id = "
        f"(SELECT payload_id FROM entry WHERE scratch_id = '{name}')",
    )
    found = verdict(store, check=1)
    assert [(fault["kind"], fault["item"]) for fault in found["faults"]] == [("PAYLOAD", name)]
    quick = verdict(store, "--quick", check=0)
    assert (quick["verdict"], quick["payload_bytes"]) == ("VALID", 0)
    assert "not read" in quick["note"]


# -- keys


def test_keys_are_listed_rotated_exported_and_trusted(store: Path, tmp_path: Path) -> None:
    """The old public key stays, so that everything signed before still verifies."""
    first = lines(crp("keys", "list", "--store", store, "--json"))[0]["keys"]
    second = lines(crp("keys", "rotate", "--store", store, "--json"))[0]["keys"]
    crp("keys", "trust", "--store", store, "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    listed = lines(crp("keys", "list", "--store", store, "--json"))[0]["keys"]
    assert [key["role"] for key in listed] == ["current", "retired", "trusted"]
    assert [key["kid"] for key in listed[:2]] == [second[0]["kid"], first[0]["kid"]]
    exported = lines(crp("keys", "export", "--store", store, "--json"))[0]["keys"]
    assert set(exported) == {second[0]["kid"], first[0]["kid"]}
    receipt, _ = shown(store, tmp_path, ids(store)["read_query"])
    crp("receipt", "verify", receipt, "--store", store)
    assert verdict(store, check=0)["verdict"] == "VALID"


def test_one_file_that_cannot_be_read_takes_no_verdict_from_the_others(tmp_path: Path) -> None:
    """A line for each file, whatever the others are; an endless one is read no further than a receipt can be long."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "long.json").write_bytes(b" " * 200_000)
    files = (tmp_path / "none.json", folder, tmp_path / "long.json", Path("/dev/zero"))
    key = "197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61"
    found = lines(crp("receipt", "verify", "--json", "--public-key", key, *files, check=1))
    assert [one["reason"] for one in found] == ["UNREADABLE", "UNREADABLE", "TOO_LARGE", "TOO_LARGE"]
