"""SQL over what was captured: derived tables in a cache file, queried by a child process that can do nothing else.

Says what a query gives. What becomes of its result (an entry, a page, a receipt) is the relay's.
"""
