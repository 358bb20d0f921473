"""What a daemon records, what it finds when it starts again, and what it does when it cannot record."""

import asyncio
import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bundles
from bundles import Change, Journal, Recording, Store
from bundles.journal_reader import read_journal
from bundles.recording import read_changes
from daemon.errors import DaemonError
from daemon.journal_recorder import JournalRecorder, _section, journal_folder, recorded_changes
from daemon.recorder import Edited, Opened
from daemon.sections import Section
from daemon.wire import (
    DoneEvent,
    Edit,
    EditsRequest,
    ErrorEvent,
    OpenRequest,
    RefreshRequest,
    Source,
)

pytestmark = pytest.mark.anyio
OPEN = OpenRequest(
    instruction="Sum up.", sources=[Source(name="doc", text="one\ntwo")], derived="old text", pinned=["keep"]
)
SOURCE_EDIT = EditsRequest(edits=[Edit(target="source", source="doc", start=1, end=2, lines=["2", "3"])])
HAND_EDIT = EditsRequest(edits=[Edit(target="derived", start=0, end=1, lines=["by hand"])])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "prod.journal"


@pytest.fixture
def serving(make_app, folder: Path) -> Callable[..., object]:
    """`with serving(tenants, **config) as it`: a service that records, until its journal is closed."""

    @contextmanager
    def serve(tenants: set[str] | None = None, **config: object) -> Iterator[SimpleNamespace]:
        with JournalRecorder.opened(folder, None if tenants is None else frozenset(tenants)) as recorder:
            app = make_app({"no_auth": True, **config}, recorder, answer="{prompt}")
            yield SimpleNamespace(service=app.state.service, recorder=recorder)

    return serve


def changes(folder: Path) -> list[Change]:
    found = list(read_changes(read_journal(folder)))
    assert all(isinstance(change, Change) for change in found)
    return found


async def refreshed(service, session_id: str, **fields: object) -> list:
    return [event async for event in await service.refresh(session_id, RefreshRequest(**fields))]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0)


def figure(service, name: str) -> float:
    (line,) = (
        line
        for line in service.metrics.render().decode().splitlines()
        if line.startswith(f"redraftd_{name} ")
    )
    return float(line.split()[1])


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
any_sources = st.lists(
    st.builds(Source, name=any_text.filter(bool), text=any_text), max_size=2, unique_by=lambda it: it.name
).map(tuple)
any_section = st.builds(
    Section,
    session_id=st.just("t/d/s"),
    revision=st.integers(1, 9),
    instruction=any_text,
    sources=any_sources,
    derived=st.none() | any_text,
    pinned=st.lists(any_text, max_size=2).map(tuple),
    max_tokens=st.integers(1, 99),
    written=st.none() | any_text,
    written_from=any_sources,
    written_for=st.lists(any_text, min_size=1, max_size=2).map(tuple),
    edited=st.booleans(),
)


@settings(max_examples=30)
@given(section=any_section)
def test_a_section_comes_back_from_its_change_as_it_was(
    section: Section, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("journals") / "prod"
    for event in (Opened(section), Edited(section, HAND_EDIT)):
        with Journal.open(folder) as journal:
            Recording.of(journal).submit(*recorded_changes(event, "2025-01-02T03:04:05Z")).result()
        with Journal.open(folder) as journal:
            assert [_section(change) for change in Recording.of(journal).live.values()] == [section]


@pytest.mark.parametrize(
    ("there", "meant"),
    [
        ([], "prod.journal"),
        (["prod.journal"], "prod.journal"),
        (["prod"], "prod"),
        (["prod", "prod.journal"], "prod.journal"),
    ],
)
def test_a_name_stands_for_its_journal_or_for_the_folder_that_is_there(
    there: list[str], meant: str, tmp_path: Path
) -> None:
    for name in there:
        (tmp_path / name).mkdir()
    assert journal_folder(tmp_path / "prod") == tmp_path / meant
    assert journal_folder(tmp_path / "prod.journal") == tmp_path / "prod.journal"


async def test_a_daemon_that_starts_again_goes_on_where_the_last_one_was(serving, folder: Path) -> None:
    with serving() as it:
        for name in ("opened", "source", "hand", "written", "gone"):
            await it.service.open(f"t/d/{name}", OPEN)
        await it.service.edit("t/d/source", SOURCE_EDIT)
        await it.service.edit("t/d/hand", HAND_EDIT)
        await refreshed(it.service, "t/d/written", edits=SOURCE_EDIT.edits)
        await it.service.delete("t/d/gone")
        before = {session_id: it.service.table.get(session_id) for session_id in it.service.table.under("")}
    with serving() as it:
        assert it.recorder.said == []
        assert it.service.table.under("") == ["t/d/opened", "t/d/source", "t/d/hand", "t/d/written"]
        assert {session_id: it.service.table.get(session_id) for session_id in before} == before
        assert before["t/d/hand"].written == "old text"
        with pytest.raises(DaemonError, match="unknown_session"):
            await it.service.edit("t/d/gone", HAND_EDIT)
        with pytest.raises(DaemonError, match="stale_revision"):
            await it.service.edit("t/d/hand", HAND_EDIT.model_copy(update={"base_revision": 1}))
        assert (await it.service.open("t/d/hand", OPEN)).revision == 3
        assert (await it.service.open("t/d/gone", OPEN)).revision == 1
    assert [(it.section, it.type) for it in changes(folder)[-2:]] == [
        ("t/d/hand", "opened"),
        ("t/d/gone", "opened"),
    ]


async def test_a_refresh_is_recorded_as_its_reader_saw_it(serving, folder: Path) -> None:
    with serving() as it:
        await it.service.open("t/d/s", OPEN)
        await it.service.edit("t/d/s", HAND_EDIT)
        events = await refreshed(it.service, "t/d/s", edits=SOURCE_EDIT.edits, return_tokens=True)
    change = changes(folder)[-1]
    text = "".join(event.text for event in events if event.__class__.__name__ == "DeltaEvent")
    assert (change.type, change.revision, change.state.derived) == ("refreshed", 3, text)
    assert (change.draft, change.written, change.edited) == ("by hand", text, False)
    assert change.written_from == change.state.sources == (bundles.Source("doc", "one\n2\n3"),)
    assert change.edits == (bundles.LineEdit("source", 1, 2, ("2", "3"), "doc"),)
    assert change.engine == "fake"
    done = events[-1].model_dump(exclude_none=True)
    lists = {"pinned_missing", "drafted", "token_ids", "token_src"}
    assert change.numbers == {name: value for name, value in done.items() if name not in lists}
    assert change.numbers["wall_ms"] > 0


async def test_what_a_new_section_pushes_out_is_recorded_with_it(serving, folder: Path) -> None:
    with serving(max_sessions=3, max_tenant_sessions=2) as it:
        for session_id in ("t/d/1", "t/d/2", "t/d/3", "u/d/1", "v/d/1"):
            await it.service.open(session_id, OPEN)
        assert it.service.table.under("") == ["t/d/3", "u/d/1", "v/d/1"]
    gone = [change for change in changes(folder) if change.type == "evicted"]
    assert [(change.section, change.revision, change.state) for change in gone] == [
        ("t/d/1", 1, None),
        ("t/d/2", 1, None),
    ]
    with serving(max_sessions=2) as it:  # fewer than before: those changed last stay
        assert it.service.table.under("") == ["u/d/1", "v/d/1"]
    with serving() as it:
        assert it.service.table.under("") == ["u/d/1", "v/d/1"]


async def test_sections_that_come_at_once_push_out_no_more_and_no_fewer_than_have_to_go(
    serving, held_disk
) -> None:
    with serving(max_sessions=4, max_tenant_sessions=3) as it:
        for session_id in ("t/d/1", "t/d/2", "u/d/1"):
            await it.service.open(session_id, OPEN)
        with held_disk() as disk:
            ids = ["t/d/3", "t/d/4", "u/d/2", "v/d/1"]
            opening = [asyncio.create_task(it.service.open(session_id, OPEN)) for session_id in ids]
            editing = asyncio.create_task(it.service.edit("t/d/1", HAND_EDIT))  # on its way out
            await until(lambda: len(list(it.service._changing)) == 7)
            assert len(it.service.table) == 3
            disk.release()
            await asyncio.gather(*opening)
            with pytest.raises(DaemonError, match="unknown_session"):
                await editing
        assert it.service.table.under("") == ids
        assert list(it.service._changing) == []


@pytest.fixture
def held_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], object]:
    """`with held_disk() as disk`: the journal waits for the disk until `disk.release()`; it counts."""

    @contextmanager
    def hold() -> Iterator[SimpleNamespace]:
        free, waits, fsync = threading.Event(), [], os.fsync

        def slow(file: int) -> None:
            waits.append(file)
            assert free.wait(20)
            fsync(file)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", slow)
            yield SimpleNamespace(release=free.set, waits=waits)

    return hold


async def test_many_sections_share_a_wait_for_the_disk(serving, held_disk, folder: Path) -> None:
    with serving() as it:
        with held_disk() as disk:
            opening = [asyncio.create_task(it.service.open(f"t/d/{n}", OPEN)) for n in range(50)]
            await until(lambda: len(list(it.service._changing)) == 50)
            assert len(it.service.table) == 0
            disk.release()
            await asyncio.gather(*opening)
            assert len(disk.waits) <= 3  # the first one for the folder, to begin the file
        assert len(it.service.table) == 50
        assert figure(it.service, "records_total") == 50


async def test_deleting_under_a_prefix_waits_for_what_is_just_being_opened(serving, held_disk) -> None:
    with serving() as it:
        await it.service.open("t/d/first", OPEN)
        with held_disk() as disk:
            opening = asyncio.create_task(it.service.open("t/d/new", OPEN))
            await until(lambda: "t/d/new" in it.service._changing)
            deleting = asyncio.create_task(it.service.delete_under("t/"))
            await until(lambda: "t/d/first" in it.service._changing)
            disk.release()
            await opening
            assert (await deleting).deleted == 2
        assert len(it.service.table) == 0


async def test_who_is_not_recorded_leaves_nothing_in_the_journal(serving, folder: Path) -> None:
    secret = OPEN.model_copy(update={"instruction": "PLUM-2", "derived": "PLUM-2"})
    with serving({"t"}) as it:
        await it.service.open("u/d/s", secret)
        await it.service.edit("u/d/s", SOURCE_EDIT)
        assert isinstance((await refreshed(it.service, "u/d/s"))[-1], DoneEvent)
        await it.service.open("t/d/s", OPEN)
        await it.service.delete_under("u/")
        assert figure(it.service, "records_total") == 1
    assert [change.section for change in changes(folder)] == ["t/d/s"]
    assert not any(b"PLUM-2" in path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_who_is_no_longer_recorded_does_not_come_back(serving) -> None:
    with serving() as it:
        await it.service.open("t/d/s", OPEN)
        await it.service.open("u/d/s", OPEN)
    with serving({"t"}) as it:
        assert it.service.table.under("") == ["t/d/s"]
        await it.service.open("u/d/s", OPEN.model_copy(update={"derived": "newer, and not recorded"}))
    with serving() as it:
        assert it.service.table.under("") == ["t/d/s"]


@pytest.mark.parametrize("tenants", [None, {"t"}])
async def test_one_tenants_text_is_not_in_what_is_recorded_of_another(
    serving, folder: Path, tmp_path: Path, tenants: set[str] | None
) -> None:
    async def work(service, tenant: str, marker: str) -> None:
        for section in range(3):
            session_id = f"{tenant}/d/{section}"
            sources = [Source(name="doc", text=f"{marker} one\ntwo")]
            await service.open(session_id, OPEN.model_copy(update={"sources": sources}))
            for _ in range(3):
                await refreshed(service, session_id, edits=SOURCE_EDIT.edits)

    with serving(tenants) as it:
        await asyncio.gather(work(it.service, "t", "KIWI-1"), work(it.service, "u", "PLUM-2"))
    with Store.open(tmp_path / "store.duckdb") as store:
        whole = store.bundle(store.ingest(folder).bundle_id)
    parts = {part.name.split()[-1]: repr(part) for part in bundles.split_by(whole, "tenant")}
    assert set(parts) == (tenants or {"t", "u"})
    assert "KIWI-1" in parts["t"]
    assert "PLUM-2" not in parts["t"]
    assert "KIWI-1" not in parts.get("u", "")


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], object]:
    """`with full_disk()`: nothing can be written to any file."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @contextmanager
    def fill() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full)
            patch.setattr(os, "fsync", full)
            yield

    return fill


CHANGES = [
    pytest.param(lambda service: service.open("t/d/s", OPEN), id="open"),
    pytest.param(lambda service: service.open("t/d/new", OPEN), id="open_new"),
    pytest.param(lambda service: service.edit("t/d/s", HAND_EDIT), id="edit"),
    pytest.param(lambda service: service.delete("t/d/s"), id="delete"),
    pytest.param(lambda service: service.delete_under("t/"), id="delete_under"),
]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_full_disk_refuses_a_change_until_there_is_space(
    serving, full_disk, folder: Path, change, caplog
) -> None:
    with serving(max_tenant_sessions=1) as it:
        await it.service.open("t/d/s", OPEN)
        before = it.service.table.get("t/d/s")
        with full_disk():
            for _ in range(2):
                with pytest.raises(DaemonError, match="cannot record: No space left on device") as caught:
                    await change(it.service)
                assert (caught.value.status, caught.value.code) == (503, "recorder_unavailable")
            assert it.service.table.get("t/d/s") is before
            assert it.service.table.under("") == ["t/d/s"]
            assert figure(it.service, "recorder_up") == 0
            health = await it.service.health()
            assert (health.recorder, health.status) == ("down", "degraded")
        await change(it.service)
        health = await it.service.health()
        assert (health.recorder, health.status) == ("up", "ok")
        assert figure(it.service, "recorder_up") == 1
        state = {session_id: it.service.table.get(session_id) for session_id in it.service.table.under("")}
    assert [record.message for record in caplog.records] == ["not recording", "recording again"]
    with serving() as it:
        assert {other: it.service.table.get(other) for other in it.service.table.under("")} == state


async def test_a_disk_that_fills_up_during_a_refresh_ends_it_with_an_error(
    serving, full_disk, folder: Path
) -> None:
    with serving() as it:
        await it.service.open("t/d/s", OPEN)
        before = it.service.table.get("t/d/s")
        with full_disk():
            events = await refreshed(it.service, "t/d/s", edits=SOURCE_EDIT.edits)
            assert [type(event).__name__ for event in events[:2]] == ["OpenEvent", "DeltaEvent"]
            assert isinstance(events[-1], ErrorEvent)
            assert events[-1].code == "recorder_unavailable"
            assert "No space left on device" in events[-1].detail
            with pytest.raises(DaemonError, match="No space left on device") as caught:  # known by now
                await it.service.refresh("t/d/s", RefreshRequest())
            assert caught.value.code == "recorder_unavailable"
            assert it.service.table.get("t/d/s") is before
        assert isinstance((await refreshed(it.service, "t/d/s"))[-1], DoneEvent)
        assert it.recorder.state == "up"
    assert [change.type for change in changes(folder)] == ["opened", "refreshed"]


async def test_a_full_disk_is_nothing_to_who_is_not_recorded(serving, full_disk) -> None:
    with serving({"t"}) as it, full_disk():
        with pytest.raises(DaemonError, match="recorder_unavailable"):
            await it.service.open("t/d/s", OPEN)
        await it.service.open("u/d/s", OPEN)
        assert isinstance((await refreshed(it.service, "u/d/s"))[-1], DoneEvent)


async def test_a_closed_journal_refuses(serving) -> None:
    with ExitStack() as closing:
        it = closing.enter_context(serving())
        closing.close()
        with pytest.raises(DaemonError, match=r"recorder_unavailable.*journal is closed"):
            await it.service.open("t/d/s", OPEN)
        assert len(it.service.table) == 0
