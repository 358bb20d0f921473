from collections.abc import Sequence
from dataclasses import replace

import pytest

from bundles import Change, Event, LineEdit, Reference, SectionState, Session, Source, Unit
from bundles.identity import bundle_id
from bundles.projection import Recorded, recorded_bundle
from bundles.recording import Lost, Unreadable

FRIDAY, MONDAY = (Source("plan", "Launch on Friday."),), (Source("plan", "Launch on Monday."),)
ADDRESS = "acme/plan/intro"


class Section:
    """A section as a daemon would record it."""

    def __init__(self, derived: str | None = None, sources: tuple[Source, ...] = FRIDAY) -> None:
        self.changes: list[Change] = []
        self.open(1, derived, sources)

    def open(self, revision: int, derived: str | None, sources: tuple[Source, ...] = FRIDAY) -> "Section":
        state = SectionState("Summarise.", sources, derived, max_tokens=64)
        return self._add(
            Change(ADDRESS, "opened", revision, self._ts(), state, sources, document_kind="memo")
        )

    def edit(
        self, sources: tuple[Source, ...] | None = None, derived: str | None = None, instruction: str = ""
    ) -> "Section":
        last, state = self._last()
        changed = replace(
            state,
            sources=sources or state.sources,
            derived=derived or state.derived,
            instruction=instruction or state.instruction,
        )
        return self._add(
            replace(
                last,
                type="edited",
                revision=last.revision + 1,
                ts=self._ts(),
                state=changed,
                edited=last.edited or derived is not None,
                numbers={},
                draft=None,
            )
        )

    def refresh(self, text: str, sources: tuple[Source, ...] | None = None, draft: str = "") -> "Section":
        last, state = self._last()
        edits = (LineEdit("derived", 0, 1, (draft,)),) if draft else ()
        return self._add(
            replace(
                last,
                type="refreshed",
                revision=last.revision + 1,
                ts=self._ts(),
                state=replace(state, sources=sources or state.sources, derived=text),
                written_from=sources or state.sources,
                edited=False,
                draft=draft or state.derived,
                edits=edits,
                numbers={"mode": "redraft", "wall_ms": 12.5, "prompt_ms": 3, "algorithm": "adaptive"},
                engine="model@1",
            )
        )

    def end(self, type: str = "deleted") -> "Section":
        last, _ = self._last()
        return self._add(Change(ADDRESS, type, last.revision, self._ts()))  # type: ignore[arg-type]

    def _last(self) -> tuple[Change, SectionState]:
        assert self.changes[-1].state
        return self.changes[-1], self.changes[-1].state

    def _add(self, change: Change) -> "Section":
        self.changes.append(change)
        return self

    def _ts(self) -> str:
        return f"2025-01-02T03:04:{len(self.changes):02}Z"


def project(changes: Sequence[Change | Lost | Unreadable]) -> Recorded:
    recorded = recorded_bundle("prod", changes)
    bundle = recorded.bundle
    assert bundle_id(bundle.sessions, bundle.units, bundle.events) == bundle.bundle_id
    return recorded


def units(section: Section) -> tuple[Unit, ...]:
    return project(section.changes).bundle.units


def test_a_refresh_after_a_changed_source_is_a_unit() -> None:
    (unit,) = units(Section().refresh("On Friday.").refresh("On Monday.", MONDAY))
    assert unit == Unit(
        unit_id="acme/plan/intro@3",
        session_id=ADDRESS,
        instruction="Summarise.",
        sources_before=FRIDAY,
        sources_after=MONDAY,
        stale="On Friday.",
        max_tokens=64,
        reference=Reference("On Monday.", "redraft", 12.5, 3.0),
    )


def test_edits_on_the_way_to_a_refresh_are_one_unit() -> None:
    sunday = (Source("plan", "Launch on Sunday."),)
    (unit,) = units(Section("On Friday.").edit(sunday).edit(MONDAY).refresh("On Monday."))
    assert (unit.sources_before, unit.sources_after, unit.stale) == (FRIDAY, MONDAY, "On Friday.")


@pytest.mark.parametrize("with_the_refresh", [False, True])
def test_a_persons_edit_of_the_text_makes_a_revise_unit(with_the_refresh: bool) -> None:
    section = Section("On Friday.")
    if with_the_refresh:
        section.refresh("Surely Friday.", draft="Friday!")
    else:
        section.edit(derived="Friday!").refresh("Surely Friday.")
    (unit,) = units(section)
    assert (unit.kind, unit.stale, unit.edited) == ("revise", "On Friday.", "Friday!")
    assert unit.sources_before == unit.sources_after == FRIDAY
    assert unit.reference == Reference("Surely Friday.", "redraft", 12.5, 3.0)


@pytest.mark.parametrize(
    "section",
    [
        pytest.param(Section().refresh("On Friday."), id="first text"),
        pytest.param(Section("On Friday.").refresh("On Friday!"), id="nothing changed"),
        pytest.param(Section("On Friday.").edit(instruction="Shout.").refresh("FRIDAY"), id="instruction"),
        pytest.param(Section().edit(derived="Mine.").refresh("Mine!"), id="text that was never generated"),
        pytest.param(Section("On Friday.").edit(MONDAY).edit(FRIDAY).refresh("Friday."), id="there and back"),
    ],
)
def test_what_no_edit_led_to_is_an_event_only(section: Section) -> None:
    bundle = project(section.changes).bundle
    assert bundle.units == ()
    assert len(bundle.events) == len(section.changes)


def test_a_section_opened_again_with_its_own_text_is_edited_by_that() -> None:
    """A client that keeps no state sends everything each time."""
    section = Section().refresh("On Friday.").open(3, "On Friday.", MONDAY).refresh("On Monday.")
    (unit,) = units(section)
    assert (unit.sources_before, unit.sources_after, unit.stale) == (FRIDAY, MONDAY, "On Friday.")
    assert units(Section().refresh("On Friday.").open(3, "Other.", MONDAY).refresh("On Monday.")) == ()


def test_sessions_and_events_tell_the_whole_story() -> None:
    section = Section().refresh("On Friday.").edit(MONDAY).refresh("On Monday.").end()
    bundle = project(section.changes).bundle
    assert bundle.sessions == (
        Session(ADDRESS, "recorder", "acme", "plan", "intro", "memo", "2025-01-02T03:04:00Z"),
    )
    assert [(event.seq, event.type, event.revision) for event in bundle.events] == [
        (0, "opened", 1),
        (1, "refreshed", 2),
        (2, "edited", 3),
        (3, "refreshed", 4),
        (4, "deleted", 4),
    ]
    assert [event.before for event in bundle.events] == [
        None,
        *(change.state for change in section.changes[:-1]),
    ]
    assert bundle.events[3] == Event(
        ADDRESS,
        3,
        "2025-01-02T03:04:03Z",
        "refreshed",
        4,
        before=section.changes[2].state,
        after=section.changes[3].state,
        numbers=section.changes[3].numbers,
        engine="model@1",
    )


@pytest.mark.parametrize("end", ["deleted", "evicted", None])
def test_a_section_opened_anew_is_another_session(end: str | None) -> None:
    section = Section("On Friday.")
    if end:
        section.end(end)
    section.open(1, "On Friday.").refresh("On Monday.", MONDAY)
    bundle = project(section.changes).bundle
    assert [session.session_id for session in bundle.sessions] == [ADDRESS, f"{ADDRESS}#2"]
    assert [unit.unit_id for unit in bundle.units] == [f"{ADDRESS}#2@2"]


@pytest.mark.parametrize(
    ("hole", "said"),
    [
        pytest.param(Lost(1), "records lost, whose is not known: 1", id="lost"),
        pytest.param(
            Unreadable(ADDRESS, 3),
            "section acme/plan/intro, revision 3: a text of it is lost",
            id="unreadable",
        ),
        pytest.param(None, None, id="missing"),
    ],
)
def test_nothing_is_taken_for_known_after_a_hole(hole: Lost | Unreadable | None, said: str | None) -> None:
    section = Section().refresh("On Friday.").edit(derived="Lost.").refresh("On Monday.", MONDAY)
    later = section.refresh("On Friday again.", FRIDAY).changes
    with_hole = [*later[:2], *([hole] if hole else []), *later[3:]]
    recorded = project(with_hole)
    assert [unit.unit_id for unit in recorded.bundle.units] == ["acme/plan/intro@5"]
    assert recorded.skipped == ((said,) if said else ())
    assert recorded.bundle.events[2].before is None


def test_a_unit_that_no_replay_could_run_is_left_out_and_said() -> None:
    recorded = project(Section("On Friday.").refresh("Of nothing.", (Source("\n", "x"),)).changes)
    assert recorded.bundle.units == ()
    assert len(recorded.skipped) == 1
    assert "acme/plan/intro@2" in recorded.skipped[0]


def test_a_longer_record_only_adds() -> None:
    changes = Section().refresh("a").refresh("b", MONDAY).end().open(1, "b").refresh("c", MONDAY).changes
    whole = project(changes).bundle
    for length in range(len(changes)):
        part = project(changes[:length]).bundle
        assert part.units == whole.units[: len(part.units)]
        assert part.events == whole.events[:length]
        assert part.sessions == whole.sessions[: len(part.sessions)]
