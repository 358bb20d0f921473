"""Sections and the table that holds them.

Invariant: a section is a value; every accepted change makes a new one with the next revision, and
nothing is half applied. A refresh is one such change: its edits, sources, instruction, pinned lines and
the new text become the section's state together, when it is done. Refused, superseded or failed, it
leaves the section as it was, so whoever supersedes it states edits against that same revision.
"""

import re
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice

from daemon.edits import apply_edits
from daemon.errors import InvalidRequest, StaleRevision, UnknownSession
from daemon.wire import EditsRequest, Kind, OpenRequest, RefreshRequest, SectionState, Source

SEGMENT = r"[A-Za-z0-9._~:@+-]{1,128}"
_SEGMENT = rf"(?!\.{{1,2}}(?:/|\Z)){SEGMENT}"
_SESSION_ID = re.compile(rf"{_SEGMENT}/{_SEGMENT}/{_SEGMENT}")
_PREFIX = re.compile(rf"{_SEGMENT}/({_SEGMENT}/)?")
_ONE_SEGMENT = re.compile(_SEGMENT)


def is_segment(text: str) -> bool:
    """Whether this can be a tenant, a document or a section."""
    return _ONE_SEGMENT.fullmatch(text) is not None


def checked_session_id(session_id: str) -> str:
    """The id, if it reads `tenant/document/section`."""
    if not _SESSION_ID.fullmatch(session_id):
        raise InvalidRequest(
            "bad_session_id",
            "a section is tenant/document/section, each 1 to 128 of A-Z a-z 0-9 . _ ~ : @ + -"
            " and neither . nor ..",
        )
    return session_id


def checked_prefix(prefix: str) -> str:
    """The prefix, if it reads `tenant/` or `tenant/document/`."""
    if not _PREFIX.fullmatch(prefix):
        raise InvalidRequest("bad_prefix", "a prefix is tenant/ or tenant/document/, with the last slash")
    return prefix


def tenant_of(session_id_or_prefix: str) -> str:
    """Whose it is."""
    return session_id_or_prefix.partition("/")[0]


@dataclass(frozen=True)
class Section:
    """One derived text with what it is written from.

    `written` is the derived text as it was generated or given, `written_from` are the sources of that
    moment, `written_for` its instruction and then its pinned lines; `edited` says that a person has changed
    the text since.
    """

    session_id: str
    revision: int
    instruction: str
    sources: tuple[Source, ...]
    derived: str | None
    pinned: tuple[str, ...]
    max_tokens: int
    written: str | None
    written_from: tuple[Source, ...]
    written_for: tuple[str, ...]
    edited: bool = False

    @classmethod
    def opened(cls, session_id: str, request: OpenRequest, previous: "Section | None" = None) -> "Section":
        """What the request opens; the revision count of a section that it replaces goes on."""
        sources = _distinct(request.sources)
        return cls(
            session_id=session_id,
            revision=previous.revision + 1 if previous else 1,
            instruction=request.instruction,
            sources=sources,
            derived=request.derived,
            pinned=tuple(request.pinned),
            max_tokens=request.max_tokens,
            written=request.derived,
            written_from=sources,
            written_for=(request.instruction, *request.pinned),
        )

    @property
    def kind(self) -> Kind:
        """What the next refresh does."""
        return "revise" if self.edited else "rederive"

    def changed(self, request: EditsRequest | RefreshRequest) -> "Section":
        """The section after the request's changes; its edits see the sources that the request brings."""
        if request.base_revision is not None and request.base_revision != self.revision:
            raise StaleRevision(request.base_revision, self.revision)
        sources, instruction = self.sources, self.instruction
        if isinstance(request, RefreshRequest):
            sources = self.sources if request.sources is None else _distinct(request.sources)
            instruction = self.instruction if request.instruction is None else request.instruction
        sources, derived = apply_edits(sources, self.derived, request.edits)
        return replace(
            self,
            revision=self.revision + 1,
            instruction=instruction,
            sources=sources,
            derived=derived,
            pinned=self.pinned if request.pinned is None else tuple(request.pinned),
            edited=self.edited or any(edit.target == "derived" for edit in request.edits),
        )

    def refreshed(self, text: str) -> "Section":
        """The section with its new text."""
        return replace(
            self,
            derived=text,
            written=text,
            written_from=self.sources,
            written_for=(self.instruction, *self.pinned),
            edited=False,
        )

    def state(self) -> SectionState:
        """The answer to GET."""
        return SectionState(
            session_id=self.session_id,
            revision=self.revision,
            instruction=self.instruction,
            sources=list(self.sources),
            derived=self.derived,
            pinned=list(self.pinned),
            max_tokens=self.max_tokens,
        )


class SectionTable:
    """The sections that are open, by session id; the ones not used for longest make room for new ones.

    At most `most` in all and `most_per_tenant` of one tenant, except that those which `busy` names stay:
    then there may be more until the next one opens.
    """

    def __init__(self, most: int, most_per_tenant: int, busy: Container[str]) -> None:
        self._most = most
        self._most_per_tenant = most_per_tenant
        self._busy = busy
        self._sections: dict[str, Section] = {}  # longest unused first
        self._coming: dict[str, list[str]] = {}  # new ones, and those that they take the place of

    def __len__(self) -> int:
        return len(self._sections)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sections

    def get(self, session_id: str) -> Section:
        """The section, or UnknownSession; this is a use of it."""
        section = self._sections.pop(session_id, None)
        if section is None:
            raise UnknownSession(session_id)
        self._sections[session_id] = section
        return section

    def put(self, section: Section) -> None:
        """Make this the section's state."""
        self._sections.pop(section.session_id, None)
        self._sections[section.session_id] = section

    @contextmanager
    def room(self, session_id: str) -> Iterator[tuple[Section, ...]]:
        """Keep a place for a section that is to be put; those that have to be dropped for it."""
        if session_id in self._sections:
            yield ()
            return
        self._coming[session_id] = gone = self._outgoing(session_id)
        try:
            yield tuple(self._sections[other] for other in gone)
        finally:
            del self._coming[session_id]

    def _outgoing(self, session_id: str) -> list[str]:
        """The first ones that are in nobody's use, as many as there would be too many."""
        gone = [other for leaving in self._coming.values() for other in leaving]
        before = len(gone)
        for prefix, most in ((f"{tenant_of(session_id)}/", self._most_per_tenant), ("", self._most)):
            staying = [other for other in self.under(prefix) if other not in gone]
            coming = [other for other in self._coming if other.startswith(prefix)]
            idle = (other for other in staying if other not in self._busy)
            gone += islice(idle, max(0, len(staying) + len(coming) + 1 - most))
        return gone[before:]

    def under(self, prefix: str) -> list[str]:
        """The ids that start with the prefix."""
        return [session_id for session_id in self._sections if session_id.startswith(prefix)]

    def drop(self, session_id: str) -> bool:
        """Forget a section; False when there was none."""
        return self._sections.pop(session_id, None) is not None


def _distinct(sources: list[Source]) -> tuple[Source, ...]:
    name, count = Counter(source.name for source in sources).most_common(1)[0] if sources else ("", 0)
    if count > 1:
        raise InvalidRequest("invalid_request", f"{count} sources are named {name!r}: give each its own name")
    return tuple(sources)
