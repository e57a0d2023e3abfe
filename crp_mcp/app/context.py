"""Joins what context requests need; made on first use, since its models and the workspace cost start-up."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crp_mcp.core.assemble.reply import Reply
    from crp_mcp.core.request import ContextBudget, ContextRequest
    from crp_mcp.mcp.tools.context import ContextTools
    from crp_mcp.relay.headers import Headers
    from crp_mcp.relay.reading import Reader
    from crp_mcp.relay.using import Using

    from .ground import Ground

ROOTS_KEY = "CRP_MCP_ROOTS"
ANSWER_TOKENS = 2_000
MARKS = (".git", ".hg", "pyproject.toml", "setup.py", "package.json", "Cargo.toml", "go.mod", "pom.xml", "Makefile")
"""What a folder has that is somebody's project; others (a home folder, the disk's root) are never read unasked."""


def context_roots(env: Mapping[str, str], project: str) -> tuple[str, ...]:
    """Folders whose files may be read: those named in the environment, else the project's if it looks like one."""
    named = env.get(ROOTS_KEY)
    if named is not None:
        return tuple(str(Path(one).expanduser().resolve()) for one in named.split(os.pathsep) if one)
    folder = Path(project) if project else None
    if folder is None or folder in (Path.home(), Path(folder.anchor)):
        return ()
    return (project,) if any((folder / mark).exists() for mark in MARKS) else ()


def assemble_context(
    request: ContextRequest,
    roots: Sequence[str | Path],
    budget: ContextBudget | None = None,
    *,
    why: bool = False,
) -> Reply:
    """Answer a request from the files under `roots`, without a store; `.to_json()` of the reply is all of it.

    Without a budget an answer has its usual size, or what the request asks for. Raises BadRequest.
    """
    from crp_mcp.core.assemble.assembling import assemble
    from crp_mcp.core.request import ContextBudget
    from crp_mcp.tokens import open_counter
    from crp_mcp.workspace.code import code_parsers
    from crp_mcp.workspace.corpus import open_workspace

    if budget is None:
        budget = ContextBudget(max_tokens=ANSWER_TOKENS if request.max_tokens is None else request.max_tokens)
    workspace = open_workspace([Path(one).expanduser().resolve() for one in roots], code_parsers())
    workspace.refresh()
    return assemble(request, workspace, budget=budget, count=open_counter().count, why=why)


def context_tools(ground: Ground, reader: Reader, using: Using, headers: Headers) -> Callable[[], ContextTools]:
    """Makes the tools once, whichever thread asks first."""
    lock = threading.Lock()
    made: list[ContextTools] = []

    def tools() -> ContextTools:
        with lock:
            if not made:
                import secrets  # it loads OpenSSL, and what is above here is read before the first answer

                from crp_mcp.mcp.tools.context import ContextTools
                from crp_mcp.relay.context.budget import Budgets
                from crp_mcp.relay.context.history import Historian
                from crp_mcp.relay.context.requesting import Requester

                store, counter, now = ground.store, ground.counter, ground.now
                roots, window = tuple(map(Path, ground.settings.roots)), ground.settings.window
                made.append(
                    ContextTools(
                        Requester(store, ground.sealer, reader, using, counter, now, secrets.token_bytes, roots),
                        Historian(store, reader, counter),
                        Budgets(store, now, lambda: counter().name, window),
                        headers,
                    )
                )
            return made[0]

    return tools
