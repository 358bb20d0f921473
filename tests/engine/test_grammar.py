from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidRequest
from engine.fake_model import FakeModel
from engine.gbnf import parse
from engine.grammar import Constraint, Matcher, Vocabulary, _has, vocabulary_of

MODEL = FakeModel()
VOCABULARY = Vocabulary(MODEL)
START, END = MODEL.tokenize("<|im_start|><|im_end|>")
LIST = 'root ::= "[" (item ("," item)*)? "]"\nitem ::= "é" | "🧂"{2} | [0-9]+ | root'


def follow(grammar: str, tokens: Iterable[int]) -> tuple[int, Constraint]:
    """How many of the tokens are allowed, one after the other."""
    constraint, count = Constraint(parse("grammar", grammar), VOCABULARY), 0
    for token in tokens:
        assert constraint.allows(token) == constraint.allowed()[token]
        if not constraint.allows(token):
            break
        constraint.accept(token)
        count += 1
    return count, constraint


@pytest.mark.parametrize(
    ("text", "allowed", "complete"),
    [
        ("[]", 2, True),
        ("[é,12,🧂🧂,[[],3]]", 22, True),
        ("[1,]", 3, False),
        ("[🧂é", 5, False),
        ("]", 0, False),
        ("[1]x", 3, True),
    ],
)
def test_tokens_are_allowed_as_far_as_they_fit(text: str, allowed: int, complete: bool) -> None:
    count, constraint = follow(LIST, MODEL.tokenize(text))
    assert (count, constraint.allows(END)) == (allowed, complete)


def test_a_split_character_is_allowed_only_towards_a_fitting_one() -> None:
    salt = MODEL.tokenize("🧂")
    assert len(salt) == 4
    assert follow('root ::= "🧂"', salt)[0] == 4
    assert follow('root ::= "🧃"', salt)[0] == 3
    assert follow("root ::= [a-z]", salt)[0] == 0
    assert follow("root ::= [a-zÀ-ÿ]", [0xC3, 0xA9])[0] == 2
    assert follow("root ::= [a-z]", [0xE0])[0] == 0


def test_a_control_token_never_belongs_to_a_text() -> None:
    allowed = Constraint(parse("grammar", "root ::= .*"), VOCABULARY).allowed()
    assert (allowed[START], allowed[END]) == (False, True)


def test_bytes_that_are_no_character_are_refused() -> None:
    assert follow("root ::= .*", [0x61, 0xFF])[0] == 1


ambiguous = pytest.mark.parametrize(
    "grammar", ['root ::= ("a"? "a"?){50} "b"', 'root ::= ("a" | "a" "a")* "b"', 'root ::= ("a"*)* "b"']
)


@ambiguous
def test_an_ambiguous_grammar_takes_no_longer_than_its_text(grammar: str) -> None:
    assert follow(grammar, MODEL.tokenize("a" * 60 + "b"))[0] == 61


def test_a_hopelessly_ambiguous_grammar_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"^grammar: can be read in too many ways"):
        Matcher(parse("grammar", "root ::= " + '"a"? ' * 2000))


def test_nesting_ends_in_a_refusal_not_in_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.grammar.MAX_FRAMES", 1000)
    with pytest.raises(InvalidRequest, match=r"^grammar: nests too deeply"):
        follow('root ::= "(" root ")" | "x"', MODEL.tokenize("(" * 1001))


def test_what_was_kept_is_dropped_without_changing_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.grammar.MAX_WORK", 2000)
    count, constraint = follow(LIST, MODEL.tokenize("[é,12,🧂🧂,[[],3]]"))
    assert count == 22
    assert constraint._matcher._work < 2000


@pytest.mark.parametrize(
    "grammar",
    [
        "root ::= " + " | ".join(f'.* "{"abcdefgh"[n % 8]}" {". " * n}' for n in range(200)),
        "root ::= " + "[^t]? " * 240 + "[^u]",
    ],
    ids=["what came before must be remembered", "many ways to read"],
)
def test_a_grammar_that_takes_long_to_follow_is_refused(
    grammar: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.grammar.MAX_WORK", 50_000)
    with pytest.raises(InvalidRequest, match="too long to follow"):
        follow(grammar, MODEL.tokenize("the plan"))


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda it: (min(it), max(it))), max_size=6
    ),
    st.integers(0, 30),
    st.integers(0, 5),
)
def test_a_class_has_what_its_ranges_have(ranges: list[list[int]], first: int, more: int) -> None:
    text = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
    (had, *_), _ = parse("grammar", f"root ::= [{text}]")
    expected = any(low <= first + more and first <= high for low, high in ranges)
    assert _has(had, first, first + more) == expected
    assert had == tuple(sorted(had))


def test_a_models_vocabulary_is_read_once() -> None:
    assert vocabulary_of(MODEL) is vocabulary_of(MODEL)
    assert vocabulary_of(FakeModel()) is not vocabulary_of(MODEL)


@given(st.lists(st.sampled_from("ab(),"), max_size=12).map("".join))
def test_a_grammar_of_balanced_lists(text: str) -> None:
    """Against a reader of the same language that goes down by recursion."""

    def read(place: int) -> int | None:
        if text[place : place + 1] in ("a", "b"):
            return place + 1
        if text[place : place + 1] != "(":
            return None
        after = read(place + 1)
        while after is not None and text[after : after + 1] == ",":
            after = read(after + 1)
        return None if after is None or text[after : after + 1] != ")" else after + 1

    count, constraint = follow('root ::= [ab] | "(" root ("," root)* ")"', text.encode())
    whole = count == len(text) and constraint.allows(END)
    assert whole == (read(0) == len(text) and bool(text))


@given(st.integers(0, 2**32 - 1))
def test_any_walk_along_allowed_tokens_can_go_on_or_end(seed: int) -> None:
    random, constraint, said = (
        np.random.default_rng(seed),
        Constraint(parse("grammar", LIST), VOCABULARY),
        b"",
    )
    for _ in range(12):
        token = int(random.choice(np.flatnonzero(constraint.allowed())))
        constraint.accept(token)
        said += MODEL.piece(token)
    assert constraint.allowed().any()
    said.decode("utf-8", "strict" if not constraint._unfinished else "ignore")
