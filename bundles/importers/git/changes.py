"""What the edit of a section is: a value, a name, a rewording, an addition, a removal, or mere form.

Invariant: texts that differ in words are never a mere change of form, and a replacement's two sides stand in
the two texts exactly as they are given.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import Indel

Category = Literal["value", "rename", "reword", "append", "delete", "format"]

# A number with its sign, currency, unit sign and groups, a version, flag, path or word, or one other sign.
_TOKEN = re.compile(
    r"\d{1,3}(?:[ \u00a0]\d{3})+(?!\w)"
    r"|(?:--?(?=\w)|[$€£@#~](?=\w)|\.(?=\d))?\w+(?:[.,:/@+\-'’]+\w+)*%?"
    r"|\S"
)
_URL = re.compile(r"(?:https?|ftp)://[^\s)>\]\"']+|(?<=\]\()[^)\s]+|(?<=\]: )\S+", re.IGNORECASE)
_BADGE_LINE = re.compile(r"\s*(?:\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?\s*|<img[^>]*>\s*|\|\s*)+\Z")
_CREDIT_LINE = re.compile(
    r"\bcopyright\b|©|\bco-authored-by\b|\bcontribut(?:ed by|ors?\b)|\bthanks?\b.*(?:\bto\b|@)"
    r"|\bsponsor|\bmaintain(?:ed by|ers?\b)|\A\W*(?:by\s+)?@[\w-]+\W*\Z",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1|(?<!`)(`+)(?!`)(.+?)(?<!`)\3(?!`)", re.MULTILINE | re.DOTALL
)
_DATE_WORDS = re.compile(
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\Z",
    re.IGNORECASE,
)
_SWITCHES = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|enabled|disabled|never|always)\Z", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"--?\w|.*\w[_./:@]\w|.*[a-z][A-Z]|.*\w-\w")
_LONGEST_VALUE, _LONGEST_NAME = 4, 6


@dataclass(frozen=True, slots=True)
class Replacement:
    """What stood in the old text, and what stands in its place in the new one."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Change:
    """An edit: what it is, the share of words that it touches, and what it replaces by what."""

    category: Category
    share: float
    replacements: tuple[Replacement, ...]


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        return any(char.isalnum() for char in self.text)


def churn(old: str, new: str) -> str | None:
    """What sort of upkeep the edit is that says nothing new: links, badges or credits; None if it is none."""
    before, after = _filled_lines(old), _filled_lines(new)
    if before == after:
        return None
    for reason, clean in (
        ("links", _without_links),
        ("badges", _without_badges),
        ("credits", _without_credits),
    ):
        before, after = clean(before), clean(after)
        if before == after:
            return reason
    return None


def is_word_list(text: str) -> bool:
    """Whether most words are alone on their line, as in a list of packages: nothing to write about."""
    lines = [line.split() for line in _filled_lines(text) if not line.lstrip().startswith("#")]
    return sum(len(words) == 1 for words in lines) * 2 > sum(map(len, lines))


def change_of(old: str, new: str) -> Change:
    """How two texts that differ differ."""
    before, after = _tokens(old), _tokens(new)
    edits = _edits([token.text for token in before], [token.text for token in after])
    hunks = [(_words(before[a:b]), _words(after[c:d])) for a, b, c, d in edits]
    hunks = [(removed, added) for removed, added in hunks if removed or added]
    touched = sum(token.is_word for removed, added in hunks for token in (*removed, *added))
    share = touched / max(1, sum(token.is_word for token in (*before, *after)))
    swaps = [(removed, added) for removed, added in hunks if removed and added]
    replacements = dict.fromkeys(Replacement(_slice(old, gone), _slice(new, come)) for gone, come in swaps)
    return Change(_category(old, new, hunks), share, tuple(replacements))


def is_value(text: str) -> bool:
    """Whether a word is a number, a version, a date or a switch."""
    return is_figure(text) or _SWITCHES.match(text) is not None


def is_figure(text: str) -> bool:
    """Whether a word is a number, a version or a date; `on` and `no` are mostly mere prose."""
    return any(char.isdigit() for char in text) or _DATE_WORDS.match(text) is not None


def is_name(text: str) -> bool:
    """Whether a word looks like the name of something rather than like prose."""
    return _IDENTIFIER.match(text) is not None or (text[:1].isupper() and text.isalnum())


def tokens_of(text: str) -> list[str]:
    """The words, numbers and signs of a text."""
    return _TOKEN.findall(text)


def code_of(text: str) -> set[str]:
    """The words that the text has in code blocks and code spans."""
    return {token for _, block, _, span in _CODE.findall(text) for token in tokens_of(f"{block} {span}")}


def _category(old: str, new: str, hunks: Sequence[tuple[list[_Token], list[_Token]]]) -> Category:
    if not hunks:
        return "format"
    if not any(removed for removed, _ in hunks):
        return "append"
    if not any(added for _, added in hunks):
        return "delete"
    code = code_of(old) | code_of(new)
    if all(removed and added for removed, added in hunks):
        if all(_is_value_swap(*hunk) for hunk in hunks):
            return "value"
        if all(_is_value_swap(*hunk) or _is_name_swap(*hunk, code) for hunk in hunks):
            return "rename"
    return "reword"


def _is_value_swap(removed: Sequence[_Token], added: Sequence[_Token]) -> bool:
    sides = [[token.text for token in side if is_value(token.text)] for side in (removed, added)]
    # r1.url to r1.uri has digits in it and changes none.
    differ = _digits(sides[0]) != _digits(sides[1])
    return differ and all(sides) and max(len(removed), len(added)) <= _LONGEST_VALUE


def _digits(texts: Sequence[str]) -> list[str]:
    """The numbers in the texts; of a text without any, the text."""
    return [digits for text in texts for digits in re.findall(r"\d+", text) or [text]]


def _is_name_swap(removed: Sequence[_Token], added: Sequence[_Token], code: set[str]) -> bool:
    short = max(len(removed), len(added)) <= _LONGEST_NAME
    sides = (removed, added)
    return short and all(any(is_name(token.text) or token.text in code for token in side) for side in sides)


def _tokens(text: str) -> list[_Token]:
    return [_Token(found.group(), found.start(), found.end()) for found in _TOKEN.finditer(text)]


def _words(tokens: Sequence[_Token]) -> list[_Token]:
    """The tokens from the first word to the last, signs between them included."""
    places = [place for place, token in enumerate(tokens) if token.is_word]
    return list(tokens[places[0] : places[-1] + 1]) if places else []


def _edits(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Ranges of both sides that differ; what touches is one edit."""
    edits: list[tuple[int, int, int, int]] = []
    for code in Indel.opcodes(old, new):
        if code.tag == "equal":
            continue
        edit = (code.src_start, code.src_end, code.dest_start, code.dest_end)
        if edits and edits[-1][1] == edit[0] and edits[-1][3] == edit[2]:
            edit = (edits[-1][0], edit[1], edits[-1][2], edit[3])
            edits.pop()
        edits.append(edit)
    return edits


def _slice(text: str, tokens: Sequence[_Token]) -> str:
    return text[tokens[0].start : tokens[-1].end]


def _filled_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def _without_links(lines: list[str]) -> list[str]:
    return [_URL.sub("", line) for line in lines]


def _without_badges(lines: list[str]) -> list[str]:
    return [line for line in lines if not _BADGE_LINE.match(line)]


def _without_credits(lines: list[str]) -> list[str]:
    return [line for line in lines if not _CREDIT_LINE.search(line)]
