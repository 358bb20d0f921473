"""What an import gave and what it left out.

Invariant: nothing is left out without a word: an entry that is not right is named with its place, as a
whole, and what a rule leaves out is counted under its reason.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bundles.assembly import check_session, check_unit
from bundles.brief import brief
from bundles.errors import EmptySuite, SuiteError
from bundles.identity import bundle_id
from bundles.importers.parsing import Unparsable
from bundles.records import Bundle, Session, Unit
from bundles.text import check_id

Found = tuple[Iterable[Session], Sequence[Unit]]


@dataclass(frozen=True, slots=True)
class Imported:
    """A bundle; one line for each entry that was left out, saying where and why; counts by other reason."""

    bundle: Bundle
    skipped: tuple[str, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """One line: how many units came in, how many things did not, and why."""
        return f"{len(self.bundle.units)} imported" + _because(len(self.skipped), self.reasons)


class Collector:
    """Gathers the sessions and units of an import, entry by entry."""

    def __init__(self, name: str, *, strict: bool = False) -> None:
        check_id("bundle name", name)
        self.units: list[Unit] = []
        self.skipped: list[str] = []
        self.reasons: Counter[str] = Counter()
        self._name = name
        self._strict = strict
        self._sessions: dict[str, Session] = {}
        self._places: dict[str, str] = {}
        self._unparsable: str | None = None

    def take(self, place: str, load: Callable[[], Found]) -> None:
        """Add what an entry gives, all of it or, where something is not right, nothing.

        Raises `SuiteError` in the second case if the import is strict.
        """
        try:
            sessions, units = load()
            for unit in units:
                check_unit(unit)
                if taken := self._places.get(unit.unit_id):
                    raise SuiteError(f"unit {brief(unit.unit_id)}: the id is taken, see {taken}")
            for session in sessions:
                check_session(session)
        except SuiteError as error:
            message = f"{place}: {error}"
            if self._strict:
                raise SuiteError(message) from None
            self.skipped.append(message)
            if isinstance(error, Unparsable):
                self._unparsable = self._unparsable or message
        else:
            self.units += units
            self._places |= {unit.unit_id: place for unit in units}
            for session in sessions:
                self._sessions.setdefault(session.session_id, session)

    def add(self, place: str, sessions: Iterable[Session], units: Sequence[Unit]) -> None:
        """Add sessions and units that stand at a place, as `take` does."""
        self.take(place, lambda: (sessions, units))

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Note something that a rule leaves out."""
        if count:
            self.reasons[reason] += count

    def done(self, origin: object) -> Imported:
        """What was gathered from `origin`; raises `EmptySuite` where that is nothing."""
        if not self.units and self._unparsable:
            raise SuiteError(self._unparsable)
        if not self.units:
            first = f", the first: {self.skipped[0]}" if self.skipped else ""
            raise EmptySuite(f"{origin}: no usable unit{_because(len(self.skipped), self.reasons)}{first}")
        sessions = tuple(self._sessions.values())
        bundle = Bundle(bundle_id(sessions, self.units), self._name, sessions, tuple(self.units))
        return Imported(bundle, tuple(self.skipped), dict(self.reasons.most_common()))


def _because(broken: int, reasons: Mapping[str, int]) -> str:
    if not broken and not reasons:
        return ""
    why = [f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda item: -item[1])]
    if broken:
        why.insert(0, f"{broken} not right")
    total = broken + sum(reasons.values())
    return f", {total} skipped" + (f" because: {', '.join(why)}" if reasons else "")
