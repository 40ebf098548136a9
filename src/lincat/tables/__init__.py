"""Logs: tables in files and streams, read row by row into steps."""
