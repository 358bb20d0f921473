import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from daemon.errors import InvalidRequest, StaleRevision, UnknownSession
from daemon.sections import SectionTable, checked_prefix, checked_session_id
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


def test_a_derived_edit_makes_the_next_refresh_a_revision() -> None:
    section = SectionTable().open("t/d/s", request(derived="old"))
    assert section.kind == "rederive"
    edited = section.changed(EditsRequest(edits=[derived_edit("by hand")]))
    assert (edited.kind, edited.derived, edited.revision) == ("revise", "by hand", 2)
    assert edited.changed(EditsRequest(edits=[])).kind == "revise"
    assert edited.refreshed("new").kind == "rederive"


def test_a_refresh_brings_sources_before_its_edits() -> None:
    section = SectionTable().open("t/d/s", request(pinned=["keep"]))
    edit = Edit(target="source", source="b", start=0, end=1, lines=["edited"])
    refresh = RefreshRequest(sources=[Source(name="b", text="x")], edits=[edit], instruction="Go.", pinned=[])
    after = section.changed(refresh)
    assert (after.sources, after.instruction, after.pinned) == ((Source(name="b", text="edited"),), "Go.", ())
    assert section.sources[0].name == "doc"


def test_a_stale_revision_says_the_current_one() -> None:
    section = SectionTable().open("t/d/s", request())
    with pytest.raises(StaleRevision) as caught:
        section.changed(EditsRequest(base_revision=0, edits=[]))
    assert caught.value.fields == {"revision": 1}


def test_two_sources_of_one_name_are_refused() -> None:
    table = SectionTable()
    with pytest.raises(InvalidRequest, match="2 sources are named 'a'"):
        table.open("t/d/s", request("b", "a", "a"))
    assert "t/d/s" not in table
    section = table.open("t/d/s", request())
    with pytest.raises(InvalidRequest, match="named 'a'"):
        section.changed(RefreshRequest(sources=[Source(name="a", text=""), Source(name="a", text="")]))


def test_state_shows_what_the_next_refresh_sees() -> None:
    state = SectionTable().open("t/d/s", request(derived="old", pinned=["p"], max_tokens=7)).state()
    assert (state.derived, state.pinned, state.max_tokens, state.revision) == ("old", ["p"], 7, 1)


class TableAgainstADictionary(RuleBasedStateMachine):
    IDS = st.sampled_from(["t/d/s", "t/d/r", "t/e/s", "u/d/s"])

    def __init__(self) -> None:
        super().__init__()
        self.table = SectionTable()
        self.model: dict[str, tuple[int, str | None]] = {}

    @rule(session_id=IDS, derived=st.none() | st.just("text"))
    def open(self, session_id: str, derived: str | None) -> None:
        self.table.open(session_id, request(derived=derived))
        self.model[session_id] = (self.model.get(session_id, (0, None))[0] + 1, derived)

    @rule(session_id=IDS, line=st.sampled_from("xyz"))
    def edit(self, session_id: str, line: str) -> None:
        if session_id not in self.model:
            with pytest.raises(UnknownSession):
                self.table.get(session_id)
            return
        self.table.put(self.table.get(session_id).changed(EditsRequest(edits=[derived_edit(line)])))
        self.model[session_id] = (self.model[session_id][0] + 1, line)

    @rule(session_id=IDS)
    def drop(self, session_id: str) -> None:
        assert self.table.drop(session_id) == (self.model.pop(session_id, None) is not None)

    @rule(prefix=st.sampled_from(["t/", "t/d/", "v/"]))
    def under(self, prefix: str) -> None:
        assert sorted(self.table.under(prefix)) == sorted(key for key in self.model if key.startswith(prefix))

    @invariant()
    def same(self) -> None:
        assert len(self.table) == len(self.model)
        for session_id, (revision, derived) in self.model.items():
            section = self.table.get(session_id)
            assert (section.revision, section.derived) == (revision, derived)


TestTable = TableAgainstADictionary.TestCase
