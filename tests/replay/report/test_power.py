import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from judge import Power, Seen
from judge.power import Example
from replay.report.power import power_json, render_power_html, render_power_picture, render_power_table

FAULTS = {"stale_fact": Seen(120, 120), "negated": Seen(20, 18), "swapped_owner": Seen()}
POWER = Power(
    run_id="20260101-120000-abcd",
    seed=7,
    unchanged="pass",
    detection=FAULTS,
    in_canaries={"stale_fact": Seen(40, 40), "negated": Seen(4, 3), "swapped_owner": Seen()},
    false_alarms={"reworded": Seen(200, 1), "reordered": Seen(30, 0)},
    doses={("stale_fact", 2): Seen(20, 20), ("reworded", 5): Seen(20, 1)},
    resamples=1000,
    failures=0,
    examples=(Example("negated", "u<1>", "'a\nb': denied", "pass"),),
)


def test_json_has_the_promised_keys() -> None:
    found = json.loads(power_json(POWER))
    assert found["detection"]["stale_fact"].items() >= {"injected": 120, "detected": 120, "rate": 1.0}.items()
    assert found["detection"]["negated"].items() >= {"rate": 0.9, "canary_injected": 4}.items()
    assert found["detection"]["swapped_owner"]["rate"] is None
    assert found["false_alarms"]["reworded"].items() >= {"injected": 200, "flagged": 1, "rate": 0.005}.items()
    assert found["aa"] == {"resamples": 1000, "failures": 0}
    assert found["doses"][0] == {"kind": "stale_fact", "dose": 2, "runs": 20, "flagged": 20, "rate": 1.0}
    assert found["suffices"] is True
    assert found["schema_version"] == 1


def test_table_has_a_line_for_each_kind_and_ends_with_the_requirement() -> None:
    lines = render_power_table(POWER).splitlines()
    rows = {line.split("  ")[0]: line.split() for line in lines if line}
    assert rows["stale fact"][2:] == ["120", "120", "100%", "100%", "of", "40", "100%", "-", "-"]
    assert rows["swapped owner"][2:] == ["0", "0", "-", "-", "-", "-", "-"]
    assert rows["reworded"][1:] == ["200", "1", "<1%", "-", "5%", "-"]
    assert "negated in unit u<1> ('a b': denied): the gate says pass" in lines
    assert lines[-2] == "A/A: plain against control fails in 0 of 1000 resamples"
    assert lines[-1].endswith("no A/A failure: met")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"failures": 1}, "NOT met"),
        ({"in_canaries": {"stale_fact": Seen(100, 98)}}, "NOT met"),
        ({"false_alarms": {"reworded": Seen(10, 1)}}, "NOT met"),
        ({"resamples": 0}, "not to be told from this run"),
        ({"in_canaries": {"stale_fact": Seen()}}, "not to be told from this run"),
    ],
)
def test_what_is_required_is_said(changes: dict, word: str) -> None:
    kinds = {"stale_fact": Seen(1, 1)}
    changed = replace(POWER, **{"detection": kinds, "in_canaries": kinds, **changes})
    assert render_power_table(changed).splitlines()[-1].endswith(f": {word}")


def test_picture_is_well_formed_and_escaped() -> None:
    root = ElementTree.fromstring(render_power_picture(replace(POWER, run_id="<&>")))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "faults detected, run <&>" in texts
    assert {"stale fact", "120 of 120", "0 of 0", "reordered"} <= set(texts)
    dots = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(dots) == 4
    assert {float(dot.get("cx", 0)) for dot in dots} == {170.0, 172.1, 548.0, 590.0}


def test_page_holds_picture_and_table() -> None:
    page = render_power_html(POWER)
    assert page.startswith("<!doctype html>")
    assert render_power_picture(POWER) in page
    assert "unit u&lt;1&gt;" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
