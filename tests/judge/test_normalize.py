import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.normalize import normalize

# Characters that compose, expand, fold or vanish, more often than chance would draw them.
TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from(
            "aA e\u0301\u0327ßİ½²™…ﬁ´'’\"“-–−\u00ad\u200b\u200d\ufe0f \t\n\u00a0\u202f가각ᄀ\u1161\u11a8"
        ),
    )
)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        pytest.param("São", "são", id="composed"),
        pytest.param("Sa\u0303o", "são", id="decomposed"),
        pytest.param("can’t", "can't", id="typographic-apostrophe"),
        pytest.param("can´t", "can't", id="acute-accent-for-apostrophe"),
        pytest.param("“so” „so“ «so»", '"so" "so" "so"', id="double-quotes"),
        pytest.param("a–b—c−d‑e⁻f", "a-b-c-d-e-f", id="dashes-and-minus"),
        pytest.param("10\u00a0%\u202f\u2003x\r\n\ty", "10 % x y", id="spaces"),
        pytest.param("a\u2028b\u0085c\u3000d", "a b c d", id="line-separators"),
        pytest.param("in\u00advis\u200bi\ufeffble\u2060", "invisible", id="format-characters"),
        pytest.param("a \u200b b", "a b", id="format-character-between-spaces"),
        pytest.param("❤\ufe0f", "❤", id="variation-selector"),
        pytest.param("１５％", "15%", id="full-width"),
        pytest.param("ﬁne", "fine", id="ligature"),
        pytest.param("STRASSE Straße", "strasse strasse", id="sharp-s"),
        pytest.param("ΣΊΣΥΦΟΣ σίσυφος", "σίσυφοσ σίσυφοσ", id="final-sigma"),
        pytest.param("15…", "15...", id="ellipsis"),
        pytest.param(
            "**15** ms, *so* `so` __15__ _so_", "15 ms, so so 15 so", id="marks-of-emphasis-and-code"
        ),
        pytest.param("**so* *", "**so* *", id="marks-without-an-end"),
        pytest.param("__init__ a_b_c 2*3*4 * x *", "__init__ a_b_c 2*3*4 * x *", id="marks-of-nothing"),
        pytest.param("<b>15</b> <i>ms</i> a<b c", "15 ms a<b c", id="tags-of-emphasis"),
        pytest.param("15\\% \\$5 \\n x\\\ny", "15% $5 \\n x y", id="escapes"),
        pytest.param("> a\n> b\n>> c\nd\n> e", "> a b c d > e", id="quote-that-goes-on"),
        pytest.param("", "", id="empty"),
        pytest.param("\u200b", "", id="nothing-but-format"),
    ],
)
def test_texts_that_read_alike_become_equal(source: str, text: str) -> None:
    assert normalize(source).text == text


def test_each_character_knows_where_it_came_from() -> None:
    normalized = normalize("Sa\u0303o  ½")
    assert normalized.text == "são 1⁄2"
    assert [normalized.original(i, i + 1) for i in range(7)] == [
        (0, 1),
        (1, 3),
        (3, 4),
        (4, 6),
        (6, 7),
        (6, 7),
        (6, 7),
    ]
    assert [normalized.splits_original(i) for i in range(8)] == [False] * 5 + [True, True, False]
    assert [normalized.position(i) for i in range(8)] == [0, 1, 1, 2, 3, 3, 4, 7]


@pytest.mark.parametrize(
    ("source", "lined"),
    [
        pytest.param("a b\u00a0c\u3000d", "a b c d", id="one-space"),
        pytest.param("a  b\u00a0 c\td\r\ne", "a\nb\nc\nd\ne", id="more-than-a-space"),
    ],
)
def test_wider_gaps_can_be_told_from_a_space(source: str, lined: str) -> None:
    assert normalize(source).lined == lined


@given(TEXTS.filter(lambda text: not any(mark in text for mark in "*_`\\<>")))
def test_pieces_normalise_as_the_whole_text_does(source: str) -> None:
    kept = "".join(
        c
        for c in source
        if unicodedata.category(c) != "Cf" and "VARIATION SELECTOR-" not in unicodedata.name(c, "")
    )
    quoted = re.sub(r"\s+", " ", kept)
    for marks, plain in (("‘’‚‛ʼʹ′´‹›", "'"), ("“”„‟″«»〝〞〟", '"'), ("−", "-")):
        quoted = re.sub(f"[{marks}]", plain, quoted)
    quoted = "".join("-" if unicodedata.category(c) == "Pd" else c for c in quoted)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", quoted).casefold())
    assert normalize(source).text == folded.replace("\u2212", "-").replace("ʼ", "'").replace(
        "ʹ", "'"
    ).replace("′", "'")


@given(TEXTS)
def test_the_map_is_monotone_and_within_the_source(source: str) -> None:
    normalized = normalize(source)
    ranges = [normalized.original(i, i + 1) for i in range(len(normalized.text))]
    assert ranges == sorted(ranges)
    assert all(0 <= start < end <= len(source) for start, end in ranges)
    assert all(normalized.position(start) <= i for i, (start, _) in enumerate(ranges))
    assert normalized.position(len(source)) == len(normalized.text)
