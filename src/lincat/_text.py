"""Values in messages: in one line, and not too long."""

from __future__ import annotations

from collections.abc import Sequence


def one_line(value: object) -> str:
    r"""Return the text of a value with all white space single: messages have one line.

    Examples
    --------
    >>> from lincat._text import counted, listed, one_line, shown
    >>> one_line(" a\n  b ")
    'a b'
    """
    return " ".join(str(value).split())


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
