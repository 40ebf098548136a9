"""Sums over transitions from which every answer about them can be solved."""
