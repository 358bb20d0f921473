import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from daemon import draft_edit as module
from daemon.draft_edit import (
    DraftEdit,
    changes,
    draft_edit,
    have_places,
    patched_ranges,
    patches,
    stale_words,
    strict_ranges,
)
from daemon.patched_text import PatchedText
from daemon.sections import Section
from daemon.spans import OldText
from daemon.wire import Edit, EditsRequest, OpenRequest, RefreshRequest, Source


def removed(before: str, after: str) -> frozenset[str]:
    return stale_words(changes(before, after))


def patched(before: str, after: str, stale: str, *context: str) -> str:
    return PatchedText(stale, patches(stale, changes(before, after), [after, *context])).text


def guarded(draft: OldText, *stale: str, has_places: bool = True) -> list[tuple[int, int]]:
    return strict_ranges(draft, DraftEdit(draft.draft, frozenset(stale), has_places))


def section(before: str, after: str, stale: str | None, **fields: object) -> Section:
    opening = OpenRequest(
        instruction="Sum up.", sources=[Source(name="doc", text=before)], derived=stale, **fields
    )
    lines = after.split("\n")
    edit = Edit(target="source", source="doc", start=0, end=before.count("\n") + 1, lines=lines)
    return Section.opened("t/d/s", opening).changed(EditsRequest(edits=[edit]))


def by_hand(line: int, text: str) -> EditsRequest:
    return EditsRequest(edits=[Edit(target="derived", start=line, end=line + 1, lines=[text])])


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        pytest.param("costs 9 euros", "costs 14 euros", {"9"}, id="value"),
        pytest.param("stored in SQLite now", "stored in Oracle now", {"sqlite"}, id="rename, case-folded"),
        pytest.param("Ada cooks, Bo cleans", "Bo cooks, Ada cleans", {"ada", "bo"}, id="owner swap"),
        pytest.param("it is not ready", "it is ready", {"not"}, id="negation"),
        pytest.param("price 1,428", "price 1,429", {"428", "1,428", "1428"}, id="digits of a number"),
        pytest.param("version 3.8", "version 3.10", {"8", "3.8"}, id="part of a version"),
        pytest.param("twenty-five of us", "twenty-six of us", {"five", "25"}, id="spelled-out number"),
        pytest.param("on 2026-03-05", "on 2026-04-05", {"03", "march", "mar"}, id="month of a date"),
        pytest.param("12% off", "12 euros off", {"%", "percent"}, id="sign"),
        pytest.param("Ärger", "Freude", {"ärger"}, id="not ASCII"),
        pytest.param("kept lost words", "", {"kept", "lost", "words"}, id="all of it"),
    ],
)
def test_what_an_edit_removed_is_stale(before: str, after: str, words: set[str]) -> None:
    assert words <= removed(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("one two", "one two three", id="append"),
        pytest.param("a dog and", "a dog", id="function words state no fact"),
        pytest.param("same 9", "same 9", id="no edit"),
        pytest.param("", "new", id="from nothing"),
        pytest.param("Sa\u0303o", "São", id="composition"),
    ],
)
def test_what_stays_is_not_stale(before: str, after: str) -> None:
    assert removed(before, after) == frozenset()


def test_of_texts_too_long_to_compare_everything_is_stale_and_nothing_patched(monkeypatch) -> None:
    monkeypatch.setattr(module, "DIFF_STEPS", 3)
    assert {"x", "costs", "9"} <= removed("same x costs 9", "same y is 14")
    assert patched("same x costs 9", "same y is 14", "It is 9.") == "It is 9."


def test_of_long_texts_only_what_lies_between_the_edits_counts(monkeypatch) -> None:
    monkeypatch.setattr(module, "DIFF_STEPS", 1)
    assert patched("word " * 99 + "9 " + "more " * 99, "word " * 99 + "14 " + "more " * 99, "9") == "14"


@pytest.mark.parametrize(
    ("before", "after", "stale", "new"),
    [
        pytest.param("costs 9 euros", "costs 14 euros", "9 and 9.", "14 and 14.", id="every place"),
        pytest.param("on Oct 28, 2021", "on Nov 3, 2022", "Oct 28, 2021!", "Nov 3, 2022!", id="phrase"),
        pytest.param("on Oct\n28", "on Nov\n3", "on Oct  28", "on Nov 3", id="other spacing"),
        pytest.param("Oracle", "Postgres", "oracle, ORACLE's", "postgres, POSTGRES's", id="case"),
        pytest.param("Tickets sell", "Seats sell", "tickets", "seats", id="within a sentence"),
        pytest.param("seats sell", "tickets sell", "Seats", "Tickets", id="at its start"),
        pytest.param("v 3.8", "v 3.10", "3.8 and 3.8.1 and 8", "3.10 and 3.8.1 and 8", id="whole values"),
        pytest.param("it costs $9", "it costs €9", "$9", "€9", id="sign"),
        pytest.param("1 dog", "2 dogs", "1. A dog\n2) 1 dog", "1. A dog\n2) 2 dogs", id="list numbers stay"),
        pytest.param("🧂 9", "🧂 14", "🧂9\u2028a", "🧂14\u2028a", id="astral"),
        pytest.param("in Sa\u0303o", "in Rio", "São", "Rio", id="decomposed"),
    ],
)
def test_a_replaced_value_is_patched(before: str, after: str, stale: str, new: str) -> None:
    assert patched(before, after, stale) == new


@pytest.mark.parametrize(
    ("before", "after", "stale"),
    [
        pytest.param("9 here, 9 there", "14 here, 9 there", "9", id="not gone"),
        pytest.param("a 9 b 9 c", "a 14 b 15 c", "9", id="ambiguous"),
        pytest.param("Ada cooks, Bo cleans", "Bo cooks, Ada cleans", "Ada", id="swapped"),
        pytest.param("of the", "by a", "of the", id="stop words"),
        pytest.param("a b c d e f g", "h", "a b c d e f g", id="too long"),
        pytest.param("x 9", "x", "9", id="only removed"),
        pytest.param("cat", "dog", "cats concatenate", id="part of a word"),
        pytest.param("cafe", "bar", "cafe\u0301", id="part of a character"),
        pytest.param("euros net", "dollars gross", "euros\nnet", id="over two lines"),
    ],
)
def test_what_is_not_plain_is_left_alone(before: str, after: str, stale: str) -> None:
    assert patched(before, after, stale) == stale


def test_what_anything_else_in_the_prompt_says_is_not_gone() -> None:
    assert patched("9 euros", "14 euros", "It is 9.", "Name the 9 ports.") == "It is 9."


def test_of_several_phrases_the_longest_that_fits_is_patched() -> None:
    assert patched("Ada Lovelace a Ada b", "Grace Hopper a Grace b", "Ada Lovelace, Ada") == (
        "Grace Hopper, Grace"
    )


def test_an_edited_section_brings_its_patch_and_its_stale_words() -> None:
    edit = draft_edit(section("costs 9 euros", "costs 14 euros", "It is 9 or nine."))
    assert (edit.draft.original, edit.draft.text) == ("It is 9 or nine.", "It is 14 or nine.")
    assert {"9", "nine"} <= edit.stale_words


@pytest.mark.parametrize(
    ("before", "after", "stale"),
    [
        pytest.param("costs 9 euros", "costs 14 euros", "It is nine.", id="replaced, in other spelling"),
        pytest.param("costs 9", "costs 14 net of tax", "It is 9.", id="by something longer"),
        pytest.param("Ada Lovelace cooks", "Bo cooks", "Ms Lovelace.", id="by part of its name"),
        pytest.param("9 cats, 5 dogs", "9 cats", "It is calm.", id="only removed"),
        pytest.param("a dog", "a dog and the", "It is calm.", id="function words state no fact"),
        pytest.param("SQL", "sql", "It is calm.", id="case alone"),
        pytest.param("same", "same", "It is calm.", id="no edit"),
    ],
)
def test_what_came_has_a_place_where_what_it_replaced_stands(before: str, after: str, stale: str) -> None:
    assert draft_edit(section(before, after, stale)).has_places


@pytest.mark.parametrize(
    ("before", "after", "stale"),
    [
        pytest.param("one two", "one two three", "One, two.", id="only added"),
        pytest.param("costs 9", "costs 14", "It is cheap.", id="replaced what the answer does not say"),
        pytest.param("9 a 5", "14 a 6", "It is 9.", id="one of two"),
        pytest.param("", "new", "Nothing yet.", id="from nothing"),
        pytest.param("it is ready", "it is not ready", "It is ready.", id="negation"),
    ],
)
def test_what_came_else_has_none(before: str, after: str, stale: str) -> None:
    assert not draft_edit(section(before, after, stale)).has_places


def test_a_new_source_has_no_place() -> None:
    start = section("costs 9", "costs 9", "It is 9.")
    added = [*start.sources, Source(name="more", text="From May on 14.")]
    assert not draft_edit(start.changed(RefreshRequest(sources=added))).has_places


def test_another_instruction_asks_for_a_text_in_which_nothing_has_its_place() -> None:
    start = section("same", "same", "Same as ever.")
    assert draft_edit(start.changed(RefreshRequest(instruction="Sum up."))).has_places
    assert not draft_edit(start.changed(RefreshRequest(instruction="Sum up in French."))).has_places


@pytest.mark.parametrize(
    ("before", "after", "has_places", "stale"),
    [
        pytest.param([], ["Net 14."], False, set(), id="one more"),
        pytest.param(["Net 9."], ["Net 14."], True, {"9"}, id="changed, and its old value stands"),
        pytest.param(["Gross 5."], ["Gross 6."], False, {"5"}, id="changed, and its old value does not"),
        pytest.param(["Net 9."], [], True, {"net", "9"}, id="one less"),
        pytest.param([], ["It is calm."], True, set(), id="that stands already"),
        pytest.param([], ["It is calm.\nNet 9."], True, set(), id="two that stand already"),
        pytest.param([], ["Net 9"], False, set(), id="that stands in another"),
        pytest.param(["It is calm.", "Net 9."], ["Net 9.", "It is calm."], True, set(), id="another order"),
    ],
)
def test_a_pinned_line_that_comes_or_goes_is_an_edit(
    before: list[str], after: list[str], has_places: bool, stale: set[str]
) -> None:
    start = section("same", "same", "It is calm.\nNet 9.", pinned=before)
    edit = draft_edit(start.changed(EditsRequest(edits=[], pinned=after)))
    assert edit.has_places == has_places
    assert stale <= edit.stale_words
    assert bool(edit.stale_words) == bool(stale)


def test_a_changed_pinned_line_is_patched() -> None:
    start = section("same", "same", "It is calm.\nNet 9.", pinned=["Net 9."])
    assert draft_edit(start.changed(EditsRequest(edits=[], pinned=["Net 14."]))).draft.text == (
        "It is calm.\nNet 14."
    )


def test_what_a_person_wrote_has_its_place() -> None:
    start = section("x", "x", "Ada cooks.")
    assert draft_edit(start.changed(by_hand(0, "Ada cooks and cleans."))).has_places


@pytest.mark.parametrize("stale", [None, ""])
def test_nothing_written_has_nothing_stale(stale: str | None) -> None:
    edit = draft_edit(section("costs 9", "costs 14", stale))
    assert (edit.draft.text, edit.stale_words) == ("", frozenset())


def test_pinned_lines_stand() -> None:
    edit = draft_edit(section("costs 9", "costs 14", "Net 9.\nIt is 9.", pinned=["Net 9."]))
    assert edit.draft.text == "Net 9.\nIt is 9."


def test_what_a_person_wrote_stands_and_the_rest_is_patched() -> None:
    start = section("9 cats, 5 dogs", "14 cats, 6 dogs", "9 cats.\n5 dogs.\n9 and 5.")
    edit = draft_edit(start.changed(by_hand(0, "9 cats!")))
    assert edit.draft.text == "9 cats!\n6 dogs.\n9 and 6."


def test_what_a_person_took_out_is_stale_elsewhere() -> None:
    start = section("x", "x", "Ada cooks.\nAda cleans.")
    assert "ada" in draft_edit(start.changed(by_hand(0, "Bo cooks."))).stale_words


def test_a_range_covers_every_token_of_the_word_and_no_other() -> None:
    pieces = [b"uses", b" Or", b"acle", b",", b" a", b" database"]
    stale = OldText(PatchedText("The app uses Oracle, a database"), [b"The", b" app", b" ", *pieces])
    assert guarded(stale, "oracle") == [(0, 4), (4, 6)]


def test_part_of_a_longer_word_is_not_guarded() -> None:
    stale = OldText(PatchedText("So, 1500 or 15"), [b"So", b",", b" ", b"15", b"00", b" or", b" 15"])
    assert guarded(stale, "15") == [(0, 4), (6, 7)]


@given(st.lists(st.sampled_from([b"so", b" on", b".", "🧂".encode()]), max_size=8))
def test_the_opening_is_guarded_whatever_is_stale(pieces: list[bytes]) -> None:
    stale = OldText(PatchedText(b"".join(pieces).decode()), pieces)
    assert guarded(stale) == [(0, min(4, len(pieces)))]


def test_where_tokens_cannot_be_placed_all_are_guarded() -> None:
    stale = OldText(PatchedText("ferry 9"), [b"<unk>", b" 9"])
    assert guarded(stale, "ferry") == [(0, 2)]


def test_patched_tokens_are_those_that_touch_a_patch() -> None:
    text = PatchedText("It is 9.", patches("It is 9.", changes("9", "14"), ["14"]))
    assert patched_ranges(OldText(text, [b"It", b" is", b" 1", b"4."])) == [(2, 4)]


def test_where_something_has_no_place_all_tokens_are_guarded() -> None:
    stale = OldText(PatchedText("It is 9."), [b"It", b" is", b" ", b"9", b"."])
    assert guarded(stale, "9", has_places=False) == [(0, 5)]


@given(st.lists(st.text(max_size=4), max_size=12), st.data())
def test_guarded_tokens_spell_every_stale_word(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text.encode())))) | {0, len(text.encode())})
    pieces = [text.encode()[a:b] for a, b in pairwise(cuts)]
    found = module.words(text)
    covered = [range(*it) for it in guarded(OldText(PatchedText(text), pieces), *(w.key for w in found))]
    for word in found:
        start, stop = len(text[: word.start].encode()), len(text[: word.stop].encode())
        touching = {i for i, (a, b) in enumerate(pairwise(cuts)) if a < stop and start < b}
        assert any(touching == set(it) for it in covered)


SPELLED = st.text(st.sampled_from("ab9,. \n🧂é\u0301\r\u2028%$A"), max_size=24)


@given(SPELLED, SPELLED, SPELLED)
@example("costs 9 euros", "costs 14 euros", "It is 9 euros.")
def test_whatever_the_texts_a_patch_takes_out_what_is_gone_and_puts_in_what_came(
    before: str, after: str, stale: str
) -> None:
    edits = changes(before, after)
    came = {plain(change.old): plain(change.new) for change in edits}
    for start, stop, text in patches(stale, edits, [after]):
        assert came[plain(stale[start:stop])] == plain(text)
        assert not any(
            word.text == unicodedata.normalize("NFC", stale[start:stop]) for word in module.values(after)
        )


def some(letters: str, least: int = 0) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(letters), min_size=least, max_size=4).map(" ".join)


@given(some("klm"), some("pqr"), some("xyz"), some("klm"), some("klmpqrxyz"))
def test_a_replacement_has_a_place_exactly_where_the_replaced_stands(
    start: str, old: str, new: str, end: str, stale: str
) -> None:
    edit = draft_edit(section(f"{start} {old} {end}", f"{start} {new} {end}", f"{stale} ."))
    assert edit.has_places == (not new or not set(old.split()).isdisjoint(stale.split()))


@given(SPELLED, SPELLED, SPELLED, SPELLED)
def test_saying_more_takes_no_place_away(before: str, after: str, stale: str, more: str) -> None:
    edits = changes(before, after)
    assert have_places(edits, f"{stale} {more}") >= have_places(edits, stale)
    assert have_places(edits, before) or any(not stale_words([edit]) for edit in edits)


def plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
