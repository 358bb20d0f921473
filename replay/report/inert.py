"""Text from outside, for Markdown: shown as it is, and nothing more. Pure.

Invariant: rendered as GitHub renders it, what comes from outside is text without markup: no link, image, tag,
mention, issue reference or table cell comes of it, and it is one line unless it is a block.
"""

import re

from replay.report.table import MOST_CHARACTERS, excerpt, one_line

_BREAK = "&#8203;"  # zero width: parts what GitHub would make a link of
_MARKUP = re.compile(r"[\\`*\[\]~|$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")
_REFERENCE = re.compile(r"@|#(?=\d)|(?<=\bGH)-(?=\d)|:(?=//)|www(?=\.)", re.IGNORECASE)
_OPENING = re.compile(r"^(?:[-+=#:]|\d+[.)])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def prose(text: str, most: int = MOST_CHARACTERS) -> str:
    """As words of a paragraph or a list."""
    line = one_line(text, most)
    line = _MARKUP.sub(r"\\\g<0>", line)
    line = re.sub(r"[&<>]", lambda found: _ENTITIES[found[0]], line)
    line = _REFERENCE.sub(lambda found: f"{found[0]}{_BREAK}", line)
    return _OPENING.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", line)


def code(text: str, most: int = MOST_CHARACTERS) -> str:
    """As a code span, in a table's cell too."""
    line = (one_line(text, most) or "(none)").replace("|", "\\x7c")
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def block(text: str, most: int) -> str:
    """As a block of code with the text's own lines."""
    shown = excerpt(text, most)
    fence = "`" * max(3, _longest_run(shown) + 1)
    return f"{fence}text\n{shown}\n{fence}"


def _longest_run(line: str) -> int:
    return max(map(len, re.findall("`+", line)), default=0)
