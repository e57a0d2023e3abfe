"""`python -m crp_mcp` and the `crp-mcp` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; the exit code is what it returns."""
    from crp_mcp.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
