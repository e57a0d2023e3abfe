"""The command line: one module for each command, each with `add(parser)` and `run(options) -> exit code`."""
