from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from replay.report.junit import render_junit
from replay.summary import Summary

SCHEMA = Path(__file__).parents[2] / "data" / "junit-10.xsd"
Outcomes = dict[tuple[str, str], str]


@pytest.fixture(scope="module")
def schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(SCHEMA))


def outcomes(summary: Summary) -> Outcomes:
    root = ET.fromstring(render_junit(summary))
    return {
        (case.get("classname", ""), case.get("name", "")): case[0].tag if len(case) else "passed"
        for case in root.iter("testcase")
    }


def test_every_report_is_valid(case_name: str, summaries: Mapping[str, Summary], schema: Any) -> None:
    schema.validate(render_junit(summaries[case_name]))


def test_there_is_a_case_for_each_unit_and_arm_under_test(summaries: Mapping[str, Summary]) -> None:
    found = outcomes(summaries["all_identical"])
    arms = ("redraft", "redraft:tau=3,floor=1")
    assert found.keys() == {("gate", "gate"), *((arm, f"u{n}") for arm in arms for n in range(6))}
    assert set(found.values()) == {"passed"}


@pytest.mark.parametrize(
    ("case", "gate", "expected"),
    [
        ("one_regression", "failure", {("redraft", "u1"): "failure", ("redraft", "u0"): "passed"}),
        ("blind_canaries", "skipped", {("redraft", "u1"): "skipped", ("redraft", "u0"): "passed"}),
        ("unscored_verdicts", "skipped", {("redraft", "u1"): "skipped", ("redraft", "u0"): "passed"}),
        (
            "engine_errors",
            "error",
            {
                ("redraft", "u0"): "error",
                ("redraft", "u1"): "error",
                ("redraft", "u2"): "passed",
                ("redraft:tau=3,floor=1", "u0"): "passed",
                ("redraft:tau=3,floor=1", "u2"): "error",
            },
        ),
        ("empty_run", "error", {("redraft", "u0"): "error"}),
    ],
)
def test_outcome_says_what_became_of_a_unit(
    case: str, gate: str, expected: Outcomes, summaries: Mapping[str, Summary]
) -> None:
    found = outcomes(summaries[case])
    assert found["gate", "gate"] == gate
    assert {key: found[key] for key in expected} == expected


def test_unit_without_facts_is_skipped(make: Any) -> None:
    unit = make.unit("u0", facts=(), canary=False)
    evaluated = make.evaluated(1)
    summary = type(evaluated)(make.run([unit]), (unit,), evaluated.attempts).summary()
    assert outcomes(summary)["redraft", "u0"] == "skipped"


def test_counts_are_those_of_the_cases(summaries: Mapping[str, Summary]) -> None:
    root = ET.fromstring(render_junit(summaries["engine_errors"]))
    for element in (root, *root):
        found = {tag: len(element.findall(f".//{tag}")) for tag in ("testcase", "failure", "error")}
        assert [int(element.get(name, "-1")) for name in ("tests", "failures", "errors")] == [*found.values()]


def test_properties_carry_the_numbers(summaries: Mapping[str, Summary]) -> None:
    root = ET.fromstring(render_junit(summaries["all_identical"]))
    gate, redraft, _ = (
        {found.get("name"): found.get("value") for found in suite.iter("property")} for suite in root
    )
    assert (gate["verdict"], gate["units"], gate["comparability.kv_type"]) == ("pass", "6", "bf16")
    assert (redraft["facts_passed"], redraft["speedup_median"], redraft["canaries_passed"]) == (
        "12",
        "2",
        "6",
    )


def test_a_failure_says_which_facts_and_shows_both_texts(summaries: Mapping[str, Summary]) -> None:
    (failure,) = ET.fromstring(render_junit(summaries["one_regression"])).findall("./testsuite[2]//failure")
    assert "unit u1 fact new (expect 'Ava')" in failure.get("message", "")
    assert "--- plain\nAva owns it.\n--- redraft\nBo owns it." in (failure.text or "")


def test_a_large_run_is_bounded_per_case(large: Summary) -> None:
    shown = render_junit(large)
    root = ET.fromstring(shown)
    assert root.get("tests") == "20001"
    assert root.get("failures") == "1001"
    assert len(shown) < 4_000_000


def test_a_claim_lost_is_a_failure(claimed: Summary) -> None:
    found = outcomes(claimed)
    assert [key for key, tag in found.items() if tag == "failure"] == [("gate", "gate"), ("redraft", "u1")]
