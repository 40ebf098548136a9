"""Texts that carry their own checksum: readable by anybody, and told from what a disk made of them.

    JSON        a last field "sha256" of the outermost object
    TOML        a last line, which is a comment
    JSON lines  a last field "crc32" of each line

The checksum covers every byte before it, so that one changed bit anywhere is noticed.

Examples
--------
>>> from lincat._seals import JSON, TOML
>>> print(TOML.sealed("gamma = 0.9").decode())
gamma = 0.9
# sha256 18447b060620ad559e2e7dd15967002a80c5be0c9ddb5af6f6b6314577bddc65
<BLANKLINE>
>>> JSON.opened(JSON.sealed('{"gamma": 0.9}'), "file", "numbers")
b'{"gamma": 0.9}'
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from lincat._arguments import fail


@dataclass(frozen=True)
class Seal:
    """How texts of one kind carry their checksum.

    Attributes
    ----------
    before, after : bytes
        What stands around the checksum.
    end : bytes
        What the text itself ends with, and the checksum comes before.
    digest : callable
        From bytes to the checksum.
    """

    before: bytes
    after: bytes
    end: bytes
    digest: Callable[[bytes], bytes]

    def sealed(self, text: str | bytes) -> bytes:
        """Return the text with its checksum."""
        content = text.encode() if isinstance(text, str) else text
        return self._around(content.rstrip().removesuffix(self.end).rstrip())

    def opened(self, content: bytes, place: str, what: str, remedy: str = "") -> bytes:
        """Return the text without its checksum, or say that it is not as it was written."""
        length = len(self.before) + len(self.digest(b"")) + len(self.after)
        head = content[:-length]
        if self._around(head) != content:
            got = "something that was changed or damaged, or is of another version of lincat"
            raise fail(place, f"{what}, as lincat wrote it", got, remedy)
        return head + self.end

    def has(self, content: bytes) -> bool:
        """Return whether there is a checksum, right or wrong."""
        return self.before in content[-len(self.before) - 100 :]

    def _around(self, head: bytes) -> bytes:
        return head + self.before + self.digest(head) + self.after


def _sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _crc32(content: bytes) -> bytes:
    return b"%08x" % zlib.crc32(content)


JSON = Seal(b',\n "sha256": "', b'"\n}\n', b"}", _sha256)
TOML = Seal(b"\n# sha256 ", b"\n", b"", _sha256)
LINE = Seal(b',"crc32":"', b'"}\n', b"}", _crc32)
