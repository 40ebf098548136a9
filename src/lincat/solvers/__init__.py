"""Exact answers from a known process."""
