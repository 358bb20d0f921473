from collections.abc import Callable
from typing import Any

import pytest

from bundles import Fact, Session, Source, SuiteError, Unit, bundle_of
from bundles.records import Reference

EXPECT = Fact("e", "expect", ("Monday",))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"unit_id": " "}, "unit id ' ' must be one line and not blank", id="blank id"),
        pytest.param({"unit_id": "a\nb"}, r"unit id 'a\nb' must be one line and not blank", id="broken id"),
        pytest.param({"instruction": " "}, "unit 'u1': instruction is empty", id="instruction"),
        pytest.param(
            {"kind": "redo"}, "unit 'u1': kind 'redo' is unknown, use one of: rederive, revise", id="kind"
        ),
        pytest.param({"kind": "revise"}, "unit 'u1': a revise unit needs `edited`", id="revise"),
        pytest.param({"edited": "x"}, "unit 'u1': a rederive unit cannot have `edited`", id="rederive"),
        pytest.param({"max_tokens": 0}, "unit 'u1': max_tokens is 0, it must be", id="no tokens"),
        pytest.param({"max_tokens": 16**9_999}, "max_tokens is a huge number, it must be", id="huge"),
        pytest.param({"unit_id": "\n" * 9_999}, r"unit id '\n\n", id="long id"),
        pytest.param({"max_tokens": 2**31}, "unit 'u1': max_tokens is 2147483648, it must be", id="tokens"),
        pytest.param({"sources_after": ()}, "unit 'u1': after: no source, give at least one", id="no source"),
        pytest.param(
            {"sources_before": (Source("a", ""), Source("a", "x"))},
            "unit 'u1': before: source 'a' is given 2 times, ids must differ",
            id="source twice",
        ),
        pytest.param({"sources_before": (Source("", ""),)}, "before: source name '' must be", id="nameless"),
        pytest.param(
            {"sources_after": (Source("a", "x\ud800"),)},
            r"unit 'u1': after: source 'a' holds half a surrogate pair (\ud800) at character 1",
            id="surrogate in a source",
        ),
        pytest.param({"stale": "\udfff"}, r"unit 'u1': stale holds half a surrogate pair", id="stale"),
        pytest.param({"tags": ("\udfff",)}, r"unit 'u1': tag holds half a surrogate pair", id="tag"),
        pytest.param(
            {"attribution": {"url": "\udfff"}}, "unit 'u1': source 'url' holds half", id="attribution"
        ),
        pytest.param(
            {"canary": True, "facts": ()}, "unit 'u1': a canary needs at least one fact", id="canary"
        ),
        pytest.param({"facts": (EXPECT, EXPECT)}, "unit 'u1': fact 'e' is given 2 times", id="fact twice"),
        pytest.param({"facts": (Fact("e", "expect", ()),)}, "unit 'u1', fact 'e': no value", id="no value"),
        pytest.param(
            {"facts": (Fact("e", "expect", ("ok", "\u3000\n")),)},
            "unit 'u1', fact 'e': a value is blank",
            id="blank value",
        ),
        pytest.param(
            {"facts": (Fact("e", "expect", ("\u200b\ufe0f \u202e",)),)},
            "unit 'u1', fact 'e': a value is blank",
            id="invisible value",
        ),
        pytest.param({"unit_id": "\u200b"}, r"unit id '\u200b' must be one line and not", id="invisible id"),
        pytest.param(
            {"instruction": "\ufeff"}, "unit 'u1': instruction is empty", id="invisible instruction"
        ),
        pytest.param(
            {"facts": (Fact("e", "maybe", ("x",)),)},  # type: ignore[arg-type]
            "unit 'u1', fact 'e': polarity 'maybe' is unknown, use one of: expect, forbid",
            id="polarity",
        ),
        pytest.param(
            {"facts": (Fact("e", "expect", ("x", "y"), matcher="fuzzy"),)},
            "unit 'u1', fact 'e': matcher 'fuzzy' is unknown, use one of: text, number",
            id="matcher",
        ),
        pytest.param(
            {"facts": (Fact("e", "expect", ("x",), as_current=True),)},
            "unit 'u1', fact 'e': `as` belongs to a fact that forbids",
            id="as",
        ),
        pytest.param(
            {"reference": Reference("\udfff")}, "unit 'u1': reference holds half a surrogate", id="reference"
        ),
        pytest.param(
            {"reference": Reference("x", wall_ms=float("nan"))},
            "unit 'u1': reference wall_ms is nan, it must be a number from 0 up",
            id="time",
        ),
        pytest.param(
            {"facts": (Fact("e", "expect", ("x",), severity="high"),)},  # type: ignore[arg-type]
            "unit 'u1', fact 'e': severity 'high' is unknown, use one of: critical",
            id="severity",
        ),
        pytest.param({"session_id": "s2"}, "unit 'u1': its session 's2' is not in the bundle", id="session"),
    ],
)
def test_wrong_unit_is_refused_by_name(
    changes: dict[str, Any], message: str, make_unit: Callable[..., Unit]
) -> None:
    with pytest.raises(SuiteError) as refusal:
        bundle_of("plans", [Session("s1", "suite")], [make_unit(**changes)])
    assert message in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1
    assert len(str(refusal.value)) < 200


def test_ids_within_a_bundle_must_differ(make_unit: Callable[..., Unit]) -> None:
    session = Session("s1", "suite")
    with pytest.raises(SuiteError, match="unit 'u1' is given 3 times"):
        bundle_of("plans", [session], [make_unit(), make_unit("u2"), make_unit(), make_unit()])
    with pytest.raises(SuiteError, match="session 's1' is given 2 times"):
        bundle_of("plans", [session, session], [make_unit()])


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\ud800"])
def test_bundle_name_can_stand_in_a_line(name: str, make_unit: Callable[..., Unit]) -> None:
    with pytest.raises(SuiteError, match="bundle name"):
        bundle_of(name, [Session("s1", "suite")], [make_unit()])


def test_session_of_unknown_origin_is_refused() -> None:
    with pytest.raises(SuiteError, match="session 's': origin 'fax' is unknown"):
        bundle_of("plans", [Session("s", "fax")], [])  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["tenant", "document_id", "section_id", "document_kind", "opened_at"])
def test_session_with_half_a_character_is_refused(field: str) -> None:
    with pytest.raises(SuiteError, match=f"session 's': {field} holds half a surrogate pair"):
        bundle_of("plans", [Session("s", "git", **{field: "\ud800"})], [])
