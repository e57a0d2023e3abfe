"""The project's own files as nodes: definitions, documents, sections, and what leads from one to another.

Reads only files under allowed roots; knows nothing of stores, requests or hosts.
"""
