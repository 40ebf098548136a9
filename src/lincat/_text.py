"""Values in messages: in one line, and not too long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

# A flag, and a value where one that messages use follows it.
_FLAG = re.compile(
    r"--column (?P<role>\w+)=(?P<column>[\w.]+)"
    r"|--(?P<name>[a-z][a-z-]*[a-z])(?: (?P<value>lstd|skip|auto|N|\d+)\b)?"
)
# What moves a cursor, rings, or turns a line around; what no encoding has (parts of names of files
# that are no UTF-8); and what no XML may hold, of which SVG is some.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
# Arguments that are called otherwise, and those that are only switched on.
_ARGUMENTS = {
    "column": "columns",
    "env_option": "env_options",
    "feature_option": "feature_options",
    "scheduler": "client",
}
_SWITCHES = ("force", "require", "trust_code", "trust_pickle", "connect")


def one_line(value: object) -> str:
    r"""Return the text of a value with all white space single: messages have one line.

    Examples
    --------
    >>> from lincat._text import counted, listed, one_line, shown
    >>> one_line(" a\n  b ")
    'a b'
    """
    return " ".join(str(value).split())


def printable(text: str) -> str:
    r"""Return text that a terminal shows as it is: control characters are written out.

    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text)


def drawable(value: Any) -> Any:
    r"""Return texts, in lists and mappings too, as pictures take them: :func:`printable`.

    The library that draws ends the process over a character that XML forbids.

    >>> drawable({"name": "a\x1b", "values": [1.0, "b"]})
    {'name': 'a\\x1b', 'values': [1.0, 'b']}
    """
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {drawable(key): drawable(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [drawable(one) for one in value]
    return value


def shown(value: object, longest: int = 80) -> str:
    """Return what Python calls a value, in one line of at most so many letters.

    >>> shown(list(range(9)), 12)
    '[0, 1, 2,...'
    """
    text = one_line(repr(value))
    return text if len(text) <= longest else text[: longest - 3] + "..."


def counted(n: int, noun: str) -> str:
    """Return a number and its noun.

    >>> counted(1, "feature"), counted(2000, "feature")
    ('1 feature', '2,000 features')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def listed(words: Sequence[str], last: str = "and") -> str:
    """Return words as a sentence has them.

    >>> listed(["a", "b", "c"]), listed(["a", "b"], "or"), listed(["a"])
    ('a, b and c', 'a or b', 'a')
    """
    *before, end = words
    return f"{', '.join(before)} {last} {end}" if before else end


def as_arguments(text: str) -> str:
    """Return a sentence that speaks of flags as one that speaks of Python's arguments.

    >>> as_arguments("a larger --n-step, or --learner lstd, may help")
    'a larger n_step=, or learner="lstd", may help'
    >>> as_arguments("name it: --column reward=NAME")
    'name it: columns={"reward": "NAME"}'
    """

    def argument(found: re.Match[str]) -> str:
        if found["role"]:
            return f'columns={{"{found["role"]}": "{found["column"]}"}}'
        name = found["name"].replace("-", "_")
        if name in _SWITCHES:
            return f"{name}=True"
        value = found["value"] or ""
        value = f'"{value}"' if value.isalpha() and value.islower() else value
        return f"{_ARGUMENTS.get(name, name)}={value}"

    return _FLAG.sub(argument, text)
