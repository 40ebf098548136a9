"""Tables and figures of what they are given; they never run an algorithm."""
