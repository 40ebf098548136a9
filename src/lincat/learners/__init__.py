"""Learners from a stream: one pass, bounded memory."""
