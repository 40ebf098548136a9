"""Features: what a linear learner sees of an observation; fitted on a warm-up, then frozen."""
