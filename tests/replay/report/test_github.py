import re
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from replay.report.github import STEP_SUMMARY_BYTES, annotation, annotations, append_step_summary
from replay.report.table import one_line
from replay.summary import Summary

COMMAND = re.compile(r"::(error|warning|notice) title=([^:,\r\n]*)::([^\r\n]*)")


def read(line: str) -> tuple[str, str, str]:
    """As GitHub reads it."""
    match = COMMAND.fullmatch(line)
    assert match, line
    title = match[2].replace("%3A", ":").replace("%2C", ",")
    return (
        match[1],
        title.replace("%25", "%"),
        match[3].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%"),
    )


@given(st.text(max_size=60), st.text(max_size=60))
def test_annotation_is_one_line_that_reads_back(title: str, message: str) -> None:
    assert read(annotation("error", title, message)) == ("error", one_line(title), one_line(message))


def test_every_line_is_an_annotation(case_name: str, summaries: Mapping[str, Summary]) -> None:
    found = [read(line) for line in annotations(summaries[case_name]).splitlines()]
    assert found[-1][:2] == ("notice", f"redraft: {summaries[case_name].verdict}")
    assert all(len(message) < 2000 for *_, message in found)


def test_level_follows_the_verdict(summaries: Mapping[str, Summary]) -> None:
    levels = {name: [read(line)[0] for line in annotations(s).splitlines()] for name, s in summaries.items()}
    assert levels["all_identical"] == ["notice"]
    assert levels["one_regression"] == ["error", "error", "notice"]
    assert set(levels["blind_canaries"][:-1]) == {"warning"}
    assert set(levels["engine_errors"][:-1]) == {"error"}
    assert levels["empty_run"] == ["error", "notice"]


def test_a_loss_that_the_policy_allows_is_a_warning(summaries: Mapping[str, Summary]) -> None:
    allowed = summaries["one_regression"].model_copy(update={"verdict": "pass"})
    assert [read(line)[0] for line in annotations(allowed).splitlines()] == ["warning", "warning", "notice"]


def test_the_worst_ten_and_a_count(large: Summary) -> None:
    found = [read(line) for line in annotations(large).splitlines()]
    assert [level for level, *_ in found] == ["error"] * 10 + ["notice"]
    assert "2000 regressions in 10000 units, the worst 10 of them annotated" in found[-1][2]


def test_step_summary_is_added_to_what_is_there(summaries: Mapping[str, Summary], tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    append_step_summary(summaries["all_identical"], file)
    append_step_summary(summaries["empty_run"], file)
    assert re.findall("^### .*", file.read_text(), re.MULTILINE) == [
        "### redraft: pass",
        "### redraft: empty",
    ]


def test_step_summary_stays_under_the_limit_and_keeps_the_verdict(large: Summary, tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_bytes(b"x" * (STEP_SUMMARY_BYTES - 1_000))
    append_step_summary(large, file)
    assert STEP_SUMMARY_BYTES - 1_000 < file.stat().st_size <= STEP_SUMMARY_BYTES
    assert "### redraft: regression" in file.read_text()
    before = file.read_bytes() + b"x" * (STEP_SUMMARY_BYTES - file.stat().st_size - 10)
    file.write_bytes(before)
    append_step_summary(large, file)
    assert file.read_bytes() == before


def test_a_claim_lost_is_an_error(claimed: Summary) -> None:
    first, last = (read(line) for line in annotations(claimed).splitlines())
    assert first[0] == "error"
    assert "unit u1 claims/new_errors in redraft" in first[2]
    assert last[2].startswith("1 regression in 6 units")
