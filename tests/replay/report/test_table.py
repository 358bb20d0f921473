from dataclasses import replace
from typing import Any

import pytest

from judge import GatePolicy
from replay.report.table import one_line, render_table, render_verdict
from replay.summary import ClaimArm, ClaimFlip, ClaimSummary


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\tc  d", "a b c d"),
        ("\x1b[2Jgone\x00", "\\x1b[2Jgone\\x00"),
        ("right\u202eleft", "right\\u202eleft"),
        ("\ud800", "\\ud800"),
        ("São 東京 😀", "São 東京 😀"),
    ],
)
def test_text_from_outside_is_one_printable_line(text: str, line: str) -> None:
    assert one_line(text) == line


def test_table_shows_arms_canaries_and_ends_with_the_verdict(make: Any) -> None:
    table = render_table(make.evaluated(6).summary())
    rows = {line.split()[0]: line.split() for line in table.splitlines() if line}
    assert rows["plain"][1] == "12/12"
    assert rows["redraft"][1:5] == ["12/12", "0", "2.00x", "2.00"]
    assert "canaries: 6 passed, 0 failed, 0 blind" in table
    assert "100% of units in exact mode" in table
    assert table.splitlines()[-2] == "gate: pass"


def test_every_flip_is_listed_with_what_it_says(make: Any) -> None:
    table = render_table(make.evaluated(2).changed("u1", "redraft", text="Bo owns it.").summary())
    assert "regression: unit u1 fact new (expect 'Ava') in redraft: pass -> fail, " in table
    assert "regression: unit u1 fact old (forbid 'Bo') in redraft: pass -> fail, held" in table


def test_many_flips_end_in_a_count(make: Any) -> None:
    evaluated = make.evaluated(30)
    for unit in evaluated.units:
        evaluated = evaluated.changed(unit.unit_id, "redraft", text="Bo owns it.")
    table = render_table(evaluated.summary())
    assert table.count("regression: unit") == 20
    assert "and 40 more flips" in table


def test_categories_show_where_there_are_several(make: Any) -> None:
    evaluated = make.evaluated(2)
    units = (evaluated.units[0], replace(evaluated.units[1], category="\x1brename"))
    table = render_table(replace(evaluated, units=units, run=make.run(units)).summary())
    assert "\\x1brename" in table
    assert "\x1b" not in table


def test_sessions_are_summed_up_in_a_line_for_each_arm(make: Any) -> None:
    lines = render_table(make.evaluated(6).summary()).splitlines()
    assert "redraft: identical to plain in 6 of 6 units: nothing can be lost" in lines
    lost = make.evaluated(6).changed("u1", "redraft", text="Bo owns it.", token_ids=(1,))
    line = next(line for line in render_table(lost.summary()).splitlines() if line.startswith("redraft: "))
    assert line == "redraft: facts lost in 1 of 6 sessions (<1% to 64%), 1 worse and 0 better (p = 1)"
    (needed,) = (
        line
        for line in render_table(lost.summary(GatePolicy(margin=0.05))).splitlines()
        if line.startswith("redraft: ")
    )
    assert "(p = 1); against the control -25.7 to +58.2 points, some " in needed
    assert needed.endswith(" more sessions would tell")
    silent = replace(make.unit("u0"), facts=(), canary=False)
    nothing = replace(make.evaluated(1), units=(silent,), run=make.run([silent]))
    nothing = nothing.changed("u0", "redraft", text="Other.", token_ids=(1,))
    assert "redraft: no session that could show a loss" in render_table(nothing.summary()).splitlines()


def test_verdict_gives_its_reasons(make: Any) -> None:
    lines = render_verdict(make.evaluated().changed("u0", "redraft", text="Bo.").summary()).splitlines()
    assert lines[0] == "gate: regression"
    assert any("new" in line and "u0" in line for line in lines[1:])


def test_claims_show_by_arm_with_each_flip_and_its_words(make: Any) -> None:
    summary = make.evaluated(1).summary()
    flip = ClaimFlip(
        unit_id="u\x1b", arm="redraft", repeat=0, check="claims/new_errors", before="pass", after="fail",
        attribution="held", regression=True, reason="says, against the sources, 'Bo\nowns it.'", said="Bo",
        evidence=(0, 2),
    )  # fmt: skip
    claims = ClaimSummary(
        judge="claims:big",
        arms={
            "plain": ClaimArm(passed=2, failed=0, unscored=0),
            "redraft": ClaimArm(passed=1, failed=1, unscored=0),
        },
        regressions=1,
        flips=(flip,) * 21,
    )
    lines = render_table(summary.model_copy(update={"claims": claims})).splitlines()
    assert "claims:big: redraft: 1 passed, 1 failed, 0 unscored" in lines
    said = (
        "regression: unit u\\x1b claims/new_errors in redraft: pass -> fail,"
        " says, against the sources, 'Bo owns it.', where it says 'Bo'"
    )
    assert lines.count(said) == 20
    assert "and 1 more flips of claims" in lines
    assert not any("claims" in line for line in render_table(summary).splitlines())
