"""SPEC-029 and our decisions on it, sentence by sentence: where it stands, what it says, which test shows it."""

from __future__ import annotations

from typing import NamedTuple

LIFE = "relay/test_life.py"
OWN = "relay/test_own_tools.py"
CAPTURE = "relay/test_capture.py"
SUMMARY = "core/test_summary.py"
PROPERTIES = "core/test_summary_properties.py"
REFERENCES = "core/test_references.py"
SAFETY = "core/test_safety.py"
CLAIMS = "core/claims/test_checking.py"
OUTCOMES = "core/claims/test_outcomes.py"
CHECKING = "relay/test_checking.py"
CONTRACT = "store/test_contract.py"
CHAIN = "proof/test_audit_chain.py"
REGISTRY = "core/test_registry.py"
CONTEXT = "relay/test_context.py"
REFRESH = "e2e/test_refreshing.py"


class Row(NamedTuple):
    """One sentence (or the part of one that can be tested), and the tests that show it."""

    section: str
    sentence: str
    tests: tuple[str, ...]


def row(section: str, sentence: str, *tests: str) -> Row:
    return Row(section, sentence, tests)


SPEC_029 = (
    row(
        "2.1",
        'addressable ID, e.g. "scratch_sql_001"',
        f"{CONTRACT}::test_ids_count_up_for_each_tenant_and_are_never_used_twice",
    ),
    row(
        "2.1", "full output, stored but rarely injected", f"{CAPTURE}::test_a_flood_becomes_one_summary_within_the_cap"
    ),
    row("2.1", "turn_ids that used this", f"{LIFE}::test_decisions_and_references_are_in_the_turn_log"),
    row(
        "2.1",
        "hash of raw_output for attribution",
        f"{CAPTURE}::test_a_small_result_goes_on_untouched_and_is_stored_exactly",
    ),
    row(
        "2.2",
        "the envelope receives only the summary (§3) unless the raw output is explicitly referenced and fresh",
        f"{CAPTURE}::test_a_flood_becomes_one_summary_within_the_cap",
        f"{OWN}::test_a_stale_result_is_given_with_a_note_of_its_age",
    ),
    row(
        "2.2",
        "those rows are retrieved from the buffer on demand",
        f"{OWN}::test_rows_come_in_pages_that_join_to_all_of_them",
    ),
    row("3.1", "Schema + row count + value ranges + N sample rows", f"{SUMMARY}::test_a_table"),
    row("3.1", "Key structure + value types + key values extracted", f"{SUMMARY}::test_an_object"),
    row("3.1", "Count + type + first/last N items", f"{SUMMARY}::test_a_list"),
    row("3.1", "The value directly (no summarisation needed)", f"{SUMMARY}::test_a_scalar"),
    row("3.1", "Extractive summary (first sentence + key entities)", f"{SUMMARY}::test_prose"),
    row(
        "3.1",
        "Full error message (errors are always small and critical)",
        f"{SUMMARY}::test_a_short_error_is_shown_whole",
        f"{SUMMARY}::test_a_long_error_keeps_its_last_lines",
    ),
    row(
        "3.2",
        "Tool output summarisation MUST be deterministic (schema extraction, counting, sampling) - NOT a model call",
        "core/test_summary_cases.py::test_the_same_summaries_in_another_process",
    ),
    row(
        "3.3",
        "Each scratch summary has a hard token cap (default: 256 tokens)",
        "core/test_summary_cases.py::test_every_summary_is_within_the_cap_and_safe",
        f"{PROPERTIES}::test_any_bytes_whatever_make_a_safe_summary",
    ),
    row(
        "3.3",
        "A summary exceeding the cap is further compressed (fewer sample rows, tighter ranges)",
        f"{SUMMARY}::test_a_table_under_pressure",
    ),
    row(
        "4.1",
        "The Scratch Buffer assigns each entry a freshness TTL based on the tool's volatility class",
        f"{REGISTRY}::test_ttl_follows_volatility",
    ),
    row("4.1", "declares each tool's volatility class", f"{REGISTRY}::test_every_field_is_read"),
    row(
        "4.2",
        "the assembler MUST NOT inject the stale value as if current",
        "relay/test_life_machine.py::TestLife",
        f"{CONTEXT}::test_stale_results_carry_their_note_and_realtime_ones_only_a_call_for_fresh_data",
    ),
    row(
        "4.2",
        "Re-invokes the tool (if the dispatch strategy permits and the same call would be made) to refresh",
        f"{REFRESH}::test_a_stale_reading_is_read_again_from_its_server",
        f"{LIFE}::test_a_stale_reading_asks_for_its_tool_to_be_called_where_that_can_be_done",
    ),
    row(
        "4.2",
        "NOTE: This result is from 4 minutes ago and may be outdated",
        f"{LIFE}::test_other_classes_warn_with_their_age_and_keep_the_summary",
    ),
    row(
        "4.2",
        "Excludes it and flags that fresh data is needed",
        f"{LIFE}::test_a_stale_reading_that_cannot_be_read_again_is_left_out",
    ),
    row(
        "4.2",
        "The choice is governed by Safety Policy (§8)",
        f"{LIFE}::test_the_operators_policy_applies_to_all_classes",
    ),
    row(
        "4.2",
        "The default for REALTIME class is re-invoke; for others, warn",
        f"{LIFE}::test_a_stale_reading_asks_for_its_tool_to_be_called_where_that_can_be_done",
        f"{LIFE}::test_other_classes_warn_with_their_age_and_keep_the_summary",
    ),
    row(
        "4.3",
        "CRP-Context-Scratch-Freshness: stale; age=240s; class=VOLATILE",
        f"{LIFE}::test_other_classes_warn_with_their_age_and_keep_the_summary",
    ),
    row(
        "5.1",
        "an entry is eligible for eviction once no longer referenced and past its freshness TTL",
        f"{LIFE}::test_the_oldest_unreferenced_entries_make_room_and_say_what_they_were",
    ),
    row("5.2", "Is not evicted regardless of freshness TTL", "relay/test_life_machine.py::TestLife"),
    row(
        "5.2",
        "Is promoted to a named reference the user can recall",
        f"{OWN}::test_a_pinned_name_stands_for_the_id_and_moves_when_it_is_given_again",
        f"{LIFE}::test_a_phrase_stands_for_an_entry_and_the_answer_says_which",
    ),
    row(
        "5.2",
        "May be promoted into the CKF (Tier P) as a durable fact if it represents established knowledge",
        f"{LIFE}::test_a_pinned_lasting_result_becomes_a_fact_that_can_be_searched",
    ),
    row(
        "5.3",
        'Explicit user instruction ("save," "remember," "keep")',
        f"{LIFE}::test_a_users_words_pin_what_they_refer_to",
    ),
    row("5.3", "auto-pin after 2 references", f"{LIFE}::test_a_named_entry_is_pinned_by_its_second_declared_turn"),
    row(
        "5.3",
        "Safety Policy requiring tool-output retention for audit (compliance contexts)",
        f"{LIFE}::test_under_audit_everything_is_pinned_and_a_full_store_refuses_the_call",
    ),
    row(
        "5.4",
        "promoted to CKF as a fact with provenance: tool-derived",
        f"{LIFE}::test_a_pinned_lasting_result_becomes_a_fact_that_can_be_searched",
    ),
    row(
        "5.4",
        "Volatile readings (current status, live metrics) are never promoted - they have no durable truth value",
        f"{LIFE}::test_readings_that_do_not_last_never_become_facts",
    ),
    row(
        "6.1",
        "the DPE (SPEC-005) MUST be able to attribute that claim to the specific tool result",
        f"{CLAIMS}::test_attribution_follows_the_source",
    ),
    row(
        "6.2",
        'A claim like "the query returned 5,000 records" is checked against the scratch entry\'s structured data',
        f"{OUTCOMES}::test_outcome",
    ),
    row(
        "6.2",
        "it is a distortion - caught by the DPE against the tool output",
        f"{CLAIMS}::test_distortions_have_types",
    ),
    row(
        "6.3",
        "Each scratch entry carries a provenance_hash of its raw output",
        f"{CAPTURE}::test_a_small_result_goes_on_untouched_and_is_stored_exactly",
    ),
    row(
        "6.3",
        "tool-grounded provenance is as tamper-evident as the rest of CRP's chain",
        f"{CHAIN}::test_changed_byte_is_located_to_the_record",
    ),
    row("6.4", "The model is held to what the tool actually returned", f"{OUTCOMES}::test_outcome"),
    row(
        "7",
        "most recent tabular scratch entry",
        f"{REFERENCES}::test_a_typed_phrase_means_the_latest_result_of_that_type",
    ),
    row(
        "7",
        "most recent API-class scratch entry",
        f"{REFERENCES}::test_a_typed_phrase_means_the_latest_result_of_that_type",
    ),
    row(
        "7",
        "most recent computation, or pinned named value",
        f"{REFERENCES}::test_a_typed_phrase_means_the_latest_result_of_that_type",
    ),
    row("7", "most recent multi-row entry", f"{REFERENCES}::test_a_typed_phrase_means_the_latest_result_of_that_type"),
    row(
        "7", "most recent error-class entry", f"{REFERENCES}::test_a_typed_phrase_means_the_latest_result_of_that_type"
    ),
    row(
        "7",
        "the referenced entry's summary (or raw output, if specifically required and fresh) is pulled into",
        f"{LIFE}::test_a_phrase_stands_for_an_entry_and_the_answer_says_which",
        f"{CONTEXT}::test_the_envelope_of_the_specification_number_for_number",
    ),
    row(
        "8",
        "Behaviour when a referenced scratch entry is stale",
        f"{LIFE}::test_the_operators_policy_applies_to_all_classes",
    ),
    row(
        "8",
        "Persistence policy: evaporate (default), audit (pin for compliance), all (never evict)",
        f"{LIFE}::test_under_audit_everything_is_pinned_and_a_full_store_refuses_the_call",
        f"{LIFE}::test_with_retain_all_nothing_is_evicted",
    ),
    row(
        "8",
        "claims attributable to tools MUST cite the scratch entry; uncited tool-derived claims are flagged",
        f"{CLAIMS}::test_required_citation_that_is_missing_is_flagged",
    ),
    row(
        "8",
        "all tool outputs are pinned and written to the audit trail",
        f"{LIFE}::test_under_audit_everything_is_pinned_and_a_full_store_refuses_the_call",
    ),
    row(
        "9.1",
        "Number of active entries in the Scratch Buffer, as total/pinned",
        f"{LIFE}::test_headers_are_exact",
        "relay/test_life_machine.py::TestLife",
    ),
    row(
        "9.2",
        "Tokens saved by injecting summaries instead of raw tool output this turn",
        f"{LIFE}::test_headers_are_exact",
    ),
    row(
        "9.3",
        "Count of claims attributed to tool output, as tool-grounded/tool-distortions",
        f"{CHECKING}::test_a_wrong_figure_comes_back_with_the_right_one",
        f"{CHECKING}::test_nothing_to_check_has_no_attribution",
    ),
    row("10", "Blend: P=0.25, C=0.25, E=0.50", f"{CONTEXT}::test_the_envelope_of_the_specification_number_for_number"),
    row(
        "11",
        "is treated as a sequence of discrete scratch entries, one per chunk",
        "cli/test_hook_and_capture.py::test_the_lines_of_a_stream_are_chunks_with_one_stream_id",
    ),
    row(
        "11",
        "triggers eviction of the oldest unreferenced ephemeral entries (LRU)",
        f"{LIFE}::test_the_oldest_unreferenced_entries_make_room_and_say_what_they_were",
    ),
    row(
        "11",
        "the gateway signals CRP-Context-Scratch-Full",
        f"{LIFE}::test_what_does_not_fit_is_kept_for_its_turn_and_the_answer_says_full",
    ),
)
"""In the order of the text. What needs the claim checker or the assembler is tested in their rooms."""

DECISIONS = (
    row(
        "0",
        "the member names and enums of SPEC-029 §2.1 exactly",
        "spec/test_spec_029.py::test_an_entry_has_the_members_of_the_specification",
    ),
    row(
        "1",
        "an absent one says nothing",
        f"{REGISTRY}::test_annotations_never_loosen",
        f"{LIFE}::test_an_absent_annotation_says_nothing",
    ),
    row("2", "A clock that went backwards reads as stale", f"{LIFE}::test_a_clock_that_went_backwards_reads_as_stale"),
    row(
        "3",
        "only where the registry says safe, annotations do not say otherwise, and the arguments are kept in full",
        f"{LIFE}::test_a_stale_reading_that_cannot_be_read_again_is_left_out",
        f"{REFRESH}::test_a_reading_that_may_not_be_read_again_is_left_out",
    ),
    row("4", "Pinning protects from eviction only", f"{LIFE}::test_a_pinned_stale_entry_is_still_given_with_its_age"),
    row(
        "5",
        "a pause of 30 s begins one that is marked inferred",
        f"{LIFE}::test_a_gap_of_thirty_seconds_begins_a_turn_that_is_marked_inferred",
        f"{LIFE}::test_declared_turns_go_on_until_the_next_one_is_declared",
        f"{LIFE}::test_other_words_pin_nothing",
    ),
    row(
        "6",
        "not the one that produced it",
        f"{LIFE}::test_the_turn_that_made_an_entry_does_not_count_as_one_that_referenced_it",
        f"{CONTRACT}::test_turns_that_used_an_entry_are_sorted_and_distinct",
    ),
    row(
        "7",
        "the trail says that this was automatic",
        f"{LIFE}::test_a_named_entry_is_pinned_by_its_second_declared_turn",
        f"{LIFE}::test_references_of_inferred_turns_and_of_nameless_entries_do_not_pin",
    ),
    row(
        "8",
        "One that is gone answers what it was, when it left and how to get it again",
        f"{LIFE}::test_the_oldest_unreferenced_entries_make_room_and_say_what_they_were",
        f"{CONTRACT}::test_everything_is_there_after_a_restart",
    ),
    row(
        "9",
        "a phrase, a turn or a list stays in its conversation",
        f"{LIFE}::test_a_phrase_never_reaches_into_another_conversation",
        f"{OWN}::test_a_list_shows_newest_first_and_only_this_conversation",
    ),
    row(
        "9",
        "A hook joins the conversation of its host and folder, else it makes one that `doctor` names",
        "relay/test_hooking.py::test_a_prompt_is_a_declared_turn_of_the_conversation_the_host_is_in",
        "cli/test_hook_and_capture.py::test_doctor_names_what_a_hook_made_alone_and_the_policy",
    ),
    row(
        "10",
        "A request may only tighten",
        f"{SAFETY}::test_a_request_only_tightens",
        f"{SAFETY}::test_what_is_wrong_is_named",
        f"{SAFETY}::test_directives_of_other_parts_are_reported_not_enforced",
        f"{SAFETY}::test_headers_of_a_request_join_what_its_meta_asks_for",
    ),
    row(
        "11",
        "leaves a stub",
        f"{CONTRACT}::test_a_removed_entry_leaves_a_stub",
        f"{CONTRACT}::test_a_purged_entry_leaves_no_content",
    ),
    row(
        "12",
        "Pins are refused above 80 %, captures never",
        f"{LIFE}::test_pins_are_refused_above_four_fifths_of_the_budget",
        f"{LIFE}::test_the_disk_is_given_back",
    ),
    row(
        "13",
        "Without evidence nothing is meant",
        f"{REFERENCES}::test_without_evidence_nothing_is_meant",
        f"{REFERENCES}::test_what_else_it_could_be_is_listed",
        f"{REFERENCES}::test_real_sentences_resolve",
    ),
    row(
        "14",
        "A question's intent decides the shares",
        "core/assemble/test_assembling.py::test_intents_and_their_blends",
        f"{CONTEXT}::test_the_envelope_of_the_specification_number_for_number",
    ),
    row(
        "15",
        "What cannot be decided is UNVERIFIABLE with a reason",
        f"{CLAIMS}::test_attribution_follows_the_source",
        f"{OUTCOMES}::test_outcome",
    ),
    row(
        "16",
        "Headers are exact or absent",
        f"{LIFE}::test_headers_are_exact",
        "core/test_headers.py::test_what_is_no_value_of_ours_is_absent",
    ),
    row(
        "17",
        "never content",
        f"{CAPTURE}::test_the_audit_trail_names_call_and_receipt_and_no_content",
        f"{LIFE}::test_another_operators_policy_is_in_the_trail_once",
    ),
    row("18", "are entries with one `stream_id`", f"{LIFE}::test_pages_of_one_listing_are_one_stream"),
)
"""Numbered as in docs/decisions/0040-the-life-of-an-entry.md."""
