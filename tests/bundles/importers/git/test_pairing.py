from bundles.importers.git.pairing import paired
from bundles.importers.git.sections import Section


def sections(**texts: str) -> list[Section]:
    return [Section(tuple(key.split("_")), text) for key, text in texts.items()]


def pairs(old: list[Section], new: list[Section]) -> list[tuple[str, str]]:
    return [("_".join(before.key), "_".join(after.key)) for before, after in paired(old, new)]


def test_sections_of_the_same_headings_are_pairs_wherever_they_stand() -> None:
    old = sections(a="one", b="two", c="three")
    new = sections(c="3", d="new", a="1")
    assert pairs(old, new) == [("c", "c"), ("a", "a")]


def test_other_headings_at_the_same_place_over_the_same_text_are_the_same_section() -> None:
    old = sections(a="x", a_install="Run the installer and wait.", a_use="Call it.", b="y")
    new = sections(a="x", a_setup="Run the installer and wait!", a_usage="Call it..", b="y")
    assert pairs(old, new) == [("a", "a"), ("a_install", "a_setup"), ("a_use", "a_usage"), ("b", "b")]


def test_another_text_or_another_number_of_sections_is_another_section() -> None:
    old = sections(a="x", install="Run the installer and wait.")
    assert pairs(old, sections(a="x", setup="Nothing of that sort at all")) == [("a", "a")]
    two = sections(a="x", setup="Run the installer", more="and wait.")
    assert pairs(old, two) == [("a", "a")]
    assert pairs(sections(a="one"), []) == []
