"""What an edit says about the stale answer: which draft tokens must not be held on tolerance.

Invariant: pure, and safe by construction: a guarded token is merely held to the exact rule, so a word
guarded for nothing costs a decoded token and never a wrong one. A word counts as removed where the
edit took it out of some place in the sources, even if it stands in another: after two owners swap
tasks, both names are stale where they stood.
"""

import re
from collections.abc import Iterable, Sequence

from rapidfuzz.distance import Levenshtein

from daemon.spans import OldText
from daemon.wire import Source

DIFF_STEPS = 100_000_000
"""Words before times words after, up to which a diff is quick: it holds up everything else meanwhile."""
_WORD = re.compile(r"\w+")
_FUNCTION_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be been by for from has have in is it its of on or that the their these they "
        "this those to was were which will with"
    )
)
"""Words that state no fact by themselves. Negations are not among them."""


def removed_words(before: Sequence[Source], after: Sequence[Source]) -> frozenset[str]:
    """The words, case-folded, that the edit removed or replaced, function words aside.

    All words of a source that is too long to compare count as removed.
    """
    new = {source.name: source.text for source in after}
    removed: set[str] = set()
    for source in before:
        old_words, new_words = _words(source.text), _words(new.get(source.name, ""))
        if len(old_words) * len(new_words) > DIFF_STEPS:
            removed.update(old_words)
            continue
        for step in Levenshtein.opcodes(old_words, new_words):
            if step.tag != "equal":
                removed.update(old_words[step.src_start : step.src_end])
    return frozenset(removed - _FUNCTION_WORDS)


def strict_ranges(stale: OldText, removed: Iterable[str]) -> list[tuple[int, int]]:
    """Draft ranges, end exclusive, of the tokens that touch a removed word of the stale answer."""
    wanted = set(removed)
    return [
        stale.tokens(match.start(), match.end())
        for match in _WORD.finditer(stale.text)
        if match.group().casefold() in wanted
    ]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
