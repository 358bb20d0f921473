import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.edits import apply_edits
from daemon.errors import InvalidRequest
from daemon.wire import Edit, Source

LINES = st.lists(st.text(st.sampled_from("ab\r\u2028\u0085😀"), max_size=3), min_size=1, max_size=5)


def source_edit(start: int, end: int, lines: list[str], name: str = "doc") -> Edit:
    return Edit(target="source", source=name, start=start, end=end, lines=lines)


def derived_edit(start: int, end: int, lines: list[str]) -> Edit:
    return Edit(target="derived", start=start, end=end, lines=lines)


@given(LINES, LINES, st.data())
def test_an_edit_replaces_exactly_its_lines(before: list[str], lines: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(before)))
    end = data.draw(st.integers(start, len(before)))
    (source,), derived = apply_edits(
        [Source(name="doc", text="\n".join(before))], "kept", [source_edit(start, end, lines)]
    )
    assert source.text == "\n".join([*before[:start], *lines, *before[end:]])
    assert derived == "kept"


@given(LINES, st.data())
def test_lines_that_do_not_exist_are_a_bad_range(before: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, 9))
    end = data.draw(st.integers(0, 9).filter(lambda end: not start <= end <= len(before)))
    with pytest.raises(InvalidRequest, match=r"bad_range: edits\[0\]: the derived text has") as caught:
        apply_edits([], "\n".join(before), [derived_edit(start, end, [])])
    assert caught.value.status == 422


@given(LINES, st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), LINES | st.just([])), max_size=5))
def test_edits_in_one_request_do_what_they_do_one_by_one(
    before: list[str], edits: list[tuple[int, int, list[str]]]
) -> None:
    text, accepted = "\n".join(before), []
    for a, b, lines in edits:
        size = text.count("\n") + 1
        edit = derived_edit(min(a, b, size), min(max(a, b), size), ["\n".join(lines)] if lines else [])
        (_, text), accepted = apply_edits([], text, [edit]), [*accepted, edit]
    assert apply_edits([], "\n".join(before), accepted)[1] == text


def test_later_edits_see_earlier_ones() -> None:
    edits = [derived_edit(0, 0, ["new"]), derived_edit(1, 2, ["2nd"]), derived_edit(2, 2, ["end"])]
    assert apply_edits([], "first", edits)[1] == "new\n2nd\nend"


def test_one_bad_edit_refuses_all_of_them() -> None:
    sources = [Source(name="doc", text="a")]
    with pytest.raises(InvalidRequest, match=r"edits\[1\]: source 'doc' has 2 lines; \[5, 6\)"):
        apply_edits(sources, None, [source_edit(1, 1, ["b"]), source_edit(5, 6, [])])
    assert sources == [Source(name="doc", text="a")]


@pytest.mark.parametrize("name", ["other", None])
def test_an_unknown_source_is_named(name: str | None) -> None:
    edit = Edit(target="source", source=name, start=0, end=0, lines=[])
    with pytest.raises(InvalidRequest, match=f"invalid_request: .* no source {name!r}; known: 'doc'"):
        apply_edits([Source(name="doc", text="")], None, [edit])


def test_a_derived_text_not_written_yet_is_one_empty_line() -> None:
    assert apply_edits([], None, [derived_edit(0, 1, ["by hand"])])[1] == "by hand"


def test_no_edits_leave_an_unwritten_text_unwritten() -> None:
    assert apply_edits([], None, []) == ((), None)
