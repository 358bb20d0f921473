from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidRequest
from engine.gbnf import LAST_CHARACTER, MAX_LENGTH, Grammar, parse


def test_a_grammar_is_flat_code() -> None:
    grammar = parse("grammar", 'root ::= "ab" x | [0-9]\nx ::= "c"')
    a, b, c, digit = ((97, 97),), ((98, 98),), ((99, 99),), ((48, 57),)
    assert grammar == Grammar((a, b, 1, None, digit, None, c, None), ((0, 4), (6,)))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('root ::= "a" # end\n', 'root::="a"'),
        ('root ::= "a" |\n "b"', 'root ::= "a"\n| "b"'),
        ('root ::= "a"{3}', 'root ::= "a" "a" "a"'),
        ('root ::= "a"{0}', 'root ::= ""'),
        (r'root ::= "\x41\u00e9\U0001F9C2\n\"\\\]"', 'root ::= "Aé🧂\n" ["] [\\\\] [\\]]'),
        (r"root ::= [^a-z]", r"root ::= [\x00-\x60{-\U0010FFFF]"),
        ("root ::= [a-]", "root ::= [a\\-]"),
        ("root ::= [^]", "root ::= ."),
    ],
)
def test_notations_for_the_same(text: str, same: str) -> None:
    assert parse("grammar", text) == parse("grammar", same)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "rule root is not defined"),
        ('a ::= "a"', "rule root is not defined"),
        ("root ::= other", "rule other is not defined"),
        ('root ::= "a"\nroot ::= "b"', "line 2: rule root is defined twice"),
        ('root = "a"', "line 1: '= \"a\"' is not GBNF"),
        ('root ::= "a', "is not GBNF"),
        ("root ::= [a", "is not GBNF"),
        ("root ::= <[5]>", "is not GBNF"),
        ('root ::= "a"{3', "is not GBNF"),
        ('root ::= "a"{99999999}', "is not GBNF"),
        ('root ::= ("a"', "a group is not closed"),
        ('root ::= ("a"\nx ::= "b"', "a group is not closed"),
        ('root ::= "a")', "closed that was not opened"),
        ("root ::= *", r"\* repeats nothing"),
        ('root ::= "a" | {2}', "repeats nothing"),
        ('root ::= "a"{5,2}', "at most 2 and at least 5"),
        ('root ::= "a"{50001}', "more than 50000 symbols"),
        ("root ::= " + '"a"{1000} ' * 60, "more than 50000 symbols"),
        ("root ::= [" + "a" * 50001 + "]", "more than 50000 symbols"),
        ("root ::= " + "[acegikmoqsuwy]" * 4000, "more than 50000 symbols"),
        ('root ::= "' + "a" * 50001 + '"', "more than 50000 symbols"),
        ("#" * (MAX_LENGTH + 1), "characters are more than"),
        ("root ::= [z-a]", "ends before it starts"),
        (r'root ::= "\q"', "unknown escape"),
        (r'root ::= "\x4"', "unknown escape"),
        (r'root ::= "\UFFFFFFFF"', "is no character"),
        ('::= "a"', "expected NAME ::="),
        ('root ::= "a" ::= "b"', "a rule has no name"),
        ('"a"', "expected NAME ::="),
        ('root ::= root "a"', "rule root starts with itself"),
        ('root ::= x\nx ::= y* root "b"\ny ::= "c"', "starts with itself"),
        ('root ::= ("a"? root "b")', "starts with itself"),
    ],
)
def test_what_is_wrong_is_said(text: str, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^grammar: .*{problem}"):
        parse("grammar", text)


def test_deep_groups_and_long_chains_need_no_stack() -> None:
    assert parse("grammar", "root ::= " + "(" * 20_000 + '"a"' + ")" * 20_000)
    chain = "".join(f"a{n} ::= a{n + 1}\n" for n in range(10_000))
    assert parse("grammar", f'root ::= a0\n{chain}a10000 ::= "x"')


pieces = st.sampled_from(
    [
        "root",
        " ::= ",
        '"a"',
        "[b-c]",
        "(",
        ")",
        "|",
        "*",
        "+",
        "?",
        "{2}",
        "{1,3}",
        "\n",
        "x",
        '"',
        "[",
        "\\",
        "é",
    ]
)


@given(st.lists(pieces, max_size=30).map(lambda parts: "root ::= " + "".join(parts)))
def test_any_text_is_a_grammar_or_refused(text: str) -> None:
    with suppress(InvalidRequest):
        code, starts = parse("grammar", text)
        assert all(code[start - 1] is None for rule in starts for start in rule if start)
        rules = [symbol for symbol in code if isinstance(symbol, int)]
        assert all(0 <= rule < len(starts) for rule in rules)
        ranges = [symbol for symbol in code if isinstance(symbol, tuple)]
        assert all(0 <= a <= b <= LAST_CHARACTER for symbol in ranges for a, b in symbol)
