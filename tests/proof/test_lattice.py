"""Labels: a total order in which nothing unknown ever counts as low."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.proof.lattice import DEFAULT_LATTICE, Lattice, is_label_name
from crp_mcp.relay.labels import label_of

LABEL = st.sampled_from(DEFAULT_LATTICE.labels)


@given(LABEL, LABEL, LABEL)
def test_join_is_a_least_upper_bound(a: str, b: str, c: str) -> None:
    """Commutative, associative, idempotent, and dominating both."""
    join = DEFAULT_LATTICE.join
    assert join((a, b)) == join((b, a))
    assert join((join((a, b)), c)) == join((a, join((b, c))))
    assert join((a, a)) == a
    assert DEFAULT_LATTICE.rank(join((a, b))) == max(DEFAULT_LATTICE.rank(a), DEFAULT_LATTICE.rank(b))


@given(st.text() | st.none() | st.integers(), LABEL)
def test_unknown_label_counts_as_top(label: object, other: str) -> None:
    """Whatever is not a label of the lattice is handled as the most restricted one."""
    if not DEFAULT_LATTICE.knows(label):
        assert DEFAULT_LATTICE.effective(label) == "RESTRICTED"
        assert DEFAULT_LATTICE.join((other, label)) == "RESTRICTED"


def test_hint_only_raises() -> None:
    """A label from outside can make an item more sensitive, never less."""
    assert label_of("CONFIDENTIAL", ["PUBLIC"], DEFAULT_LATTICE) == "CONFIDENTIAL"
    assert label_of("INTERNAL", ["CONFIDENTIAL", "PUBLIC"], DEFAULT_LATTICE) == "CONFIDENTIAL"
    assert label_of("INTERNAL", ["made up"], DEFAULT_LATTICE) == "RESTRICTED"


def test_clearance() -> None:
    """A clearance covers its own label and those below; an unknown one covers only the lowest."""
    assert DEFAULT_LATTICE.clears("CONFIDENTIAL", "INTERNAL")
    assert DEFAULT_LATTICE.clears("CONFIDENTIAL", "CONFIDENTIAL")
    assert not DEFAULT_LATTICE.clears("CONFIDENTIAL", "RESTRICTED")
    assert not DEFAULT_LATTICE.clears("CONFIDENTIAL", "unheard of")
    assert DEFAULT_LATTICE.clears("unheard of", "PUBLIC")
    assert not DEFAULT_LATTICE.clears("unheard of", "INTERNAL")
    assert not DEFAULT_LATTICE.clears(None, "INTERNAL")


@pytest.mark.parametrize("labels", [(), ("A", "A"), ("low",), ("A ",), ("A\n",), ("Ä",), ("",), ("1A",)])
def test_refuses_a_lattice_that_is_none(labels: tuple[str, ...]) -> None:
    """Empty, repeated or misspelled labels are refused when the lattice is made."""
    with pytest.raises(ValueError):
        Lattice(labels)


def test_no_labels_have_no_join() -> None:
    """Nothing has no sensitivity, so it cannot be called the lowest."""
    with pytest.raises(ValueError):
        DEFAULT_LATTICE.join(())


def test_label_names_are_upper_case_ascii() -> None:
    """Look-alikes, white space and control characters are not names."""
    assert is_label_name("HIGHLY_CONFIDENTIAL")
    for text in ("public", "PUBLIC ", "\tPUBLIC", "PUBLIC\n", "PUBLIC\x00", "РUBLIC", "PUB\u200bLIC", "", None, 1):
        assert not is_label_name(text)
