"""Summaries: what was read from a payload, said within a token cap. Pure; counting is passed in."""

from .render import render_summary

__all__ = ["render_summary"]
