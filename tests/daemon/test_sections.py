import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from daemon.errors import InvalidRequest, StaleRevision, UnknownSession
from daemon.sections import (
    Section,
    SectionTable,
    checked_prefix,
    checked_session_id,
    is_segment,
    tenant_of,
)
from daemon.wire import Edit, EditsRequest, OpenRequest, RefreshRequest, Source


def request(*names: str, **fields: object) -> OpenRequest:
    sources = [Source(name=name, text="one\ntwo") for name in names or ("doc",)]
    return OpenRequest(**{"instruction": "Sum up.", "sources": sources, **fields})


def derived_edit(line: str) -> Edit:
    return Edit(target="derived", start=0, end=1, lines=[line])


@pytest.mark.parametrize(
    "session_id", ["t/d/s", "A1._~:@+-/" + "x" * 128 + "/...", "..a/.b/c.", "a/edits/refresh"]
)
def test_session_ids(session_id: str) -> None:
    assert checked_session_id(session_id) == session_id


@pytest.mark.parametrize(
    "session_id",
    [
        *["", "t/d", "t/d/s/u", "t//s", "t/d/s\n", "t/d/é", "t/d/a b", "t/d/" + "x" * 129, "/t/d/s"],
        *["./d/s", "t/../s", "t/d/.", "t/d/..", "t/d/..\n"],
    ],
)
def test_bad_session_ids(session_id: str) -> None:
    with pytest.raises(InvalidRequest, match="bad_session_id"):
        checked_session_id(session_id)


@pytest.mark.parametrize("prefix", ["t/", "t/d/"])
def test_prefixes(prefix: str) -> None:
    assert checked_prefix(prefix) == prefix


@pytest.mark.parametrize("prefix", ["", "/", "t", "t/d", "t/d/s/", "t/d/s", "t//", "t/\n", "../", "t/./"])
def test_bad_prefixes(prefix: str) -> None:
    with pytest.raises(InvalidRequest, match="bad_prefix"):
        checked_prefix(prefix)


@pytest.mark.parametrize(
    ("text", "segment"), [("a", True), ("...", True), ("..", False), ("a/b", False), ("", False)]
)
def test_segments(text: str, segment: bool) -> None:
    assert is_segment(text) is segment


def test_the_tenant_is_the_first_segment() -> None:
    assert [tenant_of(text) for text in ("t/d/s", "t/d/", "t/", "")] == ["t", "t", "t", ""]


def test_a_section_knows_its_text_and_what_that_was_written_from_and_for() -> None:
    section = Section.opened("t/d/s", request(derived="old", pinned=["keep"]))
    source = Edit(target="source", source="doc", start=0, end=1, lines=["1"])
    asked = RefreshRequest(edits=[source, derived_edit("by hand")], instruction="Go.", pinned=[])
    edited = section.changed(asked)
    assert (edited.written, edited.written_from) == ("old", section.sources)
    assert edited.written_for == (section.instruction, "keep")
    refreshed = edited.refreshed("new")
    assert (refreshed.written, refreshed.written_from) == ("new", edited.sources)
    assert refreshed.written_for == ("Go.",)


def test_a_replaced_section_goes_on_counting() -> None:
    first = Section.opened("t/d/s", request()).changed(EditsRequest(edits=[]))
    assert Section.opened("t/d/s", request(), first).revision == 3


def test_a_derived_edit_makes_the_next_refresh_a_revision() -> None:
    section = Section.opened("t/d/s", request(derived="old"))
    assert section.kind == "rederive"
    edited = section.changed(EditsRequest(edits=[derived_edit("by hand")]))
    assert (edited.kind, edited.derived, edited.revision) == ("revise", "by hand", 2)
    assert edited.changed(EditsRequest(edits=[])).kind == "revise"
    assert edited.refreshed("new").kind == "rederive"


def test_a_refresh_brings_sources_before_its_edits() -> None:
    section = Section.opened("t/d/s", request(pinned=["keep"]))
    edit = Edit(target="source", source="b", start=0, end=1, lines=["edited"])
    refresh = RefreshRequest(sources=[Source(name="b", text="x")], edits=[edit], instruction="Go.", pinned=[])
    after = section.changed(refresh)
    assert (after.sources, after.instruction, after.pinned) == ((Source(name="b", text="edited"),), "Go.", ())
    assert section.sources[0].name == "doc"


def test_a_stale_revision_says_the_current_one() -> None:
    section = Section.opened("t/d/s", request())
    with pytest.raises(StaleRevision) as caught:
        section.changed(EditsRequest(base_revision=0, edits=[]))
    assert caught.value.fields == {"revision": 1}


def test_two_sources_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="2 sources are named 'a'"):
        Section.opened("t/d/s", request("b", "a", "a"))
    section = Section.opened("t/d/s", request())
    with pytest.raises(InvalidRequest, match="named 'a'"):
        section.changed(RefreshRequest(sources=[Source(name="a", text=""), Source(name="a", text="")]))


def test_state_shows_what_the_next_refresh_sees() -> None:
    state = Section.opened("t/d/s", request(derived="old", pinned=["p"], max_tokens=7)).state()
    assert (state.derived, state.pinned, state.max_tokens, state.revision) == ("old", ["p"], 7, 1)


def put(table: SectionTable, *session_ids: str) -> None:
    for session_id in session_ids:
        with table.room(session_id) as gone:
            for section in gone:
                table.drop(section.session_id)
            table.put(Section.opened(session_id, request()))


def test_the_one_longest_unused_makes_room() -> None:
    table = SectionTable(most=3, most_per_tenant=3, busy=())
    put(table, "a/d/1", "b/d/1", "c/d/1")
    table.get("a/d/1")
    put(table, "c/d/1", "d/d/1")
    assert "b/d/1" not in table
    assert all(session_id in table for session_id in ("a/d/1", "c/d/1", "d/d/1"))


def test_a_tenant_at_its_cap_makes_room_among_its_own() -> None:
    table = SectionTable(most=9, most_per_tenant=2, busy=())
    put(table, "a/d/1", "ab/d/1", "a/d/2", "a/e/3")
    assert "a/d/1" not in table
    assert all(session_id in table for session_id in ("ab/d/1", "a/d/2", "a/e/3"))


def test_a_busy_one_stays_and_the_next_goes() -> None:
    busy = {"a/d/1"}
    table = SectionTable(most=2, most_per_tenant=2, busy=busy)
    put(table, "a/d/1", "a/d/2", "a/d/3")
    assert ["a/d/1" in table, "a/d/2" in table, "a/d/3" in table] == [True, False, True]
    busy.add("a/d/3")
    put(table, "a/d/4")
    assert len(table) == 3
    busy.clear()
    put(table, "a/d/5")
    assert len(table) == 2
    assert "a/d/5" in table


class TableAgainstAList(RuleBasedStateMachine):
    IDS = st.sampled_from(["t/d/s", "t/d/r", "t/e/s", "t/e/r", "u/d/s", "u/d/r", "v/d/s"])
    MOST, MOST_PER_TENANT = 4, 3

    def __init__(self) -> None:
        super().__init__()
        self.busy: set[str] = set()
        self.table = SectionTable(self.MOST, self.MOST_PER_TENANT, self.busy)
        self.model: list[str] = []  # longest unused first

    @rule(session_id=IDS)
    def put(self, session_id: str) -> None:
        put(self.table, session_id)
        is_new = session_id not in self.model
        self.model = [other for other in self.model if other != session_id] + [session_id]
        if is_new:
            tenant = session_id.split("/")[0]
            self.trim([other for other in self.model if other.split("/")[0] == tenant], self.MOST_PER_TENANT)
            self.trim(self.model, self.MOST)

    def trim(self, among: list[str], most: int) -> None:
        idle = [session_id for session_id in among[:-1] if session_id not in self.busy]
        gone = idle[: max(0, len(among) - most)]
        self.model = [session_id for session_id in self.model if session_id not in gone]

    @rule(session_id=IDS)
    def get(self, session_id: str) -> None:
        if session_id not in self.model:
            with pytest.raises(UnknownSession):
                self.table.get(session_id)
            return
        assert self.table.get(session_id).session_id == session_id
        self.model.remove(session_id)
        self.model.append(session_id)

    @rule(session_id=IDS)
    def drop(self, session_id: str) -> None:
        assert self.table.drop(session_id) == (session_id in self.model)
        self.model = [other for other in self.model if other != session_id]

    @rule(session_id=IDS)
    def start_or_end(self, session_id: str) -> None:
        self.busy ^= {session_id} & (set(self.model) | self.busy)

    @rule(prefix=st.sampled_from(["t/", "t/d/", "w/"]))
    def under(self, prefix: str) -> None:
        assert self.table.under(prefix) == [key for key in self.model if key.startswith(prefix)]

    @invariant()
    def same(self) -> None:
        assert len(self.table) == len(self.model)
        assert all(session_id in self.table for session_id in self.model)


TestTable = TableAgainstAList.TestCase
