"""Whether there is memory for what a value of the input sizes: the one gate before such arrays.

Where the data say how much can be meant, they are asked instead: states of a process all have rows.
"""

from __future__ import annotations

import os
from pathlib import Path

from lincat._arguments import fail
from lincat._text import shown

_SMALL = 2**26  # bytes that are not worth a question
_SHARE = 0.5  # of what is there: beside it there must be room for what is made of it at once
_LIMIT_OF_A_GROUP = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def check_room(numbers: int, argument: str, got: object, remedy: str = "") -> None:
    """Refuse an argument that asks for so many numbers of eight bytes that memory has no room.

    Examples
    --------
    >>> from lincat._room import check_room
    >>> check_room(10**15, "intervals", 10**12)
    Traceback (most recent call last):
        ...
    lincat._arguments.InvalidInputError: intervals: expected what memory has room for, ...
    """
    size = 8 * numbers
    if size <= _SMALL:
        return
    room = int(_SHARE * free_memory())
    if size > room:
        takes = f"{shown(got)}, which takes {_gigabytes(size)} where {_gigabytes(room)} can be had"
        raise fail(argument, "what memory has room for", takes, remedy)


def free_memory() -> int:
    """Return how many bytes this process can still take: of the machine, its group, its limits."""
    found = [_of_machine(), _of_limits()]
    found += [limit - used for limit, used in map(_of_group, _LIMIT_OF_A_GROUP)]
    return max(min(found), 0)


def _of_machine() -> int:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system that does not say
        return 2**63


def _of_group(files: tuple[str, str]) -> tuple[int, int]:
    """Return the limit of a container and what it has taken; one that says none has no limit."""
    limit, used = ("".join(_lines(file)).strip() for file in files)
    return (int(limit), int(used)) if limit.isdigit() and used.isdigit() else (2**63, 0)


def _of_limits() -> int:
    """Return what is left of the address space that was allowed to this process."""
    try:
        import resource
    except ImportError:
        return 2**63
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return 2**63
    pages = "".join(_lines("/proc/self/statm")).split()
    return limit - (int(pages[0]) * resource.getpagesize() if pages else 0)


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text().splitlines()
    except OSError:
        return []


def _gigabytes(size: int) -> str:
    return f"{size / 2**30:,.3g} GiB"
