import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from judge.matchers.text import find_text
from judge.normalize import normalize

FOUND = [
    # prose
    ("Ava", "Ava owns it."),
    ("ava", "The owner is AVA"),
    ("Ava", "Ava's plan, not Bo’s"),
    ("Ava", "an Ava-led team"),
    ("Ava", 'Ask "Ava", (Ava) or Ava—today.'),
    ("she", "she'll come"),
    ("eau", "de l’eau"),
    ("can't", "They can’t."),
    ("will not be parsed", "it will not\n   be parsed"),
    ("Thread Safety", "thread\u00a0safety"),
    ("15 June", "on 15 June, at noon"),
    ("Acme", "Acme™ and Acme® ship"),
    ("Ava ", "Ava"),
    # numbers
    ("15", "15"),
    ("15", "It took 15."),
    ("15", "It took 15, not more"),
    ("15", "(15) [15] {15} <15> \"15\" '15'"),
    ("15", "line 15: done; 15! 15?"),
    ("15", "15…"),
    ("15", "15.Then"),
    ("15", "+15 ~15 =15 #15 @15"),
    ("15", "10-15 minutes"),
    ("10", "10–15 minutes"),
    ("2021", "2019—2021"),
    ("20%", "15%-20%"),
    ("15", "F-15"),
    ("15", "15-year plan"),
    ("15", "cost--15 euros"),
    ("15", "cost — 15 euros"),
    ("15", "in 2019 15 came"),
    ("150", "in 2019 150 came"),
    ("5", "1 5"),
    ("-15", "down to −15 degrees"),
    ("1,500", "1,500 people"),
    ("15.0", "v 15.0."),
    ("1 500", "1\u202f500 people"),
    ("0.32", "version 0.32, released"),
    ("3.5", "gpt-3.5-turbo"),
    ("10:30", "at 10:30."),
    ("2026-08-04", "released 2026-08-04."),
    ("2026", "August 4, 2026"),
    (".5", "about .5 of it"),
    # currencies, units, percent, ordinals
    ("15", "15%"),
    ("15%", "15%, up"),
    ("10 %", "10\u00a0% more"),
    ("10\u202f%", "10 % more"),
    ("15", "$15, £15 and 15€"),
    ("$15", "US$15"),
    ("€15", "€15."),
    ("15", "15°C"),
    ("15 °C", "15 ℃"),
    ("610 ms", "610\u202fms each"),
    ("15 kg", "15 ㎏"),
    ("15th", "on the 15th of June"),
    ("½", "½ cup"),
    # lists, tables, Markdown, code
    ("15", "- 15\n- 20"),
    ("500", "1\n500"),
    ("500", "1\t500"),
    ("15", "| 15 | 200 |"),
    ("15", "|15|200|"),
    ("15", "**15**, _15_, `15`, ~~15~~"),
    ("Ava", "__Ava__ and _Ava_"),
    ("Ava", "<b>Ava</b>"),
    ("requests", "requests.get(url)"),
    ("starlette.routing.Router", "`starlette.routing.Router`"),
    ("3-small", "text-embedding-3-small"),
    ("--tools", "pass `--tools` now"),
    ("mlx-lm[train]", 'pip install "mlx-lm[train]"'),
    ("(`bytes`)", "Response(`bytes`) is"),
    ("llm/0.27.1", "git checkout llm/0.27.1\n"),
    ("adapters/", "in adapters/0001"),
    ("fused_model", "mv fused_model x"),
    ("C++", "in C++."),
    ("x", "x=15"),
    ("wait...", "wait…"),
    ("'so'", "‘so’"),
    ("W&B", "use W&B today"),
    # unicode
    ("São", "Sa\u0303o Paulo"),
    ("Sa\u0303o", "São Paulo"),
    ("STRASSE", "die Straße"),
    ("15", "１５ people"),
    ("１５", "15 people"),
    ("Ava", "A\u200bva \u2066Ava\u2069"),
    ("available", "avail\u00adable"),
    ("fine", "ﬁne"),
    ("東京", "私は東京都に住む"),
    ("15", "15日に"),
    ("Ava", "Avaは来る"),
    ("サーバー", "サーバーを起動"),
    ("王", "国王"),
    ("서울", "서울에서"),
    ("กรุงเทพ", "ไปกรุงเทพวันนี้"),
    ("القاهرة", "في القاهرة، مصر"),
    ("١٥", "عدد ١٥."),
    ("हिन्दी", "यह हिन्दी है"),
    ("Москва", "город МОСКВА"),
    ("🚀", "go🚀🚀"),
    ("❤️", "I ❤ it"),
    ("Ava", "🎉Ava🎉"),
]

NOT_FOUND = [
    # prose
    ("Ava", "available"),
    ("Ava", "Java"),
    ("Ava", "AvaBot and Ava2"),
    ("can", "can't"),
    ("won", "won’t"),
    ("Neil", "O'Neil"),
    ("time", "sometimes"),
    ("15 June", "15 July, June"),
    ("Ava", ""),
    ("available", "avail able"),
    # numbers
    ("15", "1500"),
    ("15", "15.0"),
    ("15", "-15"),
    ("15", "1 5"),
    ("15", "1,500"),
    ("15", "115"),
    ("15", "0.15 and .15"),
    ("15", "15,5"),
    ("15", "15,000"),
    ("15", "15 000"),
    ("15", "15\u202f000 people"),
    ("500", "1 500"),
    ("500", "1,500 and 1'500"),
    ("15", "−15 (-15) –15"),
    ("15", "-$15"),
    ("$15", "-$15"),
    ("-15", "F-15"),
    ("-15", "10-15"),
    ("15", "at 15:30"),
    ("15", "15/16"),
    ("15", "2026-03-15"),
    ("03-15", "2026-03-15"),
    ("15", "555-15-22"),
    ("15", "192.168.1.15"),
    ("0.32", "0.32.1"),
    ("0.3", "0.32"),
    ("5", "1.5"),
    (".5", "1.5"),
    ("15.", "15.0"),
    ("1,5", "1,500"),
    ("15", "1_500 and 15_000"),
    # currencies, units, percent, ordinals
    ("5%", "15%"),
    ("$15", "$1500"),
    ("$15", "$15.50"),
    ("15", "15th"),
    ("15", "15ms"),
    ("15", "15k"),
    ("15", "15½"),
    ("151", "15½"),
    ("15", "15²"),
    # lists, tables, Markdown, code
    ("15 200", "| 15 | 200 |"),
    ("fused_model", "lora_fused_model"),
    ("lora", "lora_fused_model"),
    ("15", "v15 and v1.15"),
    ("log.db", "logs.db"),
    ("--keyfile", "--ssl-keyfile"),
    ("requests", "requestsession"),
    ("Ava", "self.ava_id"),
    # unicode
    ("Sao", "São"),
    ("Sa", "Sa\u0303o"),
    ("Ava", "Ava\u0301"),
    ("Ava", "Ava\u200bilable"),
    ("15", "１５００"),
    ("5", "１５"),
    ("十", "二十"),
    ("15", "15万人"),
    ("アバ", "アバター"),
    ("大阪", "東京"),
    ("كتاب", "كتابي"),
    ("١٥", "١٥٠"),
    ("15", "١٥"),
    ("١", "١٫٥"),
    ("हि", "हिन्दी"),
    ("🚀", "🚗"),
    ("s", "Straße"),
]


@pytest.mark.parametrize(("value", "text"), FOUND)
def test_value_is_found(value: str, text: str) -> None:
    assert list(find_text(value, text))


@pytest.mark.parametrize(("value", "text"), NOT_FOUND)
def test_value_is_not_found(value: str, text: str) -> None:
    assert not list(find_text(value, text))


def test_every_occurrence_is_found_in_order() -> None:
    assert list(find_text("15", "15, 1500 and (15) or 15")) == [(0, 2), (14, 16), (21, 23)]


@pytest.mark.parametrize("value", ["", "  ", "\u200b", "\ufe0f\n"])
def test_an_empty_value_is_nowhere(value: str) -> None:
    assert not list(find_text(value, "a text"))


@pytest.mark.parametrize(
    ("value", "text", "evidence"),
    [
        pytest.param("São", "in Sa\u0303o Paulo", "Sa\u0303o", id="decomposed"),
        pytest.param("Ava", "by A\u200bva\u200b.", "A\u200bva", id="format-character"),
        pytest.param("10 %", "a 10 \u00a0% b", "10 \u00a0%", id="run-of-spaces"),
        pytest.param("fine", "all ﬁne", "ﬁne", id="ligature"),
        pytest.param("15", "🎉 １５!", "１５", id="after-emoji"),
    ],
)
def test_evidence_is_a_range_of_the_original(value: str, text: str, evidence: str) -> None:
    [(start, end)] = find_text(value, text)
    assert text[start:end] == evidence


PRINTABLE = "15 1 500 Ava São can’t １５ ﬁ ½ 東京 十 アバ हिन्दी - – . , : ' _ $ % 🚀 ™ …"
INVISIBLE = [" ", "\u00a0", "\n", "\u200b", "\u00ad", "\u0301"]
PIECES = st.sampled_from([*PRINTABLE.split(), *INVISIBLE])
MIXED = st.lists(PIECES | st.characters(exclude_categories=["Cs"]), max_size=12).map("".join)


@given(value=MIXED, text=MIXED)
def test_evidence_stands_for_the_value(value: str, text: str) -> None:
    whole = normalize(f"{text} {value}, {value}\n{text}")
    for start, end in find_text(value, whole.source):
        stands_for = whole.text[whole.position(start) : whole.position(end)]
        assert stands_for.strip() == normalize(value).text.strip()


@given(before=MIXED, value=MIXED, after=MIXED)
def test_a_value_on_its_own_line_is_found(before: str, value: str, after: str) -> None:
    value = value.strip()
    own_line = normalize(f"\n{value}")
    assume(len(own_line.text) > 1 and not own_line.splits_original(1))  # no mark on the line break
    assume(not value.endswith("\\"))  # in Markdown a part of the line break
    assert list(find_text(value, f"{before}\n{value}\n{after}"))


@given(
    value=st.integers(0, 10**6),
    digit=st.sampled_from("0123456789０９٣½"),
    separator=st.sampled_from(["", ".", ","]),
)
def test_a_number_is_not_in_a_longer_one(value: int, digit: str, separator: str) -> None:
    assert not list(find_text(str(value), f"{digit}{separator}{value} {value}{separator}{digit} -{value}"))
