import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.draft_edit import removed_words, strict_ranges
from daemon.spans import OldText
from daemon.wire import Source


def sources(*texts: str) -> list[Source]:
    return [Source(name=f"source-{index}", text=text) for index, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("before", "after", "removed"),
    [
        pytest.param("costs 9 euros", "costs 14 euros", {"9"}, id="value"),
        pytest.param("stored in SQLite now", "stored in Oracle now", {"sqlite"}, id="rename, case-folded"),
        pytest.param("Ada cooks, Bo cleans", "Bo cooks, Ada cleans", {"ada", "bo"}, id="owner swap"),
        pytest.param("it is not ready", "it is ready", {"not"}, id="negation"),
        pytest.param("one two", "one two three", set(), id="append"),
        pytest.param("a dog and the cat", "a dog", {"cat"}, id="function words state no fact"),
        pytest.param("price 1,428", "price 1,429", {"428"}, id="digits of a number"),
        pytest.param("Ärger", "Freude", {"ärger"}, id="not ASCII"),
        pytest.param("same", "same", set(), id="no edit"),
    ],
)
def test_removed_words(before: str, after: str, removed: set[str]) -> None:
    got = removed_words(sources(before), sources(after))

    assert removed <= got
    assert got <= set(re.findall(r"\w+", before.casefold()))
    assert removed or not got


def test_a_source_that_is_gone_is_removed_whole() -> None:
    assert removed_words(sources("kept", "lost words"), sources("kept")) == {"lost", "words"}


def test_of_sources_too_long_to_compare_all_words_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.draft_edit.DIFF_STEPS", 5)
    assert removed_words(sources("a dog ran"), sources("a cat ran")) == {"dog", "ran"}


def test_a_range_covers_every_token_of_the_word_and_no_other() -> None:
    stale = OldText("uses Oracle, a database", [b"uses", b" Or", b"acle", b",", b" a", b" database"])

    assert strict_ranges(stale, {"oracle"}) == [(1, 3)]


def test_part_of_a_longer_word_is_not_guarded() -> None:
    stale = OldText("1500 or 15", [b"15", b"00", b" or", b" 15"])

    assert strict_ranges(stale, {"15"}) == [(3, 4)]


def test_where_tokens_cannot_be_placed_all_are_guarded() -> None:
    stale = OldText("ferry 9", [b"<unk>", b" 9"])

    assert strict_ranges(stale, {"ferry"}) == [(0, 2)]


@given(st.lists(st.text(max_size=4), max_size=12), st.data())
def test_guarded_tokens_spell_every_removed_word(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text.encode())))) | {0, len(text.encode())})
    pieces = [text.encode()[a:b] for a, b in pairwise(cuts)]
    words = list(re.finditer(r"\w+", text))

    ranges = strict_ranges(OldText(text, pieces), {word.group().casefold() for word in words})

    assert len(ranges) == len(words)
    for word, (first, end) in zip(words, ranges, strict=True):
        start, stop = len(text[: word.start()].encode()), len(text[: word.end()].encode())
        assert cuts[first] <= start < cuts[first + 1]
        assert cuts[end - 1] < stop <= cuts[end]
