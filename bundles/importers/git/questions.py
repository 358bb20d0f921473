"""What to ask about an edited section, and what the answer must then say.

Invariant: a fact is made only where the new text states the new value, the old value is gone from it, and a
right answer to the instruction names the value; so it holds against the new text itself.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from bundles.importers.git.changes import (
    Change,
    Replacement,
    code_of,
    is_figure,
    is_name,
    is_value,
    tokens_of,
)
from bundles.records import Fact, Severity

_VALUES = "List every number, version and date in this section, each with what it stands for."
_NAMES = "List every command, option, file and other name in code in this section, each with what it is for."
_PROPER = (
    "List every person, organisation, product and place named in this section, each with what is said of it."
)
_COMMANDS = "List every command in this section exactly as it is written, each with what it does."
_POINTS = "Summarise this section in three bullet points."
_SENTENCES = "Summarise this section in two or three sentences."
_NOTE = "Say in one short paragraph what a reader of this section has to know."

# More than this, and an answer of usual length need not name them all.
_MOST_LISTED = 12
_MOST_FACTS = 3
_LONGEST_VALUE = 60
_COMMAND_LINE = re.compile(r"\s*(?:\$|pip|npm|git|docker|make|cargo|go|brew|apt(?:-get)?|curl|uv|conda)\s+\S")
_FENCED = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1", re.MULTILINE | re.DOTALL)
_LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+\S", re.MULTILINE)
_NO_UNIT = re.compile(
    r"(?:and|are|but|can|for|from|had|has|have|into|may|must|nor|not|off|one|our|out|over|per|she|should"
    r"|than|that|the|their|then|they|this|through|two|until|was|were|what|when|where|which|while|who|will|with"
    r"|you|your)\Z",
    re.IGNORECASE,
)
_QUOTES = str.maketrans({**dict.fromkeys("‘’ʼ′´", "'"), **dict.fromkeys("“”„″", '"'), "\N{MINUS SIGN}": "-"})


@dataclass(frozen=True, slots=True)
class Question:
    """An instruction for a section, and the facts of the edit that an answer to it shows."""

    instruction: str
    facts: tuple[Fact, ...] = ()

    @property
    def is_canary(self) -> bool:
        """Whether the edit flips a fact: something is expected, and what it replaces forbidden."""
        return {fact.polarity for fact in self.facts} == {"expect", "forbid"}


def question_of(change: Change, old: str, new: str) -> Question:
    """What to ask about an edit, by what it changes and what the section holds."""
    figures = {token for token in tokens_of(new) if is_figure(token)}
    names = {token for token in code_of(new) if is_name(token) or token.isidentifier()}
    if change.category == "value" and len(figures) <= _MOST_LISTED:
        return Question(_VALUES, _facts(change.replacements, old, new))
    shown = [swap for swap in change.replacements if names.intersection(tokens_of(swap.new))]
    if change.category == "rename" and shown and len(names) <= _MOST_LISTED:
        return Question(_NAMES, _facts(shown, old, new))
    proper = [swap for swap in change.replacements if _is_proper(swap.old, old) and _is_proper(swap.new, new)]
    if change.category == "rename" and proper:
        return Question(_PROPER, _facts(proper, old, new))
    if _commands(old) != _commands(new) != []:
        return Question(_COMMANDS)
    if len(_LIST_ITEM.findall(new)) >= 3:
        return Question(_POINTS)
    return Question(_NOTE if change.category == "append" else _SENTENCES)


def _facts(swaps: Sequence[Replacement], old: str, new: str) -> tuple[Fact, ...]:
    """The old value of each pair forbidden and the new one expected, where each says something."""
    before, after = _plain(old), _plain(new)
    expects: list[Fact] = []
    forbids: list[Fact] = []
    for swap in (_with_unit(swap, old, new) for swap in swaps):
        if len(forbids) == _MOST_FACTS or not (_is_telling(swap.old) and _is_telling(swap.new)):
            continue
        if _states(after, swap.old) or not _states_clearly(after, swap.new):
            continue
        # A word of prose may come by chance, and one of several values may be left out of a right answer.
        certain: Severity = "critical" if is_value(swap.old) or is_name(swap.old) else "supporting"
        forbids.append(Fact(f"forbid-{len(forbids) + 1}", "forbid", (swap.old,), "text", certain, "edit"))
        if not _states(before, swap.new):
            asked: Severity = "critical" if len(swaps) == 1 else "supporting"
            expects.append(Fact(f"expect-{len(expects) + 1}", "expect", (swap.new,), "text", asked, "edit"))
    return (*expects, *forbids)


def _with_unit(swap: Replacement, old: str, new: str) -> Replacement:
    """Small numbers with their unit, if it is the same: alone they may number the items of a list."""
    if not all(text.isdecimal() and not _is_telling(text) for text in (swap.old, swap.new)):
        return swap
    units = [_unit_of(number, text) for number, text in ((swap.old, old), (swap.new, new))]
    if units[0] is None or units[0] != units[1]:
        return swap
    return Replacement(f"{swap.old} {units[0]}", f"{swap.new} {units[1]}")


def _unit_of(number: str, text: str) -> str | None:
    """The word after the number, where it stands once, unless it is one that goes on with the sentence."""
    found = re.findall(rf"(?<![\w.,:/-]){number}(?: ([^\W\d_]{{3,}})\b)?(?![\w/]|[.,:-]\d)", text)
    return found[0] if len(found) == 1 and found[0] and not _NO_UNIT.match(found[0]) else None


def _is_proper(name: str, text: str) -> bool:
    """Whether all words have a capital, and not since a sentence begins with it."""
    words = [token for token in tokens_of(name) if token[0].isalnum()]
    if not words or not all(word[0].isupper() for word in words):
        return False
    before = text[: text.find(name)].rstrip(" *_\"'`(")
    return len(words) > 1 or re.search(r"(?:[^\W\d_]|,)\Z", before) is not None


def _commands(text: str) -> list[str]:
    """The lines that are commands: in a block of code, indented as one or after a prompt."""
    lines = [line for _, block in _FENCED.findall(text) for line in block.split("\n")]
    lines += [line for line in text.split("\n") if line.startswith(("    ", "\t", "$ "))]
    return [line.strip() for line in lines if _COMMAND_LINE.match(line)]


def _is_telling(value: str) -> bool:
    """Whether the value in an answer can only be this value: not the number of a list item, say."""
    if not 2 <= len(value) <= _LONGEST_VALUE or "\n" in value or "://" in value:
        return False
    return not (value.isdecimal() and int(value) <= 2 * _MOST_LISTED)


def _states(plain: str, value: str) -> bool:
    """Whether the value stands in the text, however tightly."""
    return re.search(rf"(?<!\w){re.escape(_plain(value))}(?!\w)", plain) is not None


def _states_clearly(plain: str, value: str) -> bool:
    """Whether it stands there apart from everything that might make another value of it."""
    left, right = r"(?:^|(?<!\d)\s|[(\[{\"'`*=>|:])", r"\+?(?:$|\s(?!\d)|[)\]}\"'`*|<]|[.,;:!?](?:\s|$))"
    return re.search(left + re.escape(_plain(value)) + right, plain) is not None


def _plain(text: str) -> str:
    """The text without differences of case, width, composition, dashes, quotes and invisible signs."""
    kept = "".join(char for char in text if unicodedata.category(char) != "Cf").translate(_QUOTES)
    dashed = "".join("-" if unicodedata.category(char) == "Pd" else char for char in kept)
    return " ".join(unicodedata.normalize("NFKC", dashed).casefold().split())
