"""How far to trust what was learned: against held-out returns, and from the run itself."""
