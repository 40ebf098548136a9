"""The version, in one place: read by the build and by ``lincat --version``."""

__version__ = "0.1.0"
