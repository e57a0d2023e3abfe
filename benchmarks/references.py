"""Runs recorded sentences through the resolver of references: `python -m benchmarks.references --cases FOLDER --json`.

The resolver gets a sentence and the earlier results. What a case says of the answer is read for scoring alone.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crp_mcp.core.references import Candidate, candidate_of, resolve
from crp_mcp.core.shape import read_shape


def candidate(result: Mapping[str, Any]) -> Candidate:
    """An earlier result of a case: label, tool, arguments, payload, and the words it was presented with."""
    shape = read_shape(json.dumps(result.get("result"), ensure_ascii=False).encode())
    said = str(result.get("system_said") or "")
    return candidate_of(str(result["label"]), str(result["tool_name"]), result.get("arguments") or {}, shape, said=said)


def cases(folder: Path) -> Iterator[dict[str, Any]]:
    """The cases of `references.jsonl` in a folder, or of one file."""
    path = folder / "references.jsonl" if folder.is_dir() else folder
    for line in path.read_text("utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def label_of(case: Mapping[str, Any]) -> str | None:
    """The label the resolver finds for a case; it is shown nothing else of it."""
    earlier = [candidate(one) for one in case["earlier_results"]]
    return resolve(str(case["sentence"]), earlier).id


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help='one {"id", "label"} a line, and nothing else on stdout')
    options = parser.parse_args()
    right = wrong = unresolved = 0
    for case in cases(options.cases):
        label = label_of(case)
        right += label is not None and label == case.get("expected")
        wrong += label is not None and label != case.get("expected")
        unresolved += label is None
        if options.json:
            print(json.dumps({"id": case["id"], "label": label}))
        elif label != case.get("expected"):
            print(f"{case['id']}: {label} for {case.get('expected')}: {re.sub(r'[^ -~]', '?', case['sentence'])}")
    print(f"right {right}, wrong {wrong}, unresolved {unresolved}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
