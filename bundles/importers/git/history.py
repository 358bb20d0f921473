"""Edit sessions out of the history of documents.

Invariant: each unit is one section before and after one commit, verbatim, with where it comes from; the
units of a section are one session, oldest first, wherever the document or the heading was moved. Whatever is
left out is counted under its reason.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from bundles.errors import EmptySuite
from bundles.importers.git.changes import change_of, churn, is_word_list
from bundles.importers.git.pairing import paired
from bundles.importers.git.questions import question_of
from bundles.importers.git.repository import Documents, Repository, Revision, Unreadable
from bundles.importers.git.sections import DocumentKind, Section, document_kind, sections_of
from bundles.importers.imported import Collector, Imported
from bundles.records import Session, Source, Unit

DEFAULT_PATHS = ("**/*.md", "**/*.markdown", "**/*.rst", "**/*.txt")
_Sections = tuple[Section, ...] | Unreadable


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """Which edits are taken: words of a section, the share of its words that changed, and how many."""

    min_words: int = 30
    max_words: int = 300
    max_change: float = 0.5
    limit: int | None = None


def read_history(
    path: Path,
    *,
    patterns: tuple[str, ...] = DEFAULT_PATHS,
    revision: str = "HEAD",
    since: str | None = None,
    limits: HistoryLimits | None = None,
    name: str | None = None,
    strict: bool = False,
) -> Imported:
    """Import the edits of the documents of a git repository, up to a revision, and since a date (ISO 8601).

    The history is streamed, newest commit first, so a limit takes the newest edits. Raises `SuiteError`
    where there is no repository to read, `EmptySuite` where no edit is fit for a unit.
    """
    repository = Repository(path)
    commit = repository.commit(revision)
    origin = _label(repository.name())
    collector = Collector(name or origin.rpartition("/")[2], strict=strict)
    with repository.documents() as documents:
        reader = _Reader(origin, documents, collector, limits or HistoryLimits())
        found_any = False
        for change in repository.revisions(commit, patterns, since):
            found_any = True
            if change is None:
                collector.leave_out("merge commit")
            elif not reader.read(change):
                break
    if not found_any:
        when = "" if since is None else f" since {since[:10]}"
        raise EmptySuite(f"{path}: no commit{when} changes a document that matches {' or '.join(patterns)}")
    for session, unit in reader.found():
        collector.add(f"{path}: commit {unit.attribution['commit'][:12]}", [session], [unit])
    return collector.done(path)


@dataclass
class _Reader:
    """Turns revisions, newest first, into units."""

    origin: str
    documents: Documents
    collector: Collector
    limits: HistoryLimits
    _units: list[tuple[Session, Unit]] = field(default_factory=list)
    _texts: set[int] = field(default_factory=set)
    # What documents and sections came to be called later, by what they are called at the commit at hand.
    _paths: dict[bytes, str] = field(default_factory=dict)
    _keys: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._sections = lru_cache(maxsize=16)(self._read_sections)

    def found(self) -> Iterator[tuple[Session, Unit]]:
        """Sessions and units, oldest first; a session begins with its first edit."""
        opened: dict[str, str] = {}
        for session, unit in reversed(self._units):
            date = opened.setdefault(session.session_id, session.opened_at)
            yield replace(session, opened_at=date), unit

    def read(self, revision: Revision) -> bool:
        """Take the edits of a revision; False once there are as many as are wanted."""
        document = self._paths.setdefault(revision.path, _label(revision.path))
        if revision.old_path != revision.path:
            self._paths[revision.old_path] = document
        if revision.old is None:
            self.collector.leave_out("document added")
        elif revision.new is None:
            self.collector.leave_out("document removed")
        elif not revision.is_file:
            self.collector.leave_out("link or submodule")
        elif revision.old == revision.new:
            self.collector.leave_out("document only moved")
        else:
            self._read_change(revision, document, revision.old, revision.new)
        return not self._is_enough()

    def _is_enough(self) -> bool:
        return self.limits.limit is not None and len(self._units) >= self.limits.limit

    def _read_change(self, revision: Revision, document: str, before: bytes, after: bytes) -> None:
        kind = document_kind(document)
        states = []
        for name in (before, after):
            found = self._sections(name, kind)
            if isinstance(found, Unreadable):
                return self.collector.leave_out(f"document {found.reason}")
            states.append(found)
        old, new = states
        pairs = paired(old, new)
        self.collector.leave_out("section added", len(new) - len(pairs))
        self.collector.leave_out("section removed", len(old) - len(pairs))
        keys = {later.key: self._keys.get((document, later.key), later.key) for _, later in pairs}
        for earlier, later in pairs:
            self._keys[document, earlier.key] = keys[later.key]
            if earlier.text != later.text and not self._is_enough():
                self._take(revision, document, kind, keys[later.key], earlier.text, later.text)
        return None

    def _take(
        self, revision: Revision, document: str, kind: DocumentKind, key: tuple[str, ...], old: str, new: str
    ) -> None:
        """The unit of a section's edit, or the reason why it is none."""
        words = (len(old.split()), len(new.split()))
        if min(words) < self.limits.min_words:
            return self.collector.leave_out(f"section under {self.limits.min_words} words")
        if max(words) > self.limits.max_words:
            return self.collector.leave_out(f"section over {self.limits.max_words} words")
        if is_word_list(new):
            return self.collector.leave_out("section that is a list of single words")
        if reason := churn(old, new):
            return self.collector.leave_out(f"only {reason} changed")
        change = change_of(old, new)
        if change.share > self.limits.max_change:
            return self.collector.leave_out(f"over {self.limits.max_change:.0%} of the words changed")
        texts = hash((old, new))
        if texts in self._texts:
            return self.collector.leave_out("same edit elsewhere")
        self._texts.add(texts)
        section = _label(" / ".join(key))
        session_id = f"{self.origin}/{document}" + (f"#{section}" if section else "")
        question = question_of(change, old, new)
        unit = Unit(
            unit_id=f"{session_id}@{revision.commit[:12]}",
            session_id=session_id,
            instruction=question.instruction,
            sources_before=(Source(document, old),),
            sources_after=(Source(document, new),),
            category=change.category,
            canary=question.is_canary,
            facts=question.facts,
            tags=("git", kind),
            attribution={
                "repo": self.origin,
                "path": _label(revision.path),
                "commit": revision.commit,
                "date": revision.date[:10],
            },
        )
        session = Session(session_id, "git", self.origin, document, section, kind, revision.date)
        return self._units.append((session, unit))

    def _read_sections(self, name: bytes, kind: DocumentKind) -> _Sections:
        text = self.documents.text(name)
        return text if isinstance(text, Unreadable) else sections_of(text, kind)


def _label(name: bytes | str) -> str:
    """A path or name as one line of text, whatever bytes it has."""
    text = name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(
        repr(char)[1:-1] if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char for char in text
    )
