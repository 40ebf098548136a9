"""Transitions, the only thing that flows into a learner."""
