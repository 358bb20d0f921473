import codecs
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from daemon.patched_text import Patch, PatchedText
from daemon.spans import NEW, OldText, Tiler, utf16_units
from daemon.wire import DeltaEvent, SpanEvent

TEXTS = st.text(st.sampled_from("ab \r\n\u2028\u0085é😀🧂\u0301"), max_size=12)


@dataclass
class Followed:
    text: str
    deltas: list[DeltaEvent]
    spans: list[SpanEvent]
    held_units: int


def follow(old: str | PatchedText, pieces: list[bytes], chunks: list[tuple[str, list[int]]]) -> Followed:
    tiler = Tiler(OldText(old if isinstance(old, PatchedText) else PatchedText(old), pieces))
    events = [event for content, src in chunks for event in tiler.feed(content, src)]
    events += tiler.finish()
    deltas = [event for event in events if isinstance(event, DeltaEvent)]
    spans = [event for event in events if isinstance(event, SpanEvent)]
    return Followed(tiler.text, deltas, spans, tiler.held_units)


def chunked(tokens: list[tuple[bytes, int]], sizes: list[int]) -> list[tuple[str, list[int]]]:
    """Chunks as the engine sends them: whole characters only, a cut one comes with its last token."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    chunks = []
    for size in [*sizes, len(tokens)]:
        part, tokens = tokens[:size], tokens[size:]
        chunks.append((decoder.decode(b"".join(piece for piece, _ in part)), [src for _, src in part]))
    return chunks


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(edges)]


def units(text: str, span: tuple[int, int]) -> str:
    return text.encode("utf-16-le")[2 * span[0] : 2 * span[1]].decode("utf-16-le")


def assert_tiles(old: str, new: str, followed: Followed) -> None:
    assert followed.text == new == "".join(delta.text for delta in followed.deltas)
    old_at = new_at = 0
    for span in followed.spans:
        assert (span.old[0], span.new[0]) == (old_at, new_at)
        assert span.old[0] < span.old[1] or span.new[0] < span.new[1]
        old_at, new_at = span.old[1], span.new[1]
        if span.kind == "held":
            assert units(old, span.old) == units(new, span.new)
        else:
            assert span.text == units(new, span.new)
    assert (old_at, new_at) == (utf16_units(old), utf16_units(new))
    held = [span for span in followed.spans if span.kind == "held"]
    assert "".join(units(new, span.new) for span in held) == "".join(
        delta.text for delta in followed.deltas if delta.kind == "held"
    )
    assert followed.held_units == sum(span.new[1] - span.new[0] for span in held)


@st.composite
def answers(draw: st.DrawFn) -> tuple[PatchedText, list[bytes], list[tuple[bytes, int]]]:
    """An old text, patched and cut into tokens anywhere, and a new one of its tokens in any order and of
    new ones."""
    old = draw(TEXTS)
    edges = sorted(draw(st.sets(st.integers(0, len(old)), max_size=4)))
    spans = zip(edges[::2], edges[1::2], strict=False)
    draft = PatchedText(old, [Patch(start, stop, draw(TEXTS)) for start, stop in spans])
    pieces = cut(draft.text.encode(), draw(st.lists(st.integers(0, 99), max_size=12)))
    new = [
        (piece, NEW) for piece in cut(draw(TEXTS).encode(), draw(st.lists(st.integers(0, 99), max_size=9)))
    ]
    held = [(piece, index) for index, piece in enumerate(pieces)]
    return draft, pieces, draw(st.lists(st.sampled_from(new + held), max_size=16)) if new + held else []


SIZES = st.lists(st.integers(0, 4), max_size=12)


@given(answers(), SIZES)
@example((PatchedText("🧂"), [b"\xf0\x9f", b"\xa7\x82"], [(b"\xf0\x9f", 0), (b"\xa7\x83", NEW)]), [1])
@example((PatchedText("🧂x"), [b"\xf0\x9f", b"\xa7\x82x"], [(b"\xf0\x9f", NEW), (b"\xa7\x82x", 1)]), [])
def test_spans_tile_both_texts_whatever_the_tokens(answer, sizes: list[int]) -> None:
    old, pieces, tokens = answer
    chunks = chunked(tokens, sizes)
    assert_tiles(old.original, "".join(content for content, _ in chunks), follow(old, pieces, chunks))


@given(answers(), st.lists(st.tuples(TEXTS, st.lists(st.integers(-1, 3), max_size=4)), max_size=6))
def test_spans_tile_even_when_the_engine_claims_nonsense(answer, chunks) -> None:
    old, pieces, _ = answer
    chunks = [(content, [src for src in srcs if src < len(pieces)]) for content, srcs in chunks]
    assert_tiles(old.original, "".join(content for content, _ in chunks), follow(old, pieces, chunks))


@given(TEXTS, st.lists(st.integers(0, 99), max_size=12), SIZES)
def test_a_fully_held_text_is_one_held_span(old: str, cuts: list[int], sizes: list[int]) -> None:
    pieces = cut(old.encode(), cuts)
    followed = follow(old, pieces, chunked([(piece, i) for i, piece in enumerate(pieces)], sizes))
    assert_tiles(old, old, followed)
    assert [span.kind for span in followed.spans] == ["held"] * bool(old)


@given(st.lists(st.tuples(TEXTS.filter(bool), st.sampled_from(["keep", "drop", "swap"])), max_size=8))
def test_whole_character_tokens_in_order_are_held_one_for_one(tokens: list[tuple[str, str]]) -> None:
    emitted = [
        (text.encode(), index) if fate == "keep" else (b"Z", NEW)
        for index, (text, fate) in enumerate(tokens)
        if fate != "drop"
    ]
    passes = [0]
    for _, src in emitted:
        passes[-1] += 1
        if src == NEW:
            passes.append(0)
    old = "".join(text for text, _ in tokens)
    for sizes in (passes, [1] * len(emitted)):
        followed = follow(old, [text.encode() for text, _ in tokens], chunked(emitted, sizes))
        assert_tiles(old, b"".join(piece for piece, _ in emitted).decode(), followed)
        assert followed.held_units == sum(utf16_units(text) for text, fate in tokens if fate == "keep")


@given(TEXTS.filter(bool), TEXTS, st.lists(st.integers(0, 99), max_size=12), SIZES, st.data())
def test_a_fully_held_draft_holds_all_but_its_patches(old: str, new: str, cuts, sizes, data) -> None:
    start = data.draw(st.integers(0, len(old) - 1))
    stop = data.draw(st.integers(start + 1, len(old)))
    draft = PatchedText(old, [Patch(start, stop, new)])
    pieces = cut(draft.text.encode(), cuts)
    followed = follow(draft, pieces, chunked([(piece, i) for i, piece in enumerate(pieces)], sizes))
    assert_tiles(old, draft.text, followed)
    held = [span.old for span in followed.spans if span.kind == "held"]
    before, after = utf16_units(old[:start]), utf16_units(old[:stop])
    assert held == [part for part in [(0, before), (after, utf16_units(old))] if part[0] < part[1]]


def spans_of(followed: Followed) -> list[tuple[str, tuple[int, int], tuple[int, int]]]:
    return [(span.kind, span.old, span.new) for span in followed.spans]


def test_a_pass_holds_a_run_and_corrects_one_token() -> None:
    followed = follow("a b c d", [b"a", b" b", b" c", b" d"], [("a X", [0, -1]), (" c d", [2, 3])])
    assert spans_of(followed) == [
        ("held", (0, 1), (0, 1)),
        ("replaced", (1, 3), (1, 3)),
        ("held", (3, 7), (3, 7)),
    ]
    assert [(delta.text, delta.kind) for delta in followed.deltas] == [
        ("a", "held"),
        (" X", "new"),
        (" c d", "held"),
    ]


def test_a_patch_that_is_held_comes_out_as_replaced() -> None:
    draft = PatchedText("costs 9 euros", [Patch(6, 7, "14")])
    followed = follow(draft, [b"costs", b" 1", b"4 euros"], [("costs 14 euros", [0, 1, 2])])
    assert spans_of(followed) == [
        ("held", (0, 6), (0, 6)),
        ("replaced", (6, 7), (6, 8)),
        ("held", (7, 13), (8, 14)),
    ]
    assert [delta.kind for delta in followed.deltas] == ["held", "new", "held"]


def test_offsets_count_utf16_units() -> None:
    followed = follow("😀a😀", ["😀".encode(), b"a", "😀".encode()], [("😀b😀", [0, -1, 2])])
    assert spans_of(followed) == [
        ("held", (0, 2), (0, 2)),
        ("replaced", (2, 3), (2, 3)),
        ("held", (3, 5), (3, 5)),
    ]


def test_a_character_split_over_a_divergence_is_replaced() -> None:
    salt = "🧂".encode()
    followed = follow("x🧂", [b"x", salt[:2], salt[2:]], [("x", [0, 1]), ("🧃", [-1])])
    assert spans_of(followed) == [("held", (0, 1), (0, 1)), ("replaced", (1, 3), (1, 3))]


@pytest.mark.parametrize("cuts", [(2, 4), (1, 3), (1, 4)])
def test_a_character_whose_start_was_decoded_is_replaced_even_if_it_is_the_same(
    cuts: tuple[int, int],
) -> None:
    data = "🧂x".encode()
    pieces = [data[: cuts[0]], data[cuts[0] : cuts[1]], data[cuts[1] :]]
    tokens = [(pieces[0], NEW), (pieces[1], 1), (pieces[2], 2)]
    for sizes in ([], [1, 1], [2]):
        followed = follow("🧂x", pieces, chunked(tokens, sizes))
        assert spans_of(followed) == [("replaced", (0, 2), (0, 2)), ("held", (2, 3), (2, 3))]


def test_a_deletion_and_an_insertion_have_one_empty_side() -> None:
    followed = follow("abc", [b"a", b"b", b"c"], [("ac!", [0, 2, -1])])
    assert spans_of(followed) == [
        ("held", (0, 1), (0, 1)),
        ("replaced", (1, 2), (1, 1)),
        ("held", (2, 3), (1, 2)),
        ("replaced", (3, 3), (2, 3)),
    ]


def test_text_held_out_of_order_is_replaced() -> None:
    followed = follow("abc", [b"a", b"b", b"c"], [("cbc", [2, 1, 2])])
    assert spans_of(followed) == [
        ("replaced", (0, 2), (0, 0)),
        ("held", (2, 3), (0, 1)),
        ("replaced", (3, 3), (1, 3)),
    ]


def test_a_run_that_overlaps_what_is_held_already_is_held_from_there_on() -> None:
    followed = follow("abc", [b"a", b"b", b"c"], [("ab", [0, 1]), ("bc", [1, 2])])
    assert spans_of(followed) == [
        ("held", (0, 2), (0, 2)),
        ("replaced", (2, 2), (2, 3)),
        ("held", (2, 3), (3, 4)),
    ]


@pytest.mark.parametrize(
    ("pieces", "kind"), [([b" Hello", b"!"], "held"), ([b"hello", b"!"], "replaced"), ([], "replaced")]
)
def test_pieces_must_spell_the_old_text_but_for_a_space_in_front(pieces: list[bytes], kind: str) -> None:
    followed = follow("Hello!", pieces, [("Hello!", [0, 1] if pieces else [-1, -1])])
    assert [span.kind for span in followed.spans] == [kind]


def test_spans_close_as_the_text_passes_them() -> None:
    tiler = Tiler(OldText(PatchedText("ab"), [b"a", b"b"]))
    assert [type(event) for event in tiler.feed("a", [0])] == [DeltaEvent]
    assert [type(event) for event in tiler.feed("X", [-1])] == [SpanEvent, DeltaEvent]
    assert [event.kind for event in tiler.finish()] == ["replaced"]


def test_nothing_gives_nothing() -> None:
    assert spans_of(follow("", [], [("", [-1])])) == []
