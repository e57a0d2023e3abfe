"""The draft's three rules and five parser invariants, each under its own name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.proof import lineage
from crp_mcp.proof.eccr import Item, ceiling_or_top, read_for_rule, verify
from crp_mcp.proof.lattice import DEFAULT_LATTICE
from crp_mcp.proof.merkle import root
from crp_mcp.proof.signed import sign_document
from tests.proof.support import LATER, NOW, OUTPUT, RING, TRUST, item, outcome, profile, reason_of, receipt

ITEMS = st.lists(
    st.builds(item, st.integers(0, 2**200), st.sampled_from(DEFAULT_LATTICE.labels), st.integers(NOW + 1, LATER)),
    min_size=1,
    max_size=12,
)

NOT_INTEGERS = [
    *("true", "false", "null", "0", "-0", "-1", "1.0", "5e0", "1E3", "9007199254740992", "1e1000", "1880000000.5"),
    *("NaN", "Infinity", "-Infinity", '"5"', "[5]", "0x5", "05", "9" * 400),
]


def lying(body: bytes, **changes: object) -> bytes:
    """A receipt whose issuer signed something that is not so."""
    document = {**json.loads(body), **changes}
    del document["signature"]
    return sign_document(document, sign=RING.sign)


@given(ITEMS)
def test_rule_1_least_upper_bound_label_inheritance(items: list[Item]) -> None:
    """The ceiling equals the highest label of the sources; any other signed ceiling, higher or lower, is refused."""
    made = receipt(*items)
    highest = max(items, key=lambda found: DEFAULT_LATTICE.labels.index(found.sensitivity)).sensitivity
    assert made.ceiling == highest
    for label in DEFAULT_LATTICE.labels:
        if label != highest:
            body = lying(made.body, inherited_sensitivity_ceiling=label)
            assert reason_of(lambda body=body: verify(body, now=NOW, leaves=made.leaves, **TRUST)) == "CEILING_MISMATCH"


def test_rule_1_unknown_label_of_a_source_counts_as_the_top() -> None:
    """A label nobody registered never lowers a ceiling."""
    made = receipt(item(1, "PUBLIC"), item(2, "top secret (custom)"))
    assert made.ceiling == "RESTRICTED"
    assert verify(made.body, now=NOW, leaves=made.leaves, **TRUST).receipt.ceiling == "RESTRICTED"


def test_rule_2_cryptographic_tombstone_propagation() -> None:
    """A purged source invalidates the artifact; the superseding receipt is over exactly what remains."""
    items = [item(1), item(2, "RESTRICTED"), item(3)]
    old = receipt(*items)
    purged = {items[1].digest}
    assert reason_of(lambda: verify(old.body, now=NOW, leaves=old.leaves, tombstoned=purged, **TRUST)) == "TOMBSTONED"
    rest = lineage.remaining(items, purged)
    new = receipt(*rest, output_hash="sha256:" + "0e" * 32, supersedes=old.digest)
    found = verify(new.body, now=NOW, leaves=new.leaves, tombstoned=purged, **TRUST)
    lineage.verify_superseding(found, old, items, purged)
    assert found.receipt.ceiling == "INTERNAL"


@given(ITEMS)
def test_rule_3_retention_ceiling_binding(items: list[Item]) -> None:
    """The epoch is the earliest expiry of the sources; a later signed one is refused, an earlier one is not."""
    made = receipt(*items)
    earliest = min(found.expires_at for found in items)
    assert made.purge_epoch == earliest
    late = lying(made.body, retention_purge_epoch=earliest + 1)
    assert reason_of(lambda: verify(late, now=NOW, leaves=made.leaves, **TRUST)) == "RETENTION_EXCEEDED"
    with pytest.raises(ValueError, match="outlive"):
        receipt(*items, purge_epoch=earliest + 1)
    early = receipt(*items, purge_epoch=earliest - 1, issued_at=NOW - 9)
    assert verify(early.body, now=NOW - 9, leaves=early.leaves, **TRUST).receipt.purge_epoch == earliest - 1


@pytest.mark.parametrize("name", sorted(json.loads(receipt(supersedes=OUTPUT).body)))
@pytest.mark.parametrize("escaped", [False, True])
def test_invariant_1_duplicate_key_rejection(name: str, escaped: bool) -> None:
    """Any member repeated, plainly or in another spelling, first or last, is refused at parse time."""
    body = receipt(supersedes=OUTPUT).body
    again = f"\\u{ord(name[0]):04x}{name[1:]}" if escaped else name
    member = f'"{again}":"PUBLIC"'.encode()
    for doubled in (body[:-1] + b"," + member + b"}", b"{" + member + b"," + body[1:]):
        assert reason_of(lambda doubled=doubled: verify(doubled, now=NOW, **TRUST)) == "DUPLICATE_KEY"


@pytest.mark.parametrize("name", ["source_item_count", "retention_purge_epoch"])
@pytest.mark.parametrize("token", NOT_INTEGERS)
def test_invariant_2_ieee754_finite_safe_integer_bounds(name: str, token: str) -> None:
    """Nothing but an exact integer token within [1, 2^53 - 1] is a count or an epoch."""
    document = json.loads(receipt().body)
    text = json.dumps({**document, name: "@"}).replace('"@"', token)
    expected = {"BAD_INTEGER", "MALFORMED_JSON"}
    assert reason_of(lambda: verify(text.encode(), now=NOW, **TRUST)) in expected


@pytest.mark.parametrize(
    "label",
    ["public", " PUBLIC", "PUBLIC ", "PUBLIC\n", "PUBLIC\x00", "PUB\u200bLIC", "РUBLIC", "SECRET", "", None, 1, []],
)
def test_invariant_3_strict_sensitivity_lattice_enumeration(label: object) -> None:
    """A ceiling that is not a registered label is refused, and the artifact is handled as the top."""
    body = lying(receipt(item(1, "PUBLIC")).body, inherited_sensitivity_ceiling=label)
    assert reason_of(lambda: verify(body, now=NOW, **TRUST)) == "BAD_LABEL"
    assert ceiling_or_top(body, now=NOW, **TRUST) == "RESTRICTED"
    assert ceiling_or_top(receipt(item(1, "PUBLIC")).body, now=NOW, **TRUST) == "PUBLIC"


@pytest.mark.parametrize("name", ["source_items_merkle_root", "compacted_output_hash"])
@pytest.mark.parametrize(
    "value",
    ["sha256:" + "A" * 64, "a" * 64, "sha256:" + "a" * 63, "sha256:" + "a" * 64 + "\n", "sha512:" + "a" * 64, 1],
)
def test_invariant_4_canonical_hex(name: str, value: object) -> None:
    """A hash is sha256: and 64 lower-case hex digits, to the last character."""
    assert reason_of(lambda: verify(lying(receipt().body, **{name: value}), now=NOW, **TRUST)) == "BAD_HASH"


def test_invariant_4_merkle_proof_binding_to_source_item_count() -> None:
    """A proof RFC 9162 alone accepts for several sizes is accepted only for the signed count."""
    case = profile()["proof_size_ambiguity"]
    made = receipt(*[item(number) for number in range(8)])
    proof = lineage.prove(made.leaves, 0)
    found = verify(made.body, now=NOW, **TRUST)
    reasons = {
        size: outcome(
            lambda size=size: lineage.verify_inclusion(
                found, lineage.InclusionProof(proof.leaf, proof.index, size, proof.path)
            )
        )[1]
        for size in case["rfc9162_accepts_sizes"]
    }
    assert [size for size, reason in reasons.items() if reason is None] == case["eccr_accepts_sizes"]
    assert set(reasons.values()) == {None, "COUNT_MISMATCH"}
    assert root([bytes.fromhex(leaf) for leaf in case["leaves_hex"]]).hex() == case["root"]


def test_invariant_5_evidence_to_rule_byte_binding() -> None:
    """A rule gets ceiling and epoch only out of the verified bytes that were cited."""
    made = receipt(item(1, "CONFIDENTIAL"), item(2, expires_at=NOW + 50))
    evidence = read_for_rule(made.body, cited_digest=made.digest, now=NOW, **TRUST)
    assert (evidence.ceiling, evidence.purge_epoch, evidence.digest) == ("CONFIDENTIAL", NOW + 50, made.digest)
    other = receipt(item(1, "PUBLIC"))
    assert reason_of(lambda: read_for_rule(other.body, cited_digest=made.digest, now=NOW, **TRUST)) == "BAD_HASH"
    forged = made.body.replace(b"CONFIDENTIAL", b"PUBLIC")
    assert reason_of(lambda: read_for_rule(forged, cited_digest=made.digest, now=NOW, **TRUST)) == "BAD_SIGNATURE"
    purged = {made.output_hash}
    refuse = lambda: read_for_rule(made.body, cited_digest=made.digest, now=NOW, tombstoned=purged, **TRUST)  # noqa: E731
    assert reason_of(refuse) == "TOMBSTONED"
    assert reason_of(lambda: read_for_rule(made.body, cited_digest=made.digest, now=NOW + 50, **TRUST)) == "EXPIRED"
