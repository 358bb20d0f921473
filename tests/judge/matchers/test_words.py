from judge.matchers.words import forms, places_of, runs_of, words_of


def test_words_are_runs_of_small_letters() -> None:
    assert words_of("one two-three 4four isn't") == {"one", "two", "three", "four", "isn", "t"}
    assert words_of("zürich, naïve") == {"z", "rich", "na", "ve"}


def test_places_are_those_of_whole_words_in_order() -> None:
    text = "nine to one, bone, one_a, ones and one"
    assert list(places_of(text, {"one", "nine"})) == [(0, 4), (8, 11), (35, 38)]


def test_runs_end_at_anything_but_small_letters() -> None:
    assert list(runs_of("no, know, _no_ né no2", "no")) == [0, 11, 18]
    assert list(runs_of("né no", "n")) == [0]


def test_forms_of_a_stem() -> None:
    assert {"change", "changes", "changed", "changing"} <= forms("chang")
    assert {"deny", "denies", "denied", "denying"} <= forms("den")
