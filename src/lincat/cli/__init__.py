"""The ``lincat`` command: thin commands over the library."""
