from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles import Change, Journal, LineEdit, Recording, SectionState, Source
from bundles.journal_reader import read_journal, segment_path
from bundles.recording import Lost, Unreadable, read_changes

STATE = SectionState("Summarise.", (Source("plan", "Launch on Friday."),), None, ("Keep.",), 64)
OPENED = Change("acme/plan/intro", "opened", 1, "2025-01-02T03:04:05Z", STATE, STATE.sources)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "prod"


def record(folder: Path, *changes: Change) -> None:
    with Journal.open(folder) as journal:
        recording = Recording.of(journal)
        for change in changes:
            recording.submit(change).result()


def refreshed(change: Change, text: str) -> Change:
    assert change.state
    return replace(
        change,
        type="refreshed",
        revision=change.revision + 1,
        state=replace(change.state, derived=text),
        draft=change.state.derived,
        numbers={"wall_ms": 1.5, "mode": "redraft", "exact": True, "algorithm": None, "tokens": 7},
        engine="model@1",
    )


def gone(change: Change) -> Change:
    return replace(change, type="deleted", state=None, written_from=())


def texts(folder: Path) -> list[bytes]:
    return [frame.payload[1:] for frame in read_journal(folder) if frame.payload.startswith(b"T")]


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
any_sources = st.lists(st.builds(Source, any_text, any_text), max_size=2).map(tuple)
any_texts = st.lists(any_text, max_size=2).map(tuple)
any_change = st.builds(
    Change,
    section=st.sampled_from(["a/b/c", "a/b/d"]),
    type=st.sampled_from(["opened", "edited", "refreshed", "deleted", "evicted"]),
    revision=st.integers(1, 9),
    ts=any_text,
    state=st.none()
    | st.builds(SectionState, any_text, any_sources, st.none() | any_text, any_texts, st.none()),
    written_from=any_sources,
    written_for=any_texts,
    edited=st.booleans(),
    written=st.none() | any_text,
    draft=st.none() | any_text,
    edits=st.lists(
        st.builds(LineEdit, st.sampled_from(["source", "derived"]), st.just(0), st.just(1), any_texts),
        max_size=1,
    ).map(tuple),
    numbers=st.dictionaries(any_text, st.none() | st.integers() | st.floats(allow_nan=False) | any_text),
    engine=any_text,
    document_kind=any_text,
)


@settings(max_examples=40)
@given(changes=st.lists(any_change, max_size=6))
def test_changes_are_read_as_they_were_submitted(
    changes: list[Change], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("journals") / "prod"
    record(folder, *changes)
    assert list(read_changes(read_journal(folder))) == changes
    found = texts(folder)
    assert len(found) == len(set(found))


def test_a_restarted_daemon_finds_each_open_section_as_it_was_left(folder: Path) -> None:
    other = replace(OPENED, section="acme/plan/end")
    dropped = replace(OPENED, section="acme/plan/gone")
    last = refreshed(OPENED, "Friday it is.")
    record(folder, OPENED, dropped, other, last, gone(dropped))
    with Journal.open(folder) as journal:
        recording = Recording.of(journal)
        assert recording.live == {"acme/plan/end": other, "acme/plan/intro": last}
        assert recording.said == []


def test_a_text_is_written_once_also_after_a_restart(folder: Path) -> None:
    record(folder, OPENED, refreshed(OPENED, "Friday."))
    record(folder, refreshed(OPENED, "Friday."), refreshed(OPENED, "Monday."))
    assert sorted(texts(folder)) == sorted(
        [
            b'["instruction","","Summarise."]\n',
            b'["source","plan","Launch on Friday."]\n',
            b'["derived","","Friday."]\n',
            b'["derived","","Monday."]\n',
        ]
    )


def test_a_text_that_is_forgotten_is_written_again_and_nothing_is_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bundles.recording.MOST_KNOWN", 2)
    changes = [OPENED]
    for number in range(8):
        changes.append(refreshed(changes[-1], f"answer {number}"))
    record(folder, *changes)
    plan = [text for text in texts(folder) if b"Launch on Friday." in text]
    assert 1 < len(plan) < len(changes)
    assert list(read_changes(read_journal(folder))) == changes
    with Journal.open(folder) as journal:
        assert Recording.of(journal).live == {OPENED.section: changes[-1]}


def test_a_text_whose_writing_failed_is_written_with_the_next_change(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with Journal.open(folder) as journal:
        recording = Recording.of(journal)
        with monkeypatch.context() as full:
            full.setattr("os.pwrite", refuse)
            assert recording.submit(OPENED).exception()
        recording.submit(OPENED).result()
    assert list(read_changes(read_journal(folder))) == [OPENED]


def test_changes_submitted_together_go_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(OPENED, section="acme/plan/end")
    with Journal.open(folder) as journal:
        recording = Recording.of(journal)
        done: Future[None] = recording.submit(OPENED, other)
        done.result()
    assert list(read_changes(read_journal(folder))) == [OPENED, other]
    assert len(texts(folder)) == 2


def test_a_section_whose_text_is_lost_is_named_and_not_restored(folder: Path) -> None:
    other = replace(OPENED, section="acme/plan/end")
    record(folder, other, refreshed(OPENED, "Friday it is."))
    path = segment_path(folder, 1)
    path.write_bytes(path.read_bytes().replace(b"Friday it is.", b"Monday it is."))
    with Journal.open(folder) as journal:
        recording = Recording.of(journal)
        assert recording.live == {"acme/plan/end": other}
        assert recording.said == [
            f"{folder}: section acme/plan/intro, revision 2: a text of it is lost, the section is not"
            " restored: open it anew"
        ]
        assert list(read_changes(journal.read())) == [other, Lost(1), Unreadable("acme/plan/intro", 2)]
        recording.submit(refreshed(OPENED, "Friday it is.")).result()
        assert "acme/plan/intro" in Recording.of(journal).live
