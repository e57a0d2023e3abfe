"""The proxies that do something like this one, measured side by side on one fixture: `python -m benchmarks.rivals`."""
