"""The conformance fixture's answers that ask back first (`input_required`, revision 2026-07-28): what each round holds.

The states they hand out are sealed and checked by the SDK's boundary, which the server installs.
"""

from __future__ import annotations

from typing import Any

import mcp_types as t
from mcp.server.context import ServerRequestContext

Context = ServerRequestContext[Any, Any]
Json = dict[str, Any]


def form(message: str, field: str, kind: str = "string") -> Json:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sample(prompt: str, tokens: int) -> Json:
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": tokens}}


ROOTS: Json = {"method": "roots/list", "params": {}}
NAME = form("What is your name?", "name")
CONFIRM = form("Please confirm", "ok", "boolean")

ROUNDS: dict[str, tuple[dict[str, Json], ...]] = {
    "test_input_required_result_elicitation": ({"user_name": NAME},),
    "test_input_required_result_sampling": ({"capital_question": sample("What is the capital of France?", 100)},),
    "test_input_required_result_list_roots": ({"client_roots": ROOTS},),
    "test_input_required_result_request_state": ({"confirm": CONFIRM},),
    "test_input_required_result_tampered_state": ({"confirm": CONFIRM},),
    "test_input_required_result_multiple_inputs": (
        {"user_name": NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS},
    ),
    "test_input_required_result_multi_round": (
        {"step1": form("Step 1: What is your name?", "name")},
        {"step2": form("Step 2: What is your favorite color?", "color")},
    ),
    "test_input_required_result_capabilities": ({"user_name": NAME, "greeting": sample("Say hello", 50)},),
    "test_streaming_elicitation": ({"user_name": NAME},),
    "test_input_required_result_prompt": ({"user_context": form("What context should the prompt use?", "context")},),
}
"""What is asked in each round, by tool or prompt."""

STATELESS = {
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_prompt",
    "test_streaming_elicitation",
}
_NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def ask(ctx: Context, name: str, params: Any) -> Json | None:
    """The questions that are still open, as a result; None once all are answered."""
    rounds = ROUNDS[name]
    state = params.request_state
    turn = int(state.rpartition(":")[2]) if state else 0
    answers = params.input_responses or {}
    while turn < len(rounds) and set(rounds[turn]) <= set(answers):
        turn += 1
    if turn == len(rounds) or (name == "test_input_required_result_capabilities" and answers):
        return None
    questions = rounds[turn]
    if name == "test_input_required_result_capabilities":
        capabilities = ctx.session.client_capabilities or t.ClientCapabilities()
        questions = {k: q for k, q in questions.items() if getattr(capabilities, _NEEDS[q["method"]], None) is not None}
    asked: Json = {"resultType": "input_required", "inputRequests": questions}
    return asked if name in STATELESS else {**asked, "requestState": f"round:{turn}"}


def said(answers: dict[str, Any]) -> str:
    """What the client answered, in words the suite looks for."""
    words = ["state-ok"]
    for answer in answers.values():
        if isinstance(answer, t.ElicitResult):
            words.append(f"Hello, {next(iter((answer.content or {}).values()), answer.action)}!")
        elif isinstance(answer, t.ListRootsResult):
            words += [str(root.uri) for root in answer.roots]
        else:
            words.append(getattr(answer.content, "text", str(answer.content)))
    return " ".join(words)
