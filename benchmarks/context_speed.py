"""What context requests cost: a tree of 2,000 files against parsing it once; the store at two sizes.

python -m benchmarks.context_speed [FOLDER]     any folder of Python files; default: this environment's packages
"""

from __future__ import annotations

import ast
import shutil
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from benchmarks.store import SCOPE, grow
from crp_mcp import ContextBudget, ContextRequest
from crp_mcp.app.engine import Engine, open_engine
from crp_mcp.app.settings import Settings
from crp_mcp.core.assemble.assembling import assemble
from crp_mcp.relay.using import Ask
from crp_mcp.store import Sealed
from crp_mcp.tokens import open_counter
from crp_mcp.workspace.corpus import Workspace, open_workspace

FILES = 2_000
REQUEST = ContextRequest(query="How are sessions closed when a connection is lost?", max_tokens=4_000)
BUDGET = ContextBudget(max_tokens=4_000)


def seconds(work: Callable[[], object], rounds: int = 1) -> float:
    """Median of the CPU seconds of this process: other work on the machine does not count."""
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def copy_tree(source: Path, target: Path) -> list[Path]:
    """The first 2,000 Python files, in folders of a hundred."""
    made = []
    for number, path in enumerate(sorted(source.rglob("*.py"))[:FILES]):
        folder = target / f"part{number // 100}"
        folder.mkdir(exist_ok=True)
        made.append(Path(shutil.copy(path, folder / f"m{number}_{path.name}")))
    return made


def parse(files: list[Path]) -> None:
    for path in files:
        try:
            ast.parse(path.read_text("utf-8"))
        except (SyntaxError, ValueError):
            continue


def tree_figures(source: Path, folder: Path) -> None:
    files = copy_tree(source, folder)
    count = open_counter().count
    workspaces: list[Workspace] = []

    def first() -> None:
        workspaces.append(open_workspace([folder]))
        warm()

    def warm() -> None:
        workspaces[-1].refresh()
        assemble(REQUEST, workspaces[-1], budget=BUDGET, count=count)

    before = seconds(lambda: parse(files))
    cold, hot = seconds(first), seconds(warm, 5)
    bare = (before + seconds(lambda: parse(files))) / 2
    print(f"{len(files)} files, parsed once in {bare:.2f} s")
    print(f"first answer, over reading and parsing once    {cold / bare:6.3f}   goal 3")
    print(f"warm answer, over the same                     {hot / bare:6.3f}   goal 0.05")


def store_figures(folder: Path) -> None:
    taken = []
    for count in (1_000, 100_000):
        engine: Engine = open_engine(Settings(str(folder / str(count)), tenant=SCOPE.tenant, project=SCOPE.project))
        grow(engine.store, count)
        engine.store.append(lambda head: Sealed(), lambda db: db.execute("UPDATE entry SET structured = NULL").rowcount)
        requester = engine.tools.context().requester
        ask = Ask(SCOPE)

        def work(requester: object = requester, ask: Ask = ask) -> None:
            requester.request(ask, ContextRequest(query="rows of the tool"), BUDGET)  # type: ignore[attr-defined]

        work()
        taken.append(seconds(work, 7))
        engine.close()
    print(f"a request at 100,000 entries, over 1,000       {taken[1] / taken[0]:6.3f}   goal 2")


def main() -> int:
    warnings.simplefilter("ignore")
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(ast.__file__).parent
    with tempfile.TemporaryDirectory() as name:
        tree, stores = Path(name) / "tree", Path(name) / "stores"
        tree.mkdir()
        tree_figures(source, tree)
        store_figures(stores)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
