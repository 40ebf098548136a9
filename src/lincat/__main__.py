"""``python -m lincat`` is ``lincat``."""

from lincat.cli.main import main

main()
