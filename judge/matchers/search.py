"""Whether a text fulfils a condition, and where.

Invariant: only places whose standing is accepted count, in every part of the condition alike. A condition
that cannot be looked for raises `FactError` whatever the text.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from bundles import Condition
from judge.errors import FactError
from judge.matchers.date import find_date, parse_date
from judge.matchers.near import find_near
from judge.matchers.number import find_number, parse_number
from judge.matchers.pattern import compile_pattern, find_pattern
from judge.matchers.standing import Standing, standing
from judge.matchers.text import find_text
from judge.normalize import Range, normalize

SIMPLE = ("text", "number", "date", "pattern")
_COMBINING = ("near", "all", "any", "count")


class Found(NamedTuple):
    """Whether a text fulfils a condition, the first place it rests on, and how often a `count` counted.

    There is no place where a condition is fulfilled by an absence. `other` is the first place that speaks of
    a plain condition in a way that is not accepted.
    """

    holds: bool
    place: Range | None = None
    times: int = 0
    other: Range | None = None


def fulfils(condition: Condition, text: str, accepted: Collection[Standing]) -> Found:
    """Whether the text fulfils the condition in one of the accepted ways."""
    match condition.matcher:
        case "near" | "count":
            places = _places(condition, text, accepted)
            holds = bool(places) if condition.matcher == "near" else _is_count(condition, len(places))
            return Found(holds, places[0] if places else None, len(places))
        case "all":
            found = [fulfils(part, text, accepted) for part in parts_of(condition)]
            return Found(all(part.holds for part in found), _earliest(found))
        case "any":
            found = [fulfils(part, text, accepted) for part in parts_of(condition)]
            return Found(any(part.holds for part in found), _earliest(part for part in found if part.holds))
        case _:
            places, others = [], []
            for value in condition.values:
                for place in _find(condition, value, text):
                    if standing(text, place) in accepted:
                        places.append(place)
                        break
                    others.append(place)
            return Found(bool(places), min(places, default=None), other=min(others, default=None))


def check_condition(condition: Condition) -> None:
    """Raise `FactError`, saying why, where the condition cannot be looked for in any text."""
    if reason := _flaw(condition):
        raise FactError(reason)


@lru_cache(maxsize=4096)
def parts_of(condition: Condition) -> tuple[Condition, ...]:
    """What a condition of conditions is made of, its plain values first."""
    return (*(Condition(values=(value,)) for value in condition.values), *condition.of)


def _places(condition: Condition, text: str, accepted: Collection[Standing]) -> list[Range]:
    """All places that the condition rests on, first to last; none where it is not fulfilled."""
    match condition.matcher:
        case "near":
            parts = list(_together(condition))
            if not all(fulfils(part, text, accepted).holds for part in parts):
                return []
            return sorted(find_near(text, [_places(part, text, accepted) for part in parts]))
        case "count":
            return _apart(sorted({p for part in parts_of(condition) for p in _places(part, text, accepted)}))
        case "all":
            found = [_places(part, text, accepted) for part in parts_of(condition)]
            return sorted({place for places in found for place in places}) if all(found) else []
        case "any":
            return sorted({place for part in parts_of(condition) for place in _places(part, text, accepted)})
        case _:
            everywhere = {place for value in condition.values for place in _find(condition, value, text)}
            return sorted(place for place in everywhere if standing(text, place) in accepted)


def _earliest(found: Iterable[Found]) -> Range | None:
    return min((part.place for part in found if part.place), default=None)


def _together(condition: Condition) -> Iterator[Condition]:
    """The parts of `near`, among them those of an `all` in it."""
    for part in parts_of(condition):
        if part.matcher == "all":
            yield from _together(part)
        else:
            yield part


def _is_count(condition: Condition, times: int) -> bool:
    least = condition.at_least if condition.at_least is not None else int(condition.at_most is None)
    return least <= times and (condition.at_most is None or times <= condition.at_most)


def _apart(places: Sequence[Range]) -> list[Range]:
    """The places without those that overlap the one before."""
    kept: list[Range] = []
    for place in places:
        if not kept or place[0] >= kept[-1][1]:
            kept.append(place)
    return kept


def _find(condition: Condition, value: str, text: str) -> Iterator[Range]:
    match condition.matcher:
        case "text":
            return find_text(value, text)
        case "pattern":
            return find_pattern(value, text)
        case "number":
            number = parse_number(value)
            assert number is not None  # checked before anything is looked for
            return find_number(number, text, condition.fraction)
        case _:
            date = parse_date(value)
            assert date is not None
            return find_date(date, text)


@lru_cache(maxsize=4096)
def _flaw(condition: Condition) -> str | None:
    if condition.matcher not in (*SIMPLE, *_COMBINING):
        return f"matcher {condition.matcher!r} is not available"
    if not condition.values and not (condition.of and condition.matcher in _COMBINING):
        return "the fact has no value"
    for value in condition.values:
        if reason := _value_flaw(condition.matcher, value):
            return reason
    return next((reason for part in condition.of if (reason := _flaw(part))), None)


def _value_flaw(matcher: str, value: str) -> str | None:
    if not normalize(value).text.strip():
        return "the fact has an empty value"
    if matcher == "number" and parse_number(value) is None:
        return f"{value!r} is not one number with at most one unit"
    if matcher == "date" and parse_date(value) is None:
        return f"{value!r} is not one date that can be read in one way only"
    if matcher == "pattern":
        try:
            compile_pattern(value)
        except FactError as error:
            return str(error)
    return None
