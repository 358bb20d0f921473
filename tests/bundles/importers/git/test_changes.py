import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles.importers.git.changes import (
    change_of,
    churn,
    code_of,
    is_figure,
    is_name,
    is_value,
    is_word_list,
    tokens_of,
)

DATA = Path(__file__).parents[3] / "data"


@pytest.mark.parametrize(
    ("old", "new", "category", "replaced"),
    [
        ("It takes 302 as code.", "It takes 307 as code.", "value", [("302", "307")]),
        ("Due 14 March 2026.", "Due 2 April 2026.", "value", [("14 March", "2 April")]),
        ("About 1 500 items.", "About 1 600 items.", "value", [("1 500", "1 600")]),
        (
            "Read on Mondays at 14:00",
            "Read on Fridays at 15:30",
            "value",
            [("Mondays", "Fridays"), ("14:00", "15:30")],
        ),
        ("It is enabled.", "It is disabled.", "value", [("enabled", "disabled")]),
        ("Up to 10% of 2.1.0", "Up to 15% of 2.2.0", "value", [("10%", "15%"), ("2.1.0", "2.2.0")]),
        ("Use --hf-path here.", "Use --model here.", "rename", [("--hf-path", "--model")]),
        ("Run `quant` now.", "Run `train` now.", "rename", [("quant", "train")]),
        ("see r1.url for it", "see r1.uri for it", "rename", [("r1.url", "r1.uri")]),
        ("Ask Priya about it.", "Ask Tomás about it.", "rename", [("Priya", "Tomás")]),
        ("It will also be parsed.", "It will not be parsed.", "reword", [("also", "not")]),
        ("One two.", "One two three.", "append", []),
        ("One two three.", "One two.", "delete", []),
        ("One two three", "Two three four", "reword", [("One two", "Two")]),
        ("one  two", "**one** two.", "format", []),
        ("- a\n- b", "* a\n* b", "format", []),
    ],
)
def test_categories(old: str, new: str, category: str, replaced: list[tuple[str, str]]) -> None:
    change = change_of(old, new)
    assert change.category == category
    if category != "reword":
        assert [(swap.old, swap.new) for swap in change.replacements] == replaced


def test_share_counts_words_on_both_sides() -> None:
    assert change_of("a b c d", "a b c e").share == 0.25
    assert change_of("a b", "c d").share == 1.0
    assert change_of("a, b", "a b").share == 0.0


def test_real_edits_come_out_as_a_person_sees_them_or_as_less() -> None:
    found: Counter[tuple[str, str]] = Counter()
    for line in (DATA / "real-edits-sample.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        category = change_of(entry["context_old"], entry["context_new"]).category
        found[entry["category"].removeprefix("real_"), category] += 1
    less = {("rename", "reword"), ("reword", "append"), ("typo", "reword")}
    assert {pair for pair in found if pair[0] != pair[1]} == less


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("See [it](http://a.x/1).", "See [it](https://b.x/2).", "links"),
        ("See https://a.x now", "See https://b.x/y now", "links"),
        ("[1]: http://a.x", "[1]: http://b.x", "links"),
        ("# T\n[![ci](a.svg)](b)\nText", "# T\n[![ci](c.svg)](d) ![x](y)\nText", "badges"),
        ("# T\n![build](a.svg)\nText", "# T\nText", "badges"),
        ('# T\n<img src="a.svg"> <img src="b.svg">\nText', "# T\nText", "badges"),
        ("Text\nThanks to @ava for this", "Text\nThanks to @ben and @ava for this", "credits"),
        ("Text\nCopyright 2023 X", "Text\nCopyright 2024 X", "credits"),
        ("Text\n* @ava", "Text\n* @ava\n* @ben", "credits"),
        ("See [it](http://a.x/1), 12.", "See [it](https://b.x/2), 13.", None),
        ("Thanks to caching it takes 12 ms", "Thanks to caching, it took 12 ms\nand more", None),
        ("a", "b", None),
        ("a\n\nb", "a\nb\n", None),
    ],
)
def test_upkeep_is_told_apart(old: str, new: str, reason: str | None) -> None:
    assert churn(old, new) == reason


def test_words_that_are_values_or_names() -> None:
    values = ["14", "v1.2", "10%", "2026-03-14", "Monday", "Sundays", "TRUE", "ada-002"]
    assert all(map(is_value, values))
    assert not any(map(is_value, ["may be", "word", "monday's"]))
    assert [text for text in ["14", "v1.2", "May", "Sundays", "TRUE", "on", "word"] if is_figure(text)] == [
        "14",
        "v1.2",
        "May",
        "Sundays",
    ]
    assert all(map(is_name, ["--flag", "-r", "a_b", "x.y", "a/b", "camelCase", "Priya", "llm-x"]))
    assert not any(map(is_name, ["word", "-", "14"]))


def test_a_word_list_is_mostly_words_alone_on_their_line() -> None:
    assert is_word_list("# made by a tool, with these words\na==1\n    # via b\nb==2\n")
    assert not is_word_list("Run all of this:\n```json\n{\n}\n```\n")
    assert not is_word_list("")


def test_code_is_what_stands_in_blocks_and_spans() -> None:
    text = "Run `a_b --x` or ``c`d``.\n\n```sh\npip install e\n```\nprose\n~~~\nf\n~~~\n"
    assert code_of(text) >= {"a_b", "--x", "c", "d", "pip", "install", "e", "f"}
    assert "prose" not in code_of(text)


def test_tokens_keep_what_belongs_together() -> None:
    text = "Up to 1,428 (v1.2.3) --max-rows=30 at 12:30, $5.50; don't"
    assert tokens_of(text) == [
        *("Up", "to", "1,428", "(", "v1.2.3", ")", "--max-rows", "=", "30", "at", "12:30", ",", "$5.50", ";"),
        "don't",
    ]


@given(old=st.text(max_size=60), new=st.text(max_size=60))
def test_replacements_stand_in_the_texts(old: str, new: str) -> None:
    change = change_of(old, new)
    assert 0 <= change.share <= 1
    assert all(swap.old in old and swap.new in new for swap in change.replacements)
    assert (change.share == 0) == (change.category == "format")
