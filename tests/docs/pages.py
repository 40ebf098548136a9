"""The documentation as code: its blocks, and the commands that it shows."""

import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)
_INLINE = re.compile(r"(?<!`)`((?:[^`]*\| )?lincat [^`]+)`(?!`)")
_SHELL = ("", "console", "sh", "bash", "shell")
_NUMBER = r"[-−]?\d[\d,]*(?:\.\d+)?"


@dataclass(frozen=True)
class Command:
    """A line for the shell, and what it prints as far as the page says."""

    text: str
    expected: str | None = None


def blocks(page):
    """Yield the word after the fence, and the content."""
    for found in _BLOCK.finditer(page.read_text()):
        yield found["info"].strip(), found["body"]


def commands(page):
    """Yield the commands of a page in their order: lines of blocks, then those within sentences.

    A block with prompts shows what its commands print; any other that calls nothing is no shell's.
    """
    for info, body in blocks(page):
        if info not in _SHELL:
            continue
        if body.startswith("$ "):
            for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
                text, _, expected = part.partition("\n")
                yield Command(_bare(text), expected)
        elif re.search(r"\blincat\b|^make ", body):
            for line in re.sub(r"\\\n\s*", "", body).splitlines():
                yield Command(_bare(line))
    # What is within backticks ends with its paragraph.
    paragraphs = re.split(r"\n\s*\n", _BLOCK.sub("", page.read_text()))
    found = [text for paragraph in paragraphs for text in _INLINE.findall(paragraph)]
    for text in dict.fromkeys(found):
        text = text.replace("\\|", "|").replace("\n", " ")
        # Placeholders, a command's name alone, or its help: the reference has those.
        if not re.search(r"[A-Z]{3,}\b|\.\.\.|--help|lincat \w+( --\w+)?$", text):
            yield Command(text)


def _bare(line):
    return re.sub(r"\s+# .*", "", line)


def same(expected, got):
    """Whether a text is the one expected: "..." is anything, numbers are about the same."""
    words = re.split(rf"(\.\.\.|\s+|{_NUMBER})", expected.strip())
    pattern = "".join(
        ".*?"
        if word == "..."
        else r"\s+"
        if word.isspace()
        else f"({_NUMBER})"
        if re.fullmatch(_NUMBER, word)
        else re.escape(word)
        for word in words
    )
    found = re.fullmatch(rf"\s*{pattern}\s*", got, re.S)
    if found is None:
        return False
    numbers = [_number(word) for word in words if re.fullmatch(_NUMBER, word)]
    return all(
        abs(_number(x) - y) <= max(0.2 * abs(y), 2.0)
        for x, y in zip(found.groups(), numbers, strict=True)
    )


def _number(text):
    return float(text.replace(",", "").replace("−", "-"))
