"""Modules that users name, and those that not everybody has."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.util import find_spec
from typing import Any

from lincat._arguments import fail, reason


def import_name(text: str, argument: str) -> tuple[Any, str]:
    """Import the module of "module:name", also from the current folder; return it and the name."""
    module_name, _, name = text.partition(":")
    # What is no name, Python would look for as a path.
    if not all(x.isidentifier() for x in module_name.split(".")) or not name:
        raise fail(argument, "'module:name' of something that can be imported", repr(text))
    importlib.invalidate_caches()  # the file may be younger than the last look at the folder
    top = module_name.partition(".")[0]
    if top not in sys.modules and find_spec(top) is None:
        find_local_modules()
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # other people's code: anything can come
        raise fail(
            argument, "a module that can be imported", f"{module_name!r} ({reason(error)})"
        ) from error
    return module, name


def find_local_modules() -> None:
    """Let Python find modules in the current folder, last of all: what lies there shadows nothing.

    Only where somebody named one: beside logs that came from elsewhere there may be modules, with
    names that installed packages try.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def optional(name: str, wanted: str) -> Any:
    """Import a package that may be missing; the error says what wants it, and how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise fail(wanted, f"the package {name}", reason(error), f"pip install {name}") from error
