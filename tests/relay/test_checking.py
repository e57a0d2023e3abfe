"""`verify_claims`: what an answer says against what is stored, what is recorded of it, and what is not shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.core.model import Scope, Volatility
from crp_mcp.core.safety import POLICY_KEY
from crp_mcp.mcp.tools.definitions import VERIFY_CLAIMS
from crp_mcp.proof.chain import salted_digest, salted_hash
from crp_mcp.proof.chain_verify import Verdict
from crp_mcp.relay.using import Ask
from tests.relay.support import Bench, bench, order_rows, text_result, texts

HEADER = "CRP-Safety-Tool-Attribution"
RIGHT = "There are 1,000 orders."
WRONG = "There are 254 orders in Rome."


def orders(at: Bench, count: int = 1_000, **job: Any) -> str:
    return at.capture(text_result(json.dumps(order_rows(count))), **job).entry.scratch_id


def header(result: dict[str, Any]) -> str | None:
    return result["_meta"]["dev.crp/headers"].get(HEADER)


def test_a_wrong_figure_comes_back_with_the_right_one(at: Bench) -> None:
    """A line a claim, what is wrong first; computed over all rows, not over those that were shown."""
    made = orders(at)
    result = at.tool("verify_claims", text=f"{RIGHT} {WRONG}")
    line, data = texts(result)
    assert line == "2 claims: 1 supported, 1 contradicted"
    first, second = data.splitlines()
    assert first.startswith(f'contradicted NUMBER_CHANGED: "{WRONG}": stated 254, found 250 [{made}]; computed: SELECT')
    assert second == f'supported: "{RIGHT}": found 1000 [{made}]'
    assert header(result) == "2/1"
    assert not result["isError"]


def test_what_was_computed_can_be_run_by_the_reader(at: Bench) -> None:
    """The SQL in the answer is one that `scratch_query` takes."""
    orders(at)
    wrong = texts(at.tool("verify_claims", text=WRONG))[1]
    answer = at.tool("scratch_query", sql=wrong.split("computed: ")[1].strip())
    assert texts(answer)[1].split() == ["COUNT(*)", "250"]


def test_every_decided_claim_is_in_the_audit_chain_without_its_words(at: Bench) -> None:
    """Hashes are salted with the entry's salt, and the chain still verifies."""
    made = orders(at)
    at.tool("verify_claims", text=f"{RIGHT} {WRONG} The weather is nice in Paris.")
    salt, entry = at.engine.store.salt(at.scope, made), at.entry(made)
    expected = {"scratch_id": made, "provenance_hash": salted_digest(salt, entry.provenance_hash)}
    checked = [("supported", RIGHT), ("contradicted", WRONG)]
    assert at.events("TOOL_CLAIM_CHECKED") == [
        {**expected, "claim_hash": salted_hash(salt, words.encode()), "verdict": verdict} for verdict, words in checked
    ]
    hashed = salted_hash(salt, WRONG.encode())
    assert at.events("DISTORTION_DETECTED") == [{**expected, "claim_hash": hashed, "distortion": "NUMBER_CHANGED"}]
    assert not any(b"Rome" in record.body for record in at.engine.store.records())
    assert at.engine.auditor.verify().verdict is Verdict.VALID


def test_a_check_is_part_of_the_history(at: Bench) -> None:
    """`query_history` of kind claim finds both records."""
    orders(at)
    at.tool("verify_claims", text=WRONG)
    shown = texts(at.tool("query_history", kind="claim"))[1]
    assert "TOOL_CLAIM_CHECKED" in shown
    assert "DISTORTION_DETECTED" in shown


def test_nothing_to_check_has_no_attribution(at: Bench) -> None:
    """The header is absent where nothing was checked."""
    result = at.tool("verify_claims", text="Shall I go on?")
    assert texts(result) == ["the text claims nothing that can be checked"]
    assert header(result) is None


def test_only_the_named_results_are_evidence(at: Bench) -> None:
    """By id, by name or by URI; a claim about another one is left undecided."""
    first, second = orders(at), orders(at, 20)
    at.tool("scratch_pin", scratch_id=second, name="few")
    for reference in (second, "few", f"scratch://{second}"):
        shown = texts(at.tool("verify_claims", text="There are 20 orders.", scratch_ids=[reference]))[1]
        assert shown.startswith("supported")
        assert f"[{second}]" in shown
    cited = at.tool("verify_claims", text=f"There are 20 orders [{first}].", scratch_ids=[second])
    assert header(cited) == "0/0"


def test_a_cited_result_is_found_however_old_it_is(at: Bench) -> None:
    """A citation reaches beyond the newest results; one that never existed is said to be unknown."""
    made = orders(at, 20)
    for number in range(55):
        at.capture(text_result(f"note {number}"), arguments={"n": number})
    shown = texts(at.tool("verify_claims", text=f"There are 21 orders [{made}]. There are 9 cats [scratch_sql_777]."))
    assert "contradicted NUMBER_CHANGED" in shown[1]
    assert "cites scratch_sql_777, which does not exist; citation unknown" in shown[1]
    assert shown[0].endswith("1 with a citation missing, wrong or unknown")


def test_a_citation_is_required_by_argument_or_by_the_operator(at: Bench, tmp_path: Path) -> None:
    """`require_citation`, or `tool-provenance=required` in the policy of operator or request."""
    made = orders(at)
    asked = at.tool("verify_claims", text=RIGHT, require_citation=True)
    by_request = at.ask("verify_claims", text=RIGHT, meta={POLICY_KEY: "tool-provenance=required"})
    for result in (asked, by_request):
        assert texts(result)[1].strip().endswith("citation missing")
    assert "citation" not in texts(at.tool("verify_claims", text=RIGHT))[1]
    cited = at.tool("verify_claims", text=f"There are 1,000 orders [{made}].", require_citation=True)
    assert "citation" not in texts(cited)[1]
    (tmp_path / "strict").mkdir()
    with bench(tmp_path / "strict", policy="tool-provenance=required") as strict:
        orders(strict)
        assert texts(strict.ask("verify_claims", text=RIGHT))[1].strip().endswith("citation missing")


def test_what_is_above_the_clearance_decides_nothing(tmp_path: Path) -> None:
    """Neither by being there, nor by being cited, nor by being named; withholding is recorded."""
    with bench(tmp_path, clearance=(("*", "INTERNAL"),)) as at:
        made = orders(at, policy={"sensitivity": "RESTRICTED"})
        for text in (WRONG, f"There are 254 orders in Rome [{made}]."):
            result = at.tool("verify_claims", text=text)
            assert header(result) == "0/0"
            assert "250" not in texts(result)[1]
            assert "does not exist" not in texts(result)[1]
        named = at.tool("verify_claims", text=WRONG, scratch_ids=[made])
        assert named["structuredContent"] == {"code": "WITHHELD"}
        assert len(at.events("WITHHELD")) >= 3
        assert at.events("TOOL_CLAIM_CHECKED") == []


def test_a_stale_result_is_never_held_up_as_current(at: Bench) -> None:
    """The verdict says how old its evidence is, and the use is recorded."""
    orders(at)
    at.clock.at += 3_600
    result = at.tool("verify_claims", text=RIGHT)
    assert "NOTE: scratch_readquery_001" in texts(result)[1]
    assert result["_meta"]["dev.crp/headers"]["CRP-Context-Scratch-Freshness"].startswith("stale")
    assert len(at.events("STALE_USED")) == 1


def test_an_erased_result_is_no_evidence_any_more(at: Bench) -> None:
    """Nor is what was remembered of it; that it existed is known."""
    made = orders(at)
    assert header(at.tool("verify_claims", text=WRONG)) == "1/1"
    at.tool("scratch_forget", scratch_id=made)
    assert at.engine.checking.checker()._kept == {}
    result = at.tool("verify_claims", text=f"There are 254 orders in Rome [{made}].")
    assert header(result) == "0/0"
    assert "does not exist" not in texts(result)[1]


def test_results_of_another_conversation_count_only_where_they_are_named(at: Bench) -> None:
    """And the record of the check is this conversation's."""
    made = orders(at)
    other = Scope(at.scope.tenant, at.scope.project, "conv_other")
    checker = at.engine.checking.checker()
    assert checker.check(Ask(other), WRONG).attributed == 0
    assert checker.check(Ask(other), WRONG, [made]).distorted == 1
    sessions = [json.loads(r.body)["session_id"] for r in at.engine.store.records() if b"TOOL_CLAIM" in r.body]
    assert sessions == ["conv_other"]


def test_an_answer_keeps_within_its_tokens(at: Bench) -> None:
    """What does not fit is counted; the wrong claims are those that are given."""
    orders(at)
    text = " ".join([*["There are 250 orders in Oslo."] * 60, WRONG])
    result = at.tool("verify_claims", text=text, max_tokens=200)
    line, data = texts(result)
    assert at.engine.counter().count(data) <= 200
    assert data.startswith("contradicted")
    assert line.endswith(f"{61 - len(data.splitlines())} more with max_tokens")


ELSEWHERE = """I fixed 3 files and ran 2 commands. There are 20 customers in the CRM. The README has 40 lines. I
created 4 tests. The function takes 5 arguments. We have 5 steps left. Refunds took 14 days last
year. The ticket #4521 was closed. The meeting is on March 3. The city of Paris has 2 million
people. The database has 3 tables. I sent 2 emails to Ann. The server listens on port 8080. I've
read 9 pages. Then we renamed 2 columns."""


def test_what_is_said_of_other_things_is_no_distortion(at: Bench) -> None:
    """Results that merely are there are not held against what an answer says of the world, or of what it did."""
    people = [{"name": "Ann", "role": "admin", "logins": 12}, {"name": "Bo", "role": "user", "logins": 3}]
    orders(at)
    at.capture(text_result(json.dumps(people)), tool="list_users")
    at.capture(text_result("=== 12 passed, 2 failed in 1.2s ==="), tool="Bash", arguments={"command": "pytest"})
    checked = at.engine.checking.checker().check(Ask(at.scope), ELSEWHERE)
    assert [verdict.claim.text for verdict in checked.verdicts if verdict.distortion] == []
    wrong = ("All tests pass.", "Bo has 4 logins.", "Bo is an admin.", "There are 999 orders.")
    assert at.engine.checking.checker().check(Ask(at.scope), " ".join(wrong)).distorted == len(wrong)


LASTING = {"volatility": Volatility.STATIC, "ttl": None}


def verdicts(at: Bench, text: str, scope: Scope | None = None) -> list[tuple[str, str, list[str]]]:
    """Outcome, attribution and what it rests on, of each claim."""
    checked = at.engine.checking.checker().check(Ask(scope or at.scope), text)
    return [(str(v.outcome), str(v.attribution), [f.scratch_id for f in v.findings]) for v in checked.verdicts]


def test_a_fact_of_the_project_is_evidence_in_another_conversation(at: Bench) -> None:
    """As CONTEXT_GROUNDED, over the whole result it was taken from; it is none of the tools' claims."""
    made = orders(at, policy=LASTING)
    at.tool("scratch_pin", scratch_id=made, promote=True)
    other = Scope(at.scope.tenant, at.scope.project, "conv_other")
    assert verdicts(at, "There are 250 orders in Rome.", other) == [("supported", "CONTEXT_GROUNDED", ["fact:1"])]
    assert verdicts(at, WRONG, other) == [("contradicted", "CONTEXT_GROUNDED", ["fact:1"])]
    checked = at.engine.checking.checker().check(Ask(other), WRONG)
    assert (checked.attributed, checked.distorted) == (0, 0)
    assert f'"{made}"' in checked.verdicts[0].findings[0].computed
    assert verdicts(at, WRONG)[0][1:] == ("TOOL_GROUNDED", [made])


def test_a_fact_whose_source_is_withheld_grounds_nothing(tmp_path: Path) -> None:
    """Promotion opens no way around a label."""
    with bench(tmp_path) as at:
        made = orders(at, policy={**LASTING, "sensitivity": "RESTRICTED"})
        at.tool("scratch_pin", scratch_id=made, promote=True)
    with bench(tmp_path, clearance=(("*", "INTERNAL"),)) as at:
        other = Scope(at.scope.tenant, at.scope.project, "conv_other")
        assert verdicts(at, WRONG, other)[0][0] == "unverifiable"


def test_what_the_user_said_is_evidence_in_this_conversation(at: Bench) -> None:
    """As CONVERSATION_GROUNDED; what was said last holds, and what the model said proves nothing."""
    at.tool("record_turn", role="user", text="My travel budget is 400 euros. Is the hotel budget 90 euros?", turn=1)
    at.tool("record_turn", role="assistant", text="The cabin deposit is 75 euros.", turn=2)
    at.tool("record_turn", role="user", text="My travel budget is 500 euros.", turn=3)
    said = "Your travel budget is 500 euros. Your travel budget is 400 euros. The cabin deposit is 75 euros."
    found = verdicts(at, said)
    assert found[0] == ("supported", "CONVERSATION_GROUNDED", ["turn:3"])
    assert found[1] == ("contradicted", "CONVERSATION_GROUNDED", ["turn:3"])
    assert found[2][0] == "unverifiable"
    assert verdicts(at, "The hotel budget is 90 euros.")[0][0] == "unverifiable"
    other = Scope(at.scope.tenant, at.scope.project, "conv_other")
    assert verdicts(at, "Your travel budget is 500 euros.", other)[0][0] == "unverifiable"


def test_a_result_comes_before_what_was_said(at: Bench) -> None:
    """A user's words do not bear out what a result contradicts; where both say so the attribution is MIXED."""
    made = orders(at)
    at.tool("record_turn", role="user", text="There are 254 orders in Rome. There are 250 orders in Oslo.", turn=1)
    assert verdicts(at, WRONG) == [("contradicted", "TOOL_GROUNDED", [made])]
    assert verdicts(at, "There are 250 orders in Oslo.") == [("supported", "MIXED", [made, "turn:1"])]


def test_the_rows_of_an_answer_to_a_query_are_not_those_it_was_asked_of(at: Bench) -> None:
    """A query's answer is no second evidence: its rows contradict nothing that its source bears out."""
    made = orders(at)
    by_city = f'select city, count(*) as n from "{made}" group by city'
    asked = at.tool("scratch_query", sql=by_city)["structuredContent"]["scratch_id"]
    assert verdicts(at, "There are 1,000 orders.") == [("supported", "TOOL_GROUNDED", [made])]
    assert verdicts(at, "There are 4 orders.") == [("contradicted", "TOOL_GROUNDED", [made])]
    assert verdicts(at, f"There are 4 rows [{asked}].") == [("supported", "TOOL_GROUNDED", [asked])]


def test_what_nothing_bears_on_is_the_speakers_own_knowledge(at: Bench) -> None:
    """PARAMETRIC: no result, fact or turn shares a name or a value with it."""
    orders(at)
    assert verdicts(at, "Mount Elbrus rises in the western Caucasus.") == [("unverifiable", "PARAMETRIC", [])]
    assert verdicts(at, "I fixed the build.")[0][1] == "UNVERIFIABLE"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`text` is required"),
        ({"text": "x", "scratch_ids": 3}, "must be a list of strings"),
        ({"text": "x", "scratch_ids": ["scratch_sql_999"]}, "scratch_sql_999"),
        ({"text": "x", "ids": ["a"]}, "unknown argument"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(at: Bench, arguments: dict[str, Any], said: str) -> None:
    """As a tool error that a model can act on."""
    result = at.tool("verify_claims", **arguments)
    assert result["isError"]
    assert said in texts(result)[0]


def test_the_definition_is_short_and_says_that_it_only_reads(at: Bench) -> None:
    """At most 100 tokens of name, description and schema."""
    shown = {key: VERIFY_CLAIMS[key] for key in ("name", "description", "inputSchema")}
    assert at.engine.counter().count(json.dumps(shown, separators=(",", ":"))) <= 100
    assert VERIFY_CLAIMS["annotations"]["readOnlyHint"]
