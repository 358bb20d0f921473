from typing import Any

import pytest

from bundles import Fact, Session, Source, SuiteError
from bundles.importers.suite_entry import session_of, units_of
from bundles.records import Reference

ENTRY: dict[str, Any] = {"id": "a", "instruction": "Do.", "before": {"x": "1"}, "after": {"x": "2"}}


def test_everything_a_unit_can_say() -> None:
    (unit,) = units_of(
        {
            "id": "a",
            "category": "value",
            "kind": "revise",
            "instruction": "Do.",
            "before": [{"name": "x", "text": "1"}, {"name": "y", "text": ""}],
            "after": {"y": "", "x": "2"},
            "stale": "old",
            "edited": "",
            "pinned": ["keep"],
            "expect_new": ["e"],
            "forbid_new": ["f", "g"],
            "facts": [
                {"polarity": "expect", "value": "h"},
                {
                    "fact_id": "mine",
                    "polarity": "forbid",
                    "matcher": "number",
                    "values": ["12", "twelve"],
                    "severity": "advisory",
                    "as": "current",
                },
                {"polarity": "forbid", "value": "i"},
            ],
            "canary": True,
            "max_tokens": 80,
            "tags": ["t"],
            "source": {"licence": "MIT"},
            "session": "s",
            "reference": {"text": "was", "mode": "tolerant", "wall_ms": 9, "prompt_ms": 0.5},
        }
    )
    assert unit.session_id == "s"
    assert unit.reference == Reference("was", "tolerant", 9.0, 0.5)
    assert unit.sources_before == (Source("x", "1"), Source("y", ""))
    assert unit.sources_after == (Source("y", ""), Source("x", "2"))
    assert (unit.kind, unit.stale, unit.edited, unit.pinned, unit.tags) == (
        "revise",
        "old",
        "",
        ("keep",),
        ("t",),
    )
    assert (unit.category, unit.canary, unit.max_tokens) == ("value", True, 80)
    assert unit.attribution == {"licence": "MIT"}
    assert unit.facts == (
        Fact("expect-1", "expect", ("e",)),
        Fact("forbid-1", "forbid", ("f",)),
        Fact("forbid-2", "forbid", ("g",)),
        Fact("expect-2", "expect", ("h",)),
        Fact("mine", "forbid", ("12", "twelve"), "number", "advisory", as_current=True),
        Fact("forbid-4", "forbid", ("i",)),
    )


def test_edits_go_on_from_the_state_before_them() -> None:
    first, second, third = units_of(
        ENTRY
        | {
            "category": "value",
            "tags": ["t"],
            "pinned": ["keep"],
            "stale": "old",
            "expect_new": ["2"],
            "source": {"licence": "MIT"},
            "max_tokens": 9,
            "edits": [
                {"after": {"x": "3"}, "canary": True, "forbid_new": ["2"]},
                {"kind": "revise", "edited": "new", "instruction": "Do it.", "category": "", "pinned": []},
            ],
        }
    )
    assert [unit.unit_id for unit in (first, second, third)] == ["a", "a/2", "a/3"]
    assert {unit.session_id for unit in (first, second, third)} == {"a"}
    assert second.sources_before == first.sources_after == (Source("x", "2"),)
    # What describes the session carries over; what describes one edit does not.
    assert (second.instruction, second.category, second.tags, second.pinned) == (
        "Do.",
        "value",
        ("t",),
        ("keep",),
    )
    assert (second.max_tokens, second.attribution) == (9, {"licence": "MIT"})
    assert (second.stale, second.facts) == (None, (Fact("forbid-1", "forbid", ("2",)),))
    assert third.sources_before == third.sources_after == (Source("x", "3"),)
    assert (third.instruction, third.category, third.pinned, third.canary) == ("Do it.", "", (), False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param(
            {"question": "Do."}, "give `instruction` or `question`, not both", id="two names of one thing"
        ),
        pytest.param({"context_old": "x"}, "give `before` or `context_old`, not both", id="two befores"),
        pytest.param({"canary": 1}, "`canary` must be true or false, not 1", id="flag"),
        pytest.param({"max_tokens": True}, "`max_tokens` must be a whole number, not True", id="number"),
        pytest.param({"tags": "t"}, "`tags` must be a list, not 't'", id="list"),
        pytest.param({"expect_new": [307]}, "`expect_new` must hold texts, not 307", id="list of texts"),
        pytest.param(
            {"source": {"line": 7}}, "`source` must hold texts, not 7 as 'line'", id="mapping of texts"
        ),
        pytest.param(
            {"stale": ["x" * 99]}, f"`stale` must be a text, not ['{'x' * 37}...xxx", id="long value"
        ),
        pytest.param({"x" * 99: 1}, f"unknown key '{'x' * 37}...xxx", id="long key"),
        pytest.param({"after": 7}, "`after` must be a list of sources, not 7", id="sources"),
        pytest.param(
            {"after": {"x": 7}}, ", source 1 of `after`: `text` must be a text, not 7", id="source text"
        ),
        pytest.param({"after": [{"text": ""}]}, ", source 1 of `after`: `name` is missing", id="source name"),
        pytest.param(
            {"after": ["x"]}, ", source 1 of `after`: must be an object, not 'x'", id="source of no name"
        ),
        pytest.param(
            {"reference": {"text": "", "wall_ms": "9"}},
            ", `reference`: `wall_ms` must be a number, not '9'",
            id="time",
        ),
        pytest.param({"reference": {}}, ", `reference`: `text` is missing", id="reference"),
        pytest.param(
            {"edits": [{}]}, ", edit 2: `after` or `context_new` is missing", id="edit without after"
        ),
        pytest.param({"edits": [{"before": "x"}]}, ", edit 2: unknown key 'before'", id="edit with before"),
        pytest.param(
            {"edits": [{"after": "x", "id": "a"}]}, "'a' is given 2 times", id="edit of the same id"
        ),
    ],
)
def test_what_is_not_right_is_said(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SuiteError) as refusal:
        units_of(ENTRY | changes)
    assert str(refusal.value).startswith("unit 'a'")
    assert message in str(refusal.value)


def test_a_session_is_what_is_said_of_it() -> None:
    described = {"session_id": "s", "origin": "git", "tenant": "t", "document_id": "d", "section_id": "x"}
    described |= {"document_kind": "markdown", "opened_at": "2025-01-02T03:04:05Z"}
    assert session_of(1, described) == Session("s", "git", "t", "d", "x", "markdown", "2025-01-02T03:04:05Z")
    assert session_of(1, {"session_id": "s"}) == Session("s", "suite")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"session_id": "s", "owner": ""}, "entry 2 of `sessions`: unknown key 'owner'"),
        ({"tenant": "t"}, "entry 2 of `sessions`: `session_id` is missing"),
        ("s", "entry 2 of `sessions`: must be an object, not 's'"),
    ],
)
def test_a_session_that_is_none_is_said(item: object, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        session_of(2, item)
