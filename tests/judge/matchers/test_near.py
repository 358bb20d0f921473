from judge.matchers.near import find_near


def places(text: str, *words: str) -> list[list[tuple[int, int]]]:
    return [[(at, at + len(word)) for at in range(len(text)) if text.startswith(word, at)] for word in words]


def test_the_range_spans_the_parts_of_one_sentence() -> None:
    text = "Ava left. Ava and Bo met Cem. Bo left."
    assert list(find_near(text, places(text, "Ava", "Bo"))) == [(10, 20)]


def test_a_part_that_is_nowhere() -> None:
    assert not list(find_near("Ava", places("Ava", "Ava", "Bo")))


def test_the_head_of_a_column_counts_for_what_is_held_below_it() -> None:
    text = "| task | owner |\n|---|---|\n| drill | Ava |\n| owner | Bo |"
    assert [text[s:e] for s, e in find_near(text, places(text, "owner", "Ava"))] == ["Ava"]
    assert not list(find_near(text, places(text, "task", "Ava")))


def test_an_outer_item_counts_for_its_inner_ones() -> None:
    text = "- Ava\n  - drill\n- Bo\n  - launch"
    assert [text[s:e] for s, e in find_near(text, places(text, "Ava", "drill"))] == ["drill"]
    assert not list(find_near(text, places(text, "Bo", "drill")))
