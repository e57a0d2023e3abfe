"""Verify an audit export (`crp-mcp audit export`) without trusting crp-mcp: standard library and PyNaCl only.

    python verify_audit.py --key HEX [--key HEX ...] [--checkpoint FILE ...] export.ndjson

--key: a public key you have from the operator by another way than this file. --checkpoint: a signed checkpoint kept
from earlier; it shows a history that was cut or exchanged since. Prints VALID, PARTIAL, UNVERIFIED or BROKEN (exit
code 0, 2, 3, 1) and what was found. The format is described in docs/proof.md.
"""

import argparse
import base64
import hashlib
import json
import sys
from pathlib import Path

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

problems = []


def sha(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def refuse(what):
    raise ValueError(what)


def parse(text):
    """One JSON object; duplicate members, fractions and NaN are refused."""
    once = lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else refuse("a member appears twice")  # noqa: E731
    value = json.loads(text, object_pairs_hook=once, parse_float=refuse, parse_constant=refuse)
    return value if isinstance(value, dict) else refuse("no JSON object")


def canonical(value):
    """RFC 8785 for what is signed here: ASCII names, strings and integers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


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
        body, seq = parse(record["body"]), record["seq"]
        if sha(record["body"].encode()) != record["hash"] or body["seq"] != seq:
            problems.append(f"record {seq} was changed")
        if seq <= last:
            problems.append(f"record {seq} is out of order or repeated")
            continue
        if seq != last + 1:
            problems.append(f"records {last + 1} to {seq - 1} are missing")
        elif body["prev"] != previous:
            problems.append(f"record {seq} does not follow record {last}")
        if marks.get(seq, record["hash"]) != record["hash"]:
            problems.append(f"records {sealed + 1} to {seq} are not those that were sealed at {seq}")
        sealed = seq if seq in marks else sealed
        if body["event_type"] == "RECEIPT_ISSUED":
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
    if (len(leaves), root) != (receipt["source_item_count"], receipt["source_items_merkle_root"]):
        refuse("the leaves are not those it was issued over")
    if max((leaf["sensitivity"] for leaf in leaves), key=lattice.index) != receipt["inherited_sensitivity_ceiling"]:
        refuse("the ceiling is not the highest label of its sources")
    if receipt["retention_purge_epoch"] > min(leaf["expires_at"] for leaf in leaves):
        refuse("it outlives one of its sources")
    if any(purged.get(leaf["item_digest"], receipt["issued_at"]) < receipt["issued_at"] for leaf in leaves):
        refuse("it was issued over an item that had been purged")


def check(lines, trusted, kept):
    parts = {kind: [] for kind in ("header", "record", "checkpoint", "receipt", "tombstone", "seal")}
    for line in lines:
        parts[parse(line)["type"]].append(parse(line))
    header = parse(lines[0])
    if (header["type"], header["format"], header["v"]) != ("header", "crp-audit-export", 1):
        refuse("the first line is not the header of an export")
    keys = {sha(bytes.fromhex(key)): bytes.fromhex(key) for key in trusted or header["keys"].values()}
    bodies = [line["body"] for line in parts["checkpoint"]] + kept
    marks = {mark["seq"]: mark["hash"] for mark in [signed(body, keys, "crp-checkpoint") for body in bodies]}
    if header["head"]["seq"] != len(parts["record"]):
        problems.append("the header announces another number of records")
    last, sealed, issued = check_records(parts["record"], marks)
    stones = (signed(line["body"], keys, "eccr-tombstone") for line in parts["tombstone"])
    purged = {stone["item_digest"]: stone["time"] for stone in stones}
    for number, line in enumerate(parts["receipt"], 1):
        try:
            check_receipt(line, keys, header["lattice"], issued, purged)
        except (ValueError, BadSignatureError) as error:
            problems.append(f"receipt {number} of the file: {error}")
    for seal in [signed(line["body"], keys, "crp-export-seal") for line in parts["seal"]]:
        if parse(lines[-1])["type"] != "seal" or seal["lines_hash"] != sha(b"".join(lines[:-1])):
            problems.append("the file is not the one that was sealed: lines were changed, removed or added")
    return last, sealed, bool(parts["seal"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--key", action="append", default=[])
    parser.add_argument("--checkpoint", action="append", default=[], type=Path)
    parser.add_argument("file", type=Path)
    asked = parser.parse_args()
    lines, kept = asked.file.read_bytes().splitlines(True), [path.read_text().strip() for path in asked.checkpoint]
    try:
        last, sealed, whole = check(lines, asked.key, kept)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, BadSignatureError) as error:
        problems.append(f"not a well-formed export, or not signed with a trusted key: {error}")
    if problems:
        print("BROKEN:", *problems[:20], sep="\n  ")
        return 1
    verdict, code = ("VALID", 0) if whole and sealed == last else ("PARTIAL", 2)
    verdict, code = (verdict, code) if asked.key else ("UNVERIFIED, for want of a --key", 3)
    print(f"{verdict}: {sealed} of {last} records are vouched for")
    return code


sys.exit(main())
