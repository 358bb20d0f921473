"""What an edit says about the stale answer: which values to put into the draft (patch) and which of its
words must not be held on tolerance (guard).

Invariant: pure, and safe by construction: a wrong patch is rejected by the model, which costs tokens, and
a guarded or patched word is merely held to the exact rule. A word counts as removed where the edit took
it out of some place, even if it stands in another: after two owners swap tasks, both names are stale
where they stood. A value is patched only where it is gone from all that the new answer is written from,
pinned lines and those that a person wrote into the old one included. Tolerance is for wording, never for
whether a change shows: where something came that has no place in the stale answer, there is none, and
there is none for the answer's opening. A pinned line that comes or goes is an edit like another; a changed
instruction asks for another text, in which nothing has its place.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex
from rapidfuzz.distance import Levenshtein

from daemon.patched_text import Patch, PatchedText
from daemon.sections import Section
from daemon.spans import OldText
from daemon.variants import variants
from daemon.words import STOP_WORDS, Word, values, words

DIFF_STEPS = 100_000_000
"""Words before times words after, up to which a diff is quick: it holds up everything else meanwhile."""
LONGEST_PHRASE = 6
OPENING = 4
"""Tokens that set an answer's form, such as a list or a sentence, and with it what it can say."""
_LIST_NUMBER = regex.compile(r"^[ \t]*(\d+)[.)][ \t]", regex.MULTILINE)


@dataclass(frozen=True)
class Change:
    """A phrase before the edit, and what stands in its place after it; either may be empty."""

    old: str
    new: str


@dataclass(frozen=True)
class DraftEdit:
    """The stale answer as a draft, the keys of the words that are stale in it, and whether all that came has
    a place in it."""

    draft: PatchedText
    stale_words: frozenset[str]
    has_places: bool


def draft_edit(section: Section) -> DraftEdit:
    """What has happened to the section since its derived text was written."""
    if not section.derived:
        return DraftEdit(PatchedText(""), frozenset(), has_places=True)
    before = {source.name: source.text for source in section.written_from}
    after = {source.name: source.text for source in section.sources}
    instruction, *pinned = section.written_for
    edits = [
        *(change for name in before | after for change in changes(before.get(name, ""), after.get(name, ""))),
        *_pinning(pinned, section),
    ]
    written = section.written or ""
    machine_lines = set(written.split("\n"))
    by_hand = [line for line in section.derived.split("\n") if line not in machine_lines]
    context = [*after.values(), *section.pinned, section.instruction, *by_hand]
    draft = PatchedText(section.derived, patches(section.derived, edits, context))
    stale = stale_words([*edits, *changes(written, section.derived)])
    has_places = instruction == section.instruction and have_places(edits, section.derived)
    return DraftEdit(draft, stale, has_places)


def _pinning(before: Sequence[str], section: Section) -> list[Change]:
    """What pinning changed of the lines that must stand; one that stands already changes nothing."""
    gone = [text for text in before if text not in section.pinned]
    come = [text for text in section.pinned if text not in before]
    come = [text for text in come if f"\n{text}\n" not in f"\n{section.derived}\n"]
    return changes("\n".join(gone), "\n".join(come))


def changes(before: str, after: str) -> list[Change]:
    """What the edit of one text changed, in whole values; of texts too long to compare, everything."""
    old, new = values(before), values(after)
    start = _alike(old, new)
    stop = _alike(old[start:][::-1], new[start:][::-1])
    old, new = old[start : len(old) - stop], new[start : len(new) - stop]
    if len(old) * len(new) > DIFF_STEPS:
        return [Change(before, ""), Change("", after)]
    return [
        Change(_span(before, old[a:b]), _span(after, new[c:d]))
        for a, b, c, d in _differing([word.text for word in old], [word.text for word in new])
    ]


def stale_words(edits: Sequence[Change]) -> frozenset[str]:
    """The keys of the words that the changes removed or replaced, function words aside, and those of the
    other spellings of their values."""
    removed: set[str] = set()
    for change in edits:
        gone = _missing(change.old, change.new)
        starts = {word.start for word in gone}
        whole = [it for it in values(change.old) if not starts.isdisjoint(range(it.start, it.stop))]
        removed.update(word.key for word in gone + whole)
    return frozenset(removed.union(*map(variants, removed)))


def have_places(edits: Sequence[Change], stale: str) -> bool:
    """Whether of each change that brings words, some word that they take the place of stands in the stale
    answer. Where none does, any place of it may be the one at which the new answer comes to them."""
    there = {word.key for word in words(stale) + values(stale)}
    return all(
        not _missing(change.new, change.old) or not there.isdisjoint(stale_words([change]))
        for change in edits
    )


def strict_ranges(draft: OldText, edit: DraftEdit) -> list[tuple[int, int]]:
    """Draft ranges, end exclusive, of the tokens of its opening and of those that touch a stale word; all of
    its tokens where something has no place in it."""
    text = draft.draft.text
    _, end = draft.tokens(0, len(text))
    if not edit.has_places:
        return [(0, end)]
    stale = [word for word in words(text) + values(text) if word.key in edit.stale_words]
    return sorted({(0, min(OPENING, end)), *(draft.tokens(word.start, word.stop) for word in stale)})


def patched_ranges(draft: OldText) -> list[tuple[int, int]]:
    """Draft ranges, end exclusive, of the tokens that touch a patch."""
    return [draft.tokens(place.start, place.stop) for place in draft.draft.places]


def patches(stale: str, edits: Sequence[Change], context: Sequence[str]) -> list[Patch]:
    """Where a replaced phrase stands in the stale answer, though in none of the texts that the new one is
    written from: what replaced it. Not where it was replaced by different phrases."""
    replacements = _replacements(edits)
    starts = {values(change.old)[0].key for change in replacements.values()}
    in_context = {phrase.text for text in context for phrase in _phrases(text, starts)}
    numbered = {match.start(1) for match in _LIST_NUMBER.finditer(stale)}
    found: list[Patch] = []
    for phrase in _phrases(stale, starts):
        change = replacements.get(phrase.key)
        if change is None or phrase.text in in_context or phrase.start in numbered:
            continue
        if "\n" in stale[phrase.start : phrase.stop] or (found and phrase.start < found[-1].stop):
            continue
        new = _in_case_of(phrase.text, change)
        if new != phrase.text:
            found.append(Patch(phrase.start, phrase.stop, new))
    return found


def _replacements(edits: Sequence[Change]) -> dict[str, Change]:
    """By the old phrase's key: the changes that replace a phrase always by the same one, case aside."""
    by_key: dict[str, Change] = {}
    ambiguous: set[str] = set()
    for change in edits:
        old = values(change.old)
        stop_words = all(word.key in STOP_WORDS for word in old)
        if stop_words or len(old) > LONGEST_PHRASE or not change.new:
            continue
        key = _plain(change.old).casefold()
        other = by_key.setdefault(key, change)
        if _plain(other.new).casefold() != _plain(change.new).casefold():
            ambiguous.add(key)
    return {key: change for key, change in by_key.items() if key not in ambiguous}


def _phrases(text: str, starts: set[str]) -> Iterator[Word]:
    """The runs of up to LONGEST_PHRASE values that begin with one of the keys, longest first at each."""
    found = values(text)
    for index, first in enumerate(found):
        if first.key in starts:
            for last in reversed(found[index : index + LONGEST_PHRASE]):
                yield Word(_plain(text[first.start : last.stop]), first.start, last.stop)


def _in_case_of(found: str, change: Change) -> str:
    """The new phrase, in capitals or small letters where the found one differs so from the old."""
    old, new = _plain(change.old), " ".join(change.new.split())
    if found == old:
        return new
    if found.isupper():
        return new.upper()
    if found.islower():
        return new.lower()
    return new[:1].upper() + new[1:] if found[:1].isupper() else new[:1].lower() + new[1:]


def _plain(text: str) -> str:
    """Composed, and with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _missing(text: str, other: str) -> list[Word]:
    """The words of a text that another does not have in their place, function words aside."""
    found = words(text)
    differing = _differing([word.key for word in found], [word.key for word in words(other)])
    return [word for a, b, _, _ in differing for word in found[a:b] if word.key not in STOP_WORDS]


def _span(text: str, run: Sequence[Word]) -> str:
    return text[run[0].start : run[-1].stop] if run else ""


def _alike(left: Sequence[Word], right: Sequence[Word]) -> int:
    """How many words two sequences have in common at their start."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (a, b) in pairs if a.text != b.text), min(len(left), len(right)))


def _differing(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Ranges of `old` and of `new` that differ; neighbours come as one."""
    a = c = 0
    for block in Levenshtein.opcodes(old, new).as_matching_blocks():
        if (a, c) != (block.a, block.b):
            yield a, block.a, c, block.b
        a, c = block.a + block.size, block.b + block.size
