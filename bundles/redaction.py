"""Bundles without the names that are in them.

Invariant: whatever is replaced has the same pseudonym in every text and id of a bundle, and in every bundle
that is redacted with the same key; without the key none can be guessed back. Facts say of the redacted texts
what they said of the texts before, or the redaction is refused.
"""

import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import regex

from bundles.assembly import bundle_of
from bundles.brief import brief
from bundles.conditions import check_condition
from bundles.errors import SuiteError
from bundles.records import Bundle, Condition, Event, Fact, LineEdit, SectionState, Session, Source, Unit

# Shorter names are words that texts are full of: they are replaced in ids alone.
_SHORTEST_IN_TEXTS = 3
_TIMEOUT_S = 10
_FLAGS = regex.IGNORECASE | regex.FULLCASE
# Underscores part words, for ids are made with them.
_WORD = r"(?<![^\W_]){}(?![^\W_])"


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted bundle; how many different values of each sort were replaced, and in how many places."""

    bundle: Bundle
    values: Mapping[str, int]
    places: int


def redact(bundle: Bundle, key: bytes, patterns: Sequence[str] = (), name: str | None = None) -> Redacted:
    """Replace tenants, documents and what the patterns match (regular expressions) by pseudonyms.

    Raises `SuiteError` for a pattern that is none or takes too long, and where a fact cannot be kept true.
    """
    for pattern in patterns:
        check_condition("pattern", Condition("pattern", (pattern,)))
    names = {
        "tenant": {session.tenant for session in bundle.sessions if session.tenant.strip()},
        "document": {session.document_id for session in bundle.sessions if session.document_id.strip()},
    }
    pen = _Pen(key, names, [regex.compile(pattern) for pattern in patterns])
    done = bundle_of(
        pen.text(f"{bundle.name} redacted") if name is None else name,
        [_session(session, pen) for session in bundle.sessions],
        [_unit(unit, pen) for unit in bundle.units],
        [_event(event, pen) for event in bundle.events],
    )
    values = Counter(pseudonym.partition("-")[0] for pseudonym in pen.used)
    return Redacted(done, dict(values), pen.places)


@dataclass
class _Pen:
    """Replaces what must not be read."""

    key: bytes
    names: Mapping[str, set[str]]
    patterns: Sequence["regex.Pattern[str]"]
    used: set[str] = field(default_factory=set)
    places: int = 0

    def __post_init__(self) -> None:
        self._sorts = {name.casefold(): sort for sort, found in self.names.items() for name in found}
        every = sorted({name for found in self.names.values() for name in found})
        self._in_ids = _words(every)
        self._in_texts = _words([name for name in every if len(name) >= _SHORTEST_IN_TEXTS])
        self._spans = lru_cache(maxsize=4096)(self._find)

    def text(self, text: str) -> str:
        """A text without names and matches."""
        return self._replaced(text, self.spans(text))

    def id(self, text: str) -> str:
        """An id or name without them, however short they are."""
        return self._replaced(text, self._spans(text, True))

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """The ranges of a text that are replaced."""
        return self._spans(text, False)

    def pseudonym(self, value: str) -> str:
        """What stands in place of a value; the same for `Acme` and `acme`."""
        folded = value.casefold()
        sort = self._sorts.get(folded, "redacted")
        digest = hmac.new(self.key, folded.encode(), hashlib.sha256).hexdigest()
        return f"{sort}-{digest[:10]}"

    def _find(self, text: str, is_id: bool) -> tuple[tuple[int, int], ...]:
        names = self._in_ids if is_id else self._in_texts
        found: list[tuple[int, int]] = []
        for pattern in (names, *self.patterns):
            try:
                found += [match.span() for match in pattern.finditer(text, timeout=_TIMEOUT_S)]
            except TimeoutError:
                raise SuiteError(
                    f"pattern {brief(pattern.pattern)} takes too long, make it simpler"
                ) from None
        return tuple(_within_lines(text, _united(found)))

    def _replaced(self, text: str, spans: Sequence[tuple[int, int]]) -> str:
        pieces, end = [], 0
        for start, stop in spans:
            pseudonym = self.pseudonym(text[start:stop])
            self.used.add(pseudonym)
            self.places += 1
            pieces += [text[end:start], pseudonym]
            end = stop
        return "".join([*pieces, text[end:]])


def _words(names: Sequence[str]) -> "regex.Pattern[str]":
    """Any of the names, but not within a longer word."""
    return regex.compile(_WORD.format(r"\L<names>"), flags=_FLAGS, names=list(names) or ["\0" * 9])


def _united(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges that overlap as one, for what sticks out of another would stay readable."""
    united: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if united and start < united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return united


def _within_lines(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges without line feeds, so that every line stays the line that it is."""
    pieces = []
    for start, end in spans:
        for line in text[start:end].split("\n"):
            if line:
                pieces.append((start, start + len(line)))
            start += len(line) + 1
    return pieces


def _session(session: Session, pen: _Pen) -> Session:
    return replace(
        session,
        session_id=pen.id(session.session_id),
        tenant=pen.id(session.tenant),
        document_id=pen.id(session.document_id),
        section_id=pen.text(session.section_id),
    )


def _unit(unit: Unit, pen: _Pen) -> Unit:
    done = replace(
        unit,
        unit_id=pen.id(unit.unit_id),
        session_id=pen.id(unit.session_id),
        instruction=pen.text(unit.instruction),
        sources_before=_sources(unit.sources_before, pen),
        sources_after=_sources(unit.sources_after, pen),
        category=pen.text(unit.category),
        stale=_maybe(unit.stale, pen),
        edited=_maybe(unit.edited, pen),
        pinned=tuple(map(pen.text, unit.pinned)),
        tags=tuple(map(pen.text, unit.tags)),
        attribution={name: pen.text(value) for name, value in unit.attribution.items()},
        reference=unit.reference and replace(unit.reference, text=pen.text(unit.reference.text)),
    )
    texts = _Texts(tuple(zip(_texts_of(unit), _texts_of(done), strict=True)), pen)
    return replace(done, facts=tuple(_fact(unit, fact, texts) for fact in unit.facts))


def _texts_of(unit: Unit) -> tuple[str, ...]:
    return tuple(source.text for source in (*unit.sources_before, *unit.sources_after))


def _event(event: Event, pen: _Pen) -> Event:
    return replace(
        event,
        session_id=pen.id(event.session_id),
        before=_state(event.before, pen),
        after=_state(event.after, pen),
        edits=tuple(_edit(edit, pen) for edit in event.edits),
        numbers={
            name: pen.text(value) if isinstance(value, str) else value
            for name, value in event.numbers.items()
        },
    )


def _state(state: SectionState | None, pen: _Pen) -> SectionState | None:
    return state and replace(
        state,
        instruction=pen.text(state.instruction),
        sources=_sources(state.sources, pen),
        derived=_maybe(state.derived, pen),
        pinned=tuple(map(pen.text, state.pinned)),
    )


def _edit(edit: LineEdit, pen: _Pen) -> LineEdit:
    source = None if edit.source is None else pen.id(edit.source)
    return replace(edit, lines=tuple(map(pen.text, edit.lines)), source=source)


def _sources(sources: Sequence[Source], pen: _Pen) -> tuple[Source, ...]:
    return tuple(Source(pen.id(source.name), pen.text(source.text)) for source in sources)


def _maybe(text: str | None, pen: _Pen) -> str | None:
    return None if text is None else pen.text(text)


@dataclass(frozen=True, slots=True)
class _Texts:
    """The sources of a unit, before and after redaction."""

    pairs: tuple[tuple[str, str], ...]
    pen: _Pen

    def value(self, value: str) -> str:
        """What a value of a fact is now: redacted, or the pseudonym of what it is a part of."""
        redacted = self.pen.text(value)
        if redacted != value or any(_has("text", after, value) for _, after in self.pairs):
            return redacted
        hidden = (text[start:end] for text, _ in self.pairs for start, end in self.pen.spans(text))
        digits = _digits(value)
        of = (span for span in hidden if _has("text", span, value) or (digits and _digits(span) == digits))
        return next(map(self.pen.pseudonym, of), value)

    def agree(self, matcher: str, value: str, now: str) -> bool:
        """Whether what stood in a text still stands in it, and what did not still does not."""
        return all(
            _has(matcher, after, now)
            if _has(matcher, before, value)
            else now != value or not _has(matcher, after, now)
            for before, after in self.pairs
        )


def _fact(unit: Unit, fact: Fact, texts: _Texts) -> Fact:
    label = f"unit {brief(unit.unit_id)}, fact {brief(fact.fact_id)}"
    done = _condition(label, fact.condition, texts)
    return replace(
        fact,
        fact_id=texts.pen.text(fact.fact_id),
        matcher=done.matcher,
        values=done.values,
        of=done.of,
        fraction=done.fraction,
    )


def _condition(label: str, condition: Condition, texts: _Texts) -> Condition:
    values = tuple(map(texts.value, condition.values))
    is_pattern = condition.matcher == "pattern"
    for value, now in zip(condition.values, values, strict=True):
        if not texts.agree("pattern" if is_pattern else "text", value, now):
            raise SuiteError(
                f"{label}: {brief(value)} would not mean the same in the redacted texts, rewrite it"
            )
    # A pseudonym is no number and no date.
    as_text = values != condition.values and condition.matcher in ("number", "date")
    return replace(
        condition,
        matcher="text" if as_text else condition.matcher,
        fraction=condition.fraction and not as_text,
        values=values,
        of=tuple(_condition(label, part, texts) for part in condition.of),
    )


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _has(matcher: str, text: str, value: str) -> bool:
    is_pattern = matcher == "pattern"
    pattern, flags = (value, 0) if is_pattern else (_WORD.format(regex.escape(value)), _FLAGS)
    try:
        return regex.search(pattern, text, flags=flags, timeout=_TIMEOUT_S) is not None
    except TimeoutError:
        raise SuiteError(f"pattern {brief(pattern)} takes too long, make it simpler") from None
