"""Numbered pieces of work: done here, by processes of this machine, or by a cluster."""
