"""The shipped registry: it reads, it covers the servers it says it covers, and it opts nothing in that acts."""

from __future__ import annotations

import re

import pytest

from crp_mcp.config import load_registry
from crp_mcp.core.model import ToolClass, ToolPolicy, Volatility
from crp_mcp.core.registry import Registry, Rule

ACTS = re.compile(
    r"(^|[-_:])(write|create|update|delete|insert|drop|add|edit|move|push|merge|post|send|remove|apply|exec|execute|run|"
    r"kill|start|set|put|commit|reset|checkout|scale|install|uninstall|patch|cancel|trigger|transition|fork|click|type|"
    r"fill|evaluate|rename|draft|modify|finalize|interact)([-_:]|$)"
)
READS = re.compile(r"(^|[-_])(list|get|search|find|read|query|describe|select)([-_]|$)")
READS_DESPITE_ITS_NAME = {
    "*:API-post-search", "*:API-post-database-query",  # HTTP POST, but a search
    "*prometheus*:execute_query", "*prometheus*:execute_range_query",  # PromQL cannot write
    "*:run_select_query",  # the server lets only SELECT through
    "*redis*:type",  # asks for a key's type
    "*everything*:add",  # adds two numbers
}  # fmt: skip

WELL_KNOWN = {
    ("filesystem", "read_text_file"): (ToolClass.FILE, Volatility.VOLATILE),
    ("git", "git_log"): (ToolClass.FILE, Volatility.VOLATILE),
    ("time", "get_current_time"): (ToolClass.COMPUTATION, Volatility.REALTIME),
    ("fetch", "fetch"): (ToolClass.SEARCH, Volatility.STABLE),
    ("sqlite", "read_query"): (ToolClass.SQL, Volatility.VOLATILE),
    ("my-postgres", "query"): (ToolClass.SQL, Volatility.VOLATILE),
    ("memory", "read_graph"): (ToolClass.SEARCH, Volatility.VOLATILE),
    ("everything", "get-sum"): (ToolClass.COMPUTATION, Volatility.STATIC),
    ("github", "issue_read"): (ToolClass.API, Volatility.VOLATILE),
    ("gitlab", "list_merge_requests"): (ToolClass.API, Volatility.VOLATILE),
    ("slack", "slack_get_channel_history"): (ToolClass.SEARCH, Volatility.VOLATILE),
    ("atlassian", "jira_search"): (ToolClass.API, Volatility.VOLATILE),
    ("notion", "API-post-search"): (ToolClass.SEARCH, Volatility.VOLATILE),
    ("linear", "list_teams"): (ToolClass.API, Volatility.STABLE),
    ("sentry", "search_events"): (ToolClass.METRIC, Volatility.VOLATILE),
    ("playwright", "browser_snapshot"): (ToolClass.API, Volatility.REALTIME),
    ("puppeteer", "puppeteer_navigate"): (ToolClass.API, Volatility.REALTIME),
    ("chrome", "list_network_requests"): (ToolClass.METRIC, Volatility.REALTIME),
    ("brave", "brave_web_search"): (ToolClass.SEARCH, Volatility.STABLE),
    ("maps", "maps_geocode"): (ToolClass.API, Volatility.STABLE),
    ("gdrive", "search"): (ToolClass.FILE, Volatility.VOLATILE),
    ("stripe", "list_invoices"): (ToolClass.API, Volatility.VOLATILE),
    ("context7", "get-library-docs"): (ToolClass.SEARCH, Volatility.STABLE),
    ("k8s", "pods_log"): (ToolClass.METRIC, Volatility.REALTIME),
    ("aws-docs", "read_documentation"): (ToolClass.SEARCH, Volatility.STABLE),
    ("dbhub", "execute_sql"): (ToolClass.SQL, Volatility.VOLATILE),
    ("mongodb", "find"): (ToolClass.SQL, Volatility.VOLATILE),
    ("redis", "hgetall"): (ToolClass.SQL, Volatility.VOLATILE),
    ("elasticsearch", "search"): (ToolClass.SQL, Volatility.VOLATILE),
    ("exa", "web_search_exa"): (ToolClass.SEARCH, Volatility.STABLE),
    ("firecrawl", "firecrawl_scrape"): (ToolClass.SEARCH, Volatility.STABLE),
    ("desktop-commander", "start_process"): (ToolClass.COMPUTATION, Volatility.REALTIME),
    ("grafana", "query_prometheus"): (ToolClass.METRIC, Volatility.REALTIME),
}


@pytest.fixture(scope="module")
def shipped() -> Registry:
    return load_registry()


def names_an_act(match: str) -> bool:
    """Whether the first verb in a tool's name is one that changes something."""
    tool = match.partition(":")[2]
    act, read = ACTS.search(tool), READS.search(tool)
    return act is not None and (read is None or act.start() < read.start()) and match not in READS_DESPITE_ITS_NAME


def rules(registry: Registry) -> list[Rule]:
    layer = registry.layers[0]
    return [rule for hits in (*layer.exact.values(), layer.globs) for _, rule in hits]


@pytest.mark.parametrize(("server", "tool"), WELL_KNOWN)
def test_well_known_tools_have_a_class_and_a_volatility(shipped: Registry, server: str, tool: str):
    """A tool of each well-known server gets the class and volatility a person would give it."""
    policy = shipped.policy(server, tool)
    assert (policy.tool_class, policy.volatility) == WELL_KNOWN[server, tool]


def test_nothing_that_acts_may_be_called_again(shipped: Registry):
    """No rule that lets us call a tool again covers a tool whose name says that it acts."""
    acting = [rule.match for rule in rules(shipped) if rule.settings.get("reinvoke") and names_an_act(rule.match)]
    assert acting == []


def test_what_invalidates_is_never_called_again(shipped: Registry):
    """A tool that makes reads stale is a write, so it is never called again."""
    assert [
        rule.match for rule in rules(shipped) if rule.settings.get("invalidates") and rule.settings.get("reinvoke")
    ] == []


def test_answers_from_memory_are_left_to_the_operator(shipped: Registry):
    """Nothing shipped answers a call from memory, passes a result through, or feeds stored data to a tool."""
    for rule in rules(shipped):
        assert not rule.settings.get("reuse")
        assert not rule.settings.get("passthrough")
        assert not rule.settings.get("accepts_scratch_from")


def test_plain_words_are_not_claimed_on_every_server(shipped: Registry):
    """A server nobody knows keeps the careful defaults for tools with everyday names."""
    for tool in ("query", "search", "get", "set", "find", "count", "aggregate", "delete", "info", "list_files", "run"):
        assert shipped.policy("acme", tool) == ToolPolicy()


def test_no_rule_is_hidden_by_another(shipped: Registry):
    """Every rule counts for the tool it names: none is written twice or overshadowed."""
    for rule in rules(shipped):
        if "*" not in rule.match.partition(":")[2]:
            server = rule.match.partition(":")[0].replace("*", "")
            assert shipped.rules_for(server or "acme", rule.match.partition(":")[2])[0].settings is rule.settings
