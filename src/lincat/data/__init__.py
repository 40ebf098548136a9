"""What flows from a source to a learner: steps, and transitions with their features."""
