"""Faults put into texts on purpose, to find out whether the judge sees them.

Invariant: the truth of a fault is known from how it is made, and no matcher is asked. A fault is made only
where the text plainly and literally states an expected fact that is more than advisory, and where nothing
that may be another form of the value is left behind (`mentions.has_trace`), so the text that had the fact
right has it wrong. Of a fact of several parts (`all`, `near`) it is enough that one of them is wrong.

- `stale_fact` puts a forbidden value, which the text did not have, in the place of the expected one, and so
  states what is forbidden, whatever else is left;
- `dropped_fact` takes every sentence away that has the value, or the value where that is all there is;
- `truncated` ends the text before the value;
- `shifted_number` changes a digit of the value;
- `negated` denies the value, which is no denial itself, wherever it is stated;
- `swapped_owner` exchanges an owner and another name, so that no sentence has owner and thing (`near`);
- `duplicated` repeats a sentence with a value that may occur only so often as it did (`count`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from bundles import Fact, Unit
from judge.mentions import (
    Range,
    all_mentions,
    has_parts,
    has_trace,
    is_asserted,
    is_stated,
    mentions,
    replaced,
    segment_of,
    segments,
    stated_parts,
)
from judge.outcomes import weighing

FaultKind = Literal[
    "stale_fact", "dropped_fact", "truncated", "shifted_number", "negated", "swapped_owner", "duplicated"
]
FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
_DENIALS = ("not", "no longer")
_NEGATIVE = re.compile(r"(?i)\b(?:no|not|never|none|nobody|without|against|cannot)\b|n['’]t\b")
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][a-z]+(?: [A-Z][a-z]+)?\b")


@dataclass(frozen=True, slots=True)
class Change:
    """A text that was changed on purpose; `fact_id` is the fact that is no longer right, None if all are."""

    kind: str
    text: str
    how: str
    fact_id: str | None = None


def faults(unit: Unit, text: str) -> Iterator[Change]:
    """Every single fault that can be made of a text of this unit; facts of other matchers have none."""
    made: set[tuple[str, str]] = set()
    for change in _faults(unit, text):
        if (change.kind, change.text) not in made:
            made.add((change.kind, change.text))
            yield change


def _faults(unit: Unit, text: str) -> Iterator[Change]:
    for fact in weighing(unit):
        if fact.polarity == "expect" and is_stated(text, fact.condition):
            for spellings in stated_parts(fact.condition):
                places = all_mentions(text, spellings)
                if all(is_asserted(text, place) for place in places):
                    found = _Stated(unit, fact, text, spellings, places)
                    yield from found.stale()
                    yield from found.dropped()
                    yield from found.truncated()
                    yield from found.shifted()
                    yield from found.negated()
            yield from _swapped(unit, fact, text)
        if fact.polarity == "expect" and fact.matcher == "count":
            yield from _duplicated(fact, text)


@dataclass(frozen=True, slots=True)
class _Stated:
    """A part of an expected fact that a text states, at these places and only there."""

    unit: Unit
    fact: Fact
    text: str
    spellings: tuple[str, ...]
    places: list[Range]

    def stale(self) -> Iterator[Change]:
        for stale in _stale_values(self.unit, self.fact, self.spellings):
            if not mentions(self.text, stale) and not any(stale in value for value in self.spellings):
                how = f"{self.spellings[0]!r}: {stale!r} kept"
                yield Change("stale_fact", replaced(self.text, self.places, stale), how, self.fact.fact_id)

    def dropped(self) -> Iterator[Change]:
        gone = {segment_of(self.text, place) for place in self.places}
        left = replaced(self.text, gone, "").strip()
        if not left:
            left = replaced(self.text, self.places, "something")
        yield from self._known("dropped_fact", left, "left out")

    def truncated(self) -> Iterator[Change]:
        start = self.text[: self.places[0][0]].rstrip()
        if start:
            yield from self._known("truncated", start, "cut off before it")

    def shifted(self) -> Iterator[Change]:
        digits = [*re.finditer(r"\d+", self.text[slice(*self.places[0])])]
        if digits:
            old = self.text[slice(*self.places[0])]
            new = old[: digits[-1].end() - 1] + _other_digit(digits[-1].group()) + old[digits[-1].end() :]
            changed = replaced(self.text, self.places, new)
            if new not in self.spellings:
                yield from self._known("shifted_number", changed, f"made {new!r}", put_in=(new,))

    def negated(self) -> Iterator[Change]:
        if any(_NEGATIVE.search(value) for value in self.spellings):
            return
        for denial in _DENIALS:
            changed = self.text
            for start, _ in reversed(self.places):
                changed = f"{changed[:start]}{denial} {changed[start:]}"
            yield from self._known("negated", changed, f"denied by {denial!r}", put_in=self.spellings)

    def _known(
        self, kind: FaultKind, changed: str, how: str, put_in: tuple[str, ...] = ()
    ) -> Iterator[Change]:
        """The fault, unless what is left of the text, but for what was put in, has a trace of the value."""
        rest = replaced(changed, all_mentions(changed, put_in), " ")
        if not has_trace(rest, self.spellings):
            yield Change(kind, changed, f"{self.spellings[0]!r}: {how}", self.fact.fact_id)


def _stale_values(unit: Unit, fact: Fact, spellings: tuple[str, ...]) -> tuple[str, ...]:
    """What the text would have kept in the place of this part of a fact, where the edit brought it.

    Of a fact of several parts, that is what a forbidden one has there, if it is the same in all others. Of a
    single value, it is the forbidden value listed where the expected one is, among those that the sources
    before do not have; or any of them, where the unit does not list as many of the one as of the other.
    """
    ours = stated_parts(fact.condition)
    forbidden = [(other, stated_parts(other.condition)) for other in unit.facts if other.polarity == "forbid"]
    if len(ours) > 1:
        return tuple(
            theirs[at][0]
            for other, theirs in forbidden
            if other.matcher == fact.matcher and len(theirs) == len(ours)
            for at in [ours.index(spellings)]
            if [at] == [n for n, (one, two) in enumerate(zip(ours, theirs, strict=True)) if one != two]
        )
    before = "\n".join(source.text for source in unit.sources_before)
    brought = [
        other
        for other in unit.facts
        if other.polarity == "expect"
        and len(parts := stated_parts(other.condition)) == 1
        and not all_mentions(before, parts[0])
    ]
    values = [theirs[0][0] for _, theirs in forbidden if len(theirs) == 1]
    if fact not in brought:
        return ()
    return (values[brought.index(fact)],) if len(values) == len(brought) else tuple(values)


def _other_digit(number: str) -> str:
    """A last digit that makes the number one less, or one more where that would end it or make it none."""
    last = int(number[-1])
    return str(last - 1 if last and int(number) > 1 else last + 1)


def _swapped(unit: Unit, fact: Fact, text: str) -> Iterator[Change]:
    owners, *things = stated_parts(fact.condition)
    if fact.matcher != "near" or not things or len(owners) > 1:
        return
    owner = owners[0]
    for other in _other_owners(unit, fact, text):
        if any(mentions(one, word) for one, two in ((owner, other), (other, owner)) for word in two.split()):
            continue
        changed = _exchange(text, owner, other)
        after = [changed[start:end] for start, end in segments(changed)]
        with_things = [piece for piece in after if has_parts(piece, things)]
        if with_things and not any(has_trace(piece, [owner]) for piece in with_things):
            yield Change("swapped_owner", changed, f"{owner!r} and {other!r} exchanged", fact.fact_id)
            return


def _other_owners(unit: Unit, fact: Fact, text: str) -> Iterator[str]:
    """Who else the text names: owners of other facts first, then names within its sentences."""
    for other in unit.facts:
        parts = stated_parts(other.condition)
        if other.matcher == "near" and len(parts) > 1 and len(parts[0]) == 1 and mentions(text, parts[0][0]):
            yield parts[0][0]
    own = [value for part in stated_parts(fact.condition) for value in part]
    if own[0][0].isupper():
        for name in dict.fromkeys(_NAME.findall(text)):
            if not any(mentions(value, word) for value in own for word in name.split()):
                yield name


def _exchange(text: str, one: str, other: str) -> str:
    by: Mapping[str, str] = {one.casefold(): other, other.casefold(): one}
    for start, end in reversed(all_mentions(text, [one, other])):
        text = text[:start] + by.get(text[start:end].casefold(), text[start:end]) + text[end:]
    return text


def _duplicated(fact: Fact, text: str) -> Iterator[Change]:
    places = all_mentions(text, fact.values)
    if places and not fact.of and len(places) == fact.at_most:
        start, end = segment_of(text, places[0])
        changed = f"{text[:end]} {text[start:]}"
        yield Change("duplicated", changed, f"{fact.values[0]!r}: said once too often", fact.fact_id)
