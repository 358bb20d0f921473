"""Sections and the table that holds them.

Invariant: a section is a value; every accepted change makes a new one with the next revision, and
nothing is half applied. A refresh is one such change: its edits, sources, instruction, pinned lines and
the new text become the section's state together, when it is done. Refused, superseded or failed, it
leaves the section as it was, so whoever supersedes it states edits against that same revision.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace

from daemon.edits import apply_edits
from daemon.errors import InvalidRequest, StaleRevision, UnknownSession
from daemon.wire import EditsRequest, Kind, OpenRequest, RefreshRequest, SectionState, Source

_SEGMENT = r"(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~:@+-]{1,128}"
_SESSION_ID = re.compile(rf"{_SEGMENT}/{_SEGMENT}/{_SEGMENT}")
_PREFIX = re.compile(rf"{_SEGMENT}/({_SEGMENT}/)?")


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


@dataclass(frozen=True)
class Section:
    """One derived text with what it is written from.

    `written_from` are the sources as they were when `derived` was written; `edited` says that a person
    has changed it since.
    """

    session_id: str
    revision: int
    instruction: str
    sources: tuple[Source, ...]
    derived: str | None
    pinned: tuple[str, ...]
    max_tokens: int
    written_from: tuple[Source, ...]
    edited: bool = False

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
        return replace(self, derived=text, written_from=self.sources, edited=False)

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
    """The sections that are open, by session id."""

    def __init__(self) -> None:
        self._sections: dict[str, Section] = {}

    def __len__(self) -> int:
        return len(self._sections)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sections

    def get(self, session_id: str) -> Section:
        """The section, or UnknownSession."""
        if session_id not in self._sections:
            raise UnknownSession(session_id)
        return self._sections[session_id]

    def open(self, session_id: str, request: OpenRequest) -> Section:
        """Open or replace a section; the revision count of a replaced one goes on."""
        previous = self._sections.get(session_id)
        sources = _distinct(request.sources)
        section = Section(
            session_id=session_id,
            revision=previous.revision + 1 if previous else 1,
            instruction=request.instruction,
            sources=sources,
            derived=request.derived,
            pinned=tuple(request.pinned),
            max_tokens=request.max_tokens,
            written_from=sources,
        )
        self.put(section)
        return section

    def put(self, section: Section) -> None:
        """Make this the section's state."""
        self._sections[section.session_id] = section

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
