"""Environments and recorded episodes of them: sources of steps, policies, rollouts."""
