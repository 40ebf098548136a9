"""Runs: many of them at once."""
