"""Errors by their shape, in both directions: a miss hides a failure, a false alarm hides a result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crp_mcp.core.model import Kind
from crp_mcp.core.shape import read_shape

ERROR_VALUES: list[Any] = [
    {"error": "boom"},
    {"error": {"code": 404, "message": "nf"}},
    {"ok": False, "error": "channel_not_found"},
    {"ok": False, "rows": [], "columns": [], "error": "no such table: x", "truncated": False},
    {"success": False, "message": "bad"},
    {"data": None, "errors": [{"message": "x", "locations": []}]},
    {"status": "error", "message": "x"},
    {"status": "fail", "data": {"title": "A title is required"}},
    {"statusCode": 400, "error": "Bad Request", "message": "Invalid"},
    {"message": "Not Found", "documentation_url": "https://x", "status": "404"},
    {"detail": "Not found."},
    {"type": "https://x", "title": "Bad", "status": 422, "detail": "no"},
    {"errorMessages": ["Issue does not exist"], "errors": {}},
    {"kind": "Status", "status": "Failure", "message": "pods not found", "reason": "NotFound", "code": 404},
    {"__type": "ResourceNotFoundException", "message": "x"},
    {"errorType": "TypeError", "errorMessage": "x", "trace": ["a"]},
    {"data": {"error": "x"}},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}},
    {"error": "", "response": "{'success': False, 'message': 'Tracking information not found'}"},
    {"error": "", "response": '"<html><head><title>Forbidden</title></head><body><h1>Forbidden</h1></body></html>"'},
    [{"message": "No such column", "errorCode": "INVALID_FIELD"}],
]


@pytest.mark.parametrize("value", ERROR_VALUES)
def test_an_error_shaped_value_is_an_error(value: Any) -> None:
    """Whatever the transport says, and its message is never empty."""
    shape = read_shape(json.dumps(value).encode())
    assert (shape.kind, shape.is_error) == (Kind.ERROR, True)
    assert shape.text["message"]


NO_ERRORS: list[Any] = [
    {"error": "", "data": [1, 2]},
    {"error": None, "result": {"a": 1}},
    {"errors": [], "id": 3},
    {"error": "no errors", "n": 1},
    {"errors": 0, "passed": 10},
    {"error": 0.05, "mean": 3.2},
    {"state": "failure", "statuses": [{"a": 1}]},
    {"id": 1, "status": "failed", "name": "build", "duration": 3, "branch": "m"},
    {"code": "ABC", "name": "x"},
    {"code": 404, "label": "Not-found page", "visits": 3},
    {"ok": False, "error": "", "members": [{"id": 1}]},
    {"status": 200, "message": "OK"},
    {"error": "deprecated field ignored", "results": [{"a": 1}, {"a": 2}]},
    [{"level": "error", "msg": "x"}, {"level": "info", "msg": "y"}],
    [{"id": 1, "error": "timeout"}, {"id": 2, "error": None}],
]


@pytest.mark.parametrize("value", NO_ERRORS)
def test_a_member_called_error_does_not_make_one(value: Any) -> None:
    """Empty, a number, a record's field, a remark beside rows."""
    shape = read_shape(json.dumps(value).encode())
    assert not shape.is_error
    assert shape.kind is not Kind.ERROR


ERROR_TEXTS = [
    "Error: not enough balance in payment method gift_card_5094406",
    "Database error: no such table: Costumer",
    "\nAn error occurred (NoSuchBucket) when calling the GetObject operation: The specified bucket does not exist\n",
    'ERROR:  column "nme" does not exist\nLINE 1: select nme from artist;\n'
    '               ^\nHINT:  Perhaps you meant "name".\n',
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n'
    "    x\nNameError: name 'x' is not defined\n",
    "step 1\nstep 2\nTraceback (most recent call last):\n  File \"x.py\", line 3, in f\n    y\nKeyError: 'y'",
    "TypeError: x is undefined\n    at foo (/a/b.js:1:2)\n    at bar (/a/b.js:3:4)\n",
    "fatal: not a git repository (or any of the parent directories): .git",
    "bash: foo: command not found",
    "ls: cannot access 'x': No such file or directory",
    "Parse error near line 1: no such table: nosuch\n  select * from nosuch;\n                error here ---^",
    "MCP error -32602: Invalid arguments",
    "Error executing tool fetch: Failed to fetch http://127.0.0.1/x - status code 404",
    "npm ERR! code E404\nnpm ERR! 404 Not Found\n",
    "HTTP 404: Not Found",
    "Access denied - path outside allowed directories: /etc/shadow",
    "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>",
    '<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>',
    "\x1b[31mError:\x1b[0m build failed",
    "❌ Error: something went wrong",
    "undefined: x\nError: build failed",
]


@pytest.mark.parametrize("text", ERROR_TEXTS)
def test_a_text_that_is_an_error_message_is_an_error(text: str) -> None:
    """It starts as one and goes on as one, or ends in one."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.is_error) == (Kind.ERROR, True)


NO_ERROR_TEXTS = [
    "Script completed successfully, no errors. Result: True",
    "0 errors, 3 warnings",
    "Errors: 0\nPassed: 10\nSkipped: 1\n",
    "Error rate: 3%",
    "Error: could not open lock file\nINFO: retrying\nINFO: opened lock file",
    "2024-01-01 00:00:01 ERROR bad thing\n2024-01-01 00:00:02 INFO fine\n2024-01-01 00:00:03 INFO done\n",
    "[INFO] start\n[ERROR] x failed\n[INFO] retry ok\n",
    "### Result\nTotal messages: 29 (Errors: 29)\n\n"
    "[ERROR] Failed to load resource: 404\n[ERROR] Failed to load resource: 404\n",
    "test_a.py::test_error PASSED\ntest_b.py::test_exception PASSED\n2 passed in 0.1s\n",
    "class ValidationError(Exception):\n    pass\n\n\ndef f():\n    raise ValidationError('x')\n",
    "# Error handling\n\nThis guide explains errors.\n\n## Fatal errors\n\nThey stop.\n",
    "<html><head><title>Welcome</title></head><body><h1>Hi</h1><p>error</p></body></html>",
    "/a:\nok text\n---\n/b: Error - ENOENT: no such file\n---\n/c:\nmore text here\n",
    "Debug: Cache hit ratio 0.95, latency 150ms",
]


@pytest.mark.parametrize("text", NO_ERROR_TEXTS)
def test_a_text_that_only_mentions_errors_is_none(text: str) -> None:
    """Logs, reports, code and pages."""
    assert not read_shape(text.encode()).is_error


def test_a_message_is_kept_whole_and_a_long_one_by_its_ends() -> None:
    """The root cause of a trace stands in its last lines."""
    short = read_shape(b"Error: total price is 305, but paid 255")
    assert short.text["message"] == "Error: total price is 305, but paid 255"
    frames = "".join(f'  File "f{n}.py", line {n}, in g\n    h()\n' for n in range(500))
    long = read_shape(f"Traceback (most recent call last):\n{frames}ValueError: the root cause\n".encode())
    assert long.is_error
    assert long.text["tail"][-1] == "ValueError: the root cause"


@pytest.mark.parametrize(
    "text",
    [
        "No matches found",
        "No results found.",
        "No rows returned",
        "(0 rows)",
        "Empty set (0.00 sec)",
        "0 results",
        "None",
        "Query returned 0 rows",
    ],
)
def test_a_text_that_says_nothing_was_found_is_empty(text: str) -> None:
    """Not a text to be read, and no error."""
    assert (read_shape(text.encode()).kind, read_shape(text.encode()).is_error) == (Kind.EMPTY, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "<!DOCTYPE HTML>\n<html><head><title>Error response</title><style>h1 {}</style></head><body>\n"
            "<h1>Error response</h1><p>Error code: 404</p><p>Message: File&nbsp;not found.</p></body></html>\n",
            "Error response\nError code: 404\nMessage: File not found.",
        ),
        (
            '<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code><Message>Access &amp; all denied</Message></Error>',
            "Code: AccessDenied\nMessage: Access & all denied",
        ),
        (
            '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><s:Fault><faultcode>s:Server'
            "</faultcode><faultstring>Database unavailable</faultstring></s:Fault></s:Body></s:Envelope>",
            "faultcode: s:Server\nfaultstring: Database unavailable",
        ),
    ],
)
def test_a_page_that_is_an_error_says_all_that_is_on_it(text: str, message: str) -> None:
    """The heading alone often says nothing."""
    shape = read_shape(text.encode())
    assert (shape.kind, shape.text["message"]) == (Kind.ERROR, message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"error": {"code": "", "message": {"lang": "en", "value": "Resource not found."}}}, "Resource not found."),
        ({"errorMessages": ["No such field.", "No such project."], "errors": {}}, "No such field.; No such project."),
    ],
)
def test_a_message_inside_the_message_is_what_is_said(value: object, message: str) -> None:
    """Not the JSON around it."""
    assert message in read_shape(json.dumps(value).encode()).text["message"]


def test_a_bar_at_the_left_hides_no_error() -> None:
    """Nor does one make a warning an error."""
    assert read_shape("╷\n│ Error: Reference to undeclared resource\n│ \n│   on main.tf line 14\n╵\n".encode()).is_error
    assert not read_shape("╷\n│ Warning: Deprecated argument\n│ \n│   on main.tf line 14\n╵\n".encode()).is_error
