"""What all tests share."""

from hypothesis import settings

# The first call of a kernel compiles it, which no deadline survives.
settings.register_profile("lincat", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("lincat")
