"""Verify an audit export (`crp-mcp audit export`) without trusting crp-mcp: standard library and PyNaCl only.

    python verify_audit.py --key HEX [--key HEX ...] [--checkpoint FILE ...] export.ndjson

--key: a public key you have from the operator by another way than this file. --checkpoint: one from earlier: shows a
cut history. Exit codes: VALID 0, BROKEN 1, PARTIAL 2, UNVERIFIED 3, wrong option or file 4. Format: docs/proof.md.
"""

import argparse
import base64
import contextlib
import hashlib
import json
import sys
from pathlib import Path

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

HEADER, KINDS = ("header", "crp-audit-export", 1), {"header", "record", "checkpoint", "receipt", "tombstone", "seal"}
problems = []
sha = lambda data: "sha256:" + hashlib.sha256(data).hexdigest()  # noqa: E731
# RFC 8785 for what is signed here: ASCII names, strings and integers.
canonical = lambda value: json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()  # noqa: E731


def refuse(what):
    raise ValueError(what)


def parse(text):
    """One JSON object; duplicate members, fractions and NaN are refused."""
    once = lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else refuse("a member appears twice")  # noqa: E731
    value = json.loads(text, object_pairs_hook=once, parse_float=refuse, parse_constant=refuse)
    return value if isinstance(value, dict) else refuse("no JSON object")


def signed(text, keys, kind=None):
    """The content of a signed document, if one of `keys` signed exactly that and it is of this kind."""
    document = parse(text)
    content = {name: value for name, value in document.items() if name != "signature"}
    key = keys.get(content["kid"]) or refuse("signed with a key that is not trusted")
    if content["alg"] != "Ed25519" or content.get("type") != kind or canonical(document).decode() != text:
        refuse("not a canonical document of the expected kind")
    VerifyKey(key).verify(canonical(content), base64.urlsafe_b64decode(document["signature"] + "=="))
    return content


def merkle_root(leaves):
    """RFC 9162 §2.1.1, word for word."""
    half = 1 << (len(leaves) - 1).bit_length() >> 1
    whole = b"\x01" + merkle_root(leaves[:half]) + merkle_root(leaves[half:]) if half else b"\x00" + leaves[0]
    return hashlib.sha256(whole).digest()


def check_records(records, marks):
    """Walk the chain: order, links, hashes, checkpoints. The last record, the last that was sealed, receipts issued."""
    previous, last, sealed, issued = "", 0, 0, set()
    for record in records:
        body, seq = {}, record["seq"]
        with contextlib.suppress(ValueError):  # what is no JSON is no record of this number either
            body = parse(record["body"])
        if sha(record["body"].encode()) != record["hash"] or body.get("seq") != seq:
            problems.append(f"record {seq} was changed")
        if seq <= last:
            problems.append(f"record {seq} is out of order or repeated")
            continue
        if seq != last + 1:
            problems.append(f"records {last + 1} to {seq - 1} are missing")
        elif body.get("prev") != previous:
            problems.append(f"record {seq} does not follow record {last}")
        if marks.get(seq, record["hash"]) != record["hash"]:
            problems.append(f"records {sealed + 1} to {seq} are not those that were sealed at {seq}")
        sealed = seq if seq in marks else sealed
        if body.get("event_type") == "RECEIPT_ISSUED":
            issued.add(body["data"].get("receipt"))
        previous, last = record["hash"], seq
    if max(marks, default=0) > last:
        problems.append(f"records {last + 1} to {max(marks)} were cut off the end")
    return last, sealed, issued


def check_receipt(line, keys, lattice, issued, purged):
    """A receipt's signature, and everything that follows from its leaves (ECCR rules 1 to 3)."""
    receipt, leaves = signed(line["body"], keys), [parse(leaf) for leaf in line["leaves"]]
    if sha(line["body"].encode()) not in issued:
        refuse("no record says that it was issued")
    if not leaves:
        return  # they were erased with what they stood for; the receipt itself is still what was signed
    root = "sha256:" + merkle_root([canonical(leaf) for leaf in leaves]).hex()
    highest, issued_at = max((leaf["sensitivity"] for leaf in leaves), key=lattice.index), receipt["issued_at"]
    wrong = {
        "the leaves are not those it was issued over": len(leaves) != receipt["source_item_count"]
        or root != receipt["source_items_merkle_root"],
        "the ceiling is not the highest label of its sources": highest != receipt["inherited_sensitivity_ceiling"],
        "it outlives one of its sources": receipt["retention_purge_epoch"] > min(leaf["expires_at"] for leaf in leaves),
        "it is over a purged item": any(purged.get(leaf["item_digest"], issued_at) < issued_at for leaf in leaves),
    }
    for why in (why for why, so in wrong.items() if so):
        refuse(why)


def read(path, kind):
    """The lines of a kind, one at a time: the file is never held as a whole."""
    return (line for line in map(parse, path.open("rb")) if line["type"] == kind)


def check(path, trusted, kept):
    hashed, before, line, header = hashlib.sha256(), b"", {}, {}
    for text in path.open("rb"):
        line = parse(text)
        header = header or line
        if line["type"] not in KINDS or (header["type"], header["format"], header["v"]) != HEADER:
            refuse("no export, or a line in it of an unknown kind")
        hashed.update(before)
        before = text
    header = header or refuse("the file is empty")
    keys = {sha(key): key for key in trusted or map(bytes.fromhex, header["keys"].values())}
    bodies = [one["body"] for one in read(path, "checkpoint")] + kept
    marks = {mark["seq"]: mark["hash"] for mark in [signed(body, keys, "crp-checkpoint") for body in bodies]}
    last, sealed, issued = check_records(read(path, "record"), marks)
    if header["head"]["seq"] != last:
        problems.append("the header announces another number of records")
    stones = [signed(one["body"], keys, "eccr-tombstone") for one in read(path, "tombstone")]
    purged = {stone["item_digest"]: stone["time"] for stone in stones}
    for number, receipt in enumerate(read(path, "receipt"), 1):
        try:
            check_receipt(receipt, keys, header["lattice"], issued, purged)
        except (ValueError, BadSignatureError) as error:
            problems.append(f"receipt {number} of the file: {error}")
    seals = [signed(one["body"], keys, "crp-export-seal") for one in read(path, "seal")]
    whole = line["type"] == "seal" and seals[-1]["lines_hash"] == "sha256:" + hashed.hexdigest()
    if seals and (not whole or len(seals) > 1):
        problems.append("the file is not the one that was sealed: lines were changed, removed or added")
    return last, sealed, whole


parser = argparse.ArgumentParser()
parser.exit = lambda status=0, message=None: sys.exit(sys.stderr.write(message) and 4 if message else status)
parser.add_argument("--key", action="append", default=[], type=bytes.fromhex, metavar="HEX")
parser.add_argument("--checkpoint", action="append", default=[], type=Path)
parser.add_argument("file", type=Path)
asked = parser.parse_args()
try:
    kept = [path.read_text().strip() or parser.error(f"{path}: holds no checkpoint") for path in asked.checkpoint]
    last, sealed, whole = check(asked.file, asked.key, kept)
except OSError as error:
    parser.error(f"{error.filename}: cannot be read ({error.strerror})")
except (ValueError, LookupError, TypeError, AttributeError, RecursionError, BadSignatureError) as error:
    problems.append(f"not a well-formed export, or not signed with a trusted key: {error}")
if problems:
    print("BROKEN:", *problems[:20], sep="\n  ")
    sys.exit(1)
verdict, code = ("VALID", 0) if whole and sealed == last else ("PARTIAL", 2)
verdict, code = (verdict, code) if asked.key else ("UNVERIFIED, for want of a --key", 3)
print(f"{verdict}: {sealed} of {last} records are vouched for")
sys.exit(code)
