from dataclasses import replace
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from replay.bench.measuring import LB0
from replay.bench.picture import render_picture

SVG = "{http://www.w3.org/2000/svg}"


def drawn(result: Any) -> Element:
    return ElementTree.fromstring(render_picture(result))


def dots(svg: Element) -> list[Element]:
    return [*svg.iter(f"{SVG}circle")]


def test_every_unit_is_a_dot_in_every_band_but_plain_s(bench: Any) -> None:
    svg = drawn(bench.result(*(bench.measured(f"u{n}", {"redraft": 50.0 + 9 * n}) for n in range(9))))
    assert len(dots(svg)) == 9 * len(("control", "redraft", "LB1", "LB0"))
    names = [text.text for text in svg.iter(f"{SVG}text") if text.get("text-anchor") == "end"]
    assert names[-4:] == ["control", "redraft", "LB1", "LB0"]


def test_slower_units_stand_left_of_plain_and_are_marked(bench: Any) -> None:
    svg = drawn(bench.result(bench.measured("a", {"redraft": 220.0}), bench.measured("b")))
    (one,) = [line.get("x1") for line in svg.iter(f"{SVG}line") if line.get("class") == "one"]
    slower = [dot for dot in dots(svg) if dot.get("class") == "dot slower"]
    assert [dot.findtext(f"{SVG}title") for dot in slower] == ["a: 0.50x"]
    assert float(slower[0].get("cx", "nan")) < float(one or "nan")


def test_it_says_in_words_what_it_shows(bench: Any) -> None:
    svg = drawn(bench.result(bench.measured("a", {"redraft": 220.0})))
    assert svg.get("role") == "img"
    labels = {element.get("id"): element.text or "" for element in svg if element.get("id")}
    assert (svg.get("aria-labelledby") or "").split() == ["title", "description"]
    assert "1 unit, 5 repeats" in labels["title"]
    assert "redraft: median 0.50x" in labels["description"]
    assert "slowest 0.50x (unit a)" in labels["description"]


def test_hostile_names_are_text_and_nothing_is_loaded(bench: Any) -> None:
    name = "</svg><script>alert(1)</script>\x00\x1b[2J\u202e"
    text = render_picture(bench.result(bench.measured(name)))
    ElementTree.fromstring(text)
    assert "<script" not in text
    assert "\u202e" not in text
    assert text.count("http") == text.count("http://www.w3.org/2000/svg") == 1


def test_it_follows_the_reader_s_colours(bench: Any) -> None:
    assert "prefers-color-scheme: dark" in render_picture(bench.result(bench.measured()))


@pytest.mark.parametrize("fast_ms", [0.001, 110.0, 1e9])
def test_whatever_the_speeds_everything_lies_within_the_frame(bench: Any, fast_ms: float) -> None:
    svg = drawn(bench.result(bench.measured("a", {"redraft": fast_ms, LB0: 110 / 40})))
    places = [float(dot.get("cx", "nan")) for dot in dots(svg)]
    assert all(210 <= place <= 722 for place in places)


def test_nothing_measured_is_an_empty_frame(bench: Any) -> None:
    one = bench.measured()
    alone = replace(one, attempts=(replace(one.attempts[0], status="error", error="no"),))
    svg = drawn(bench.result(alone))
    assert dots(svg) == []
    assert svg.find(f"{SVG}desc") is not None
