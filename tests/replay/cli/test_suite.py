import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bundles import suite_schema
from replay.cli.main import commands

Suite = Callable[..., Result]
UNIT = {"id": "u1", "question": "q", "context_old": "Bo owns it.", "context_new": "Ava owns it."}


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """The command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(commands, ["suite", *arguments])


def write(*units: object) -> str:
    Path("mine.json").write_text(json.dumps(units), encoding="utf-8")
    return "mine.json"


def test_a_new_suite_is_there_with_its_schema_and_passes_its_check(suite: Suite) -> None:
    made = suite("new")
    assert made.exit_code == 0
    assert made.stderr.splitlines() == ["written: suite.toml", "written: suite.schema.json"]
    assert json.loads(Path("suite.schema.json").read_text(encoding="utf-8")) == suite_schema()
    checked = suite("check", "suite.toml")
    assert checked.exit_code == 0
    assert checked.stdout.splitlines()[-1] == "no problems"


def test_new_overwrites_nothing(suite: Suite) -> None:
    Path("suite.schema.json").write_text("mine", encoding="utf-8")
    assert suite("new", "a.toml").exit_code == 0
    Path("a.toml").write_text("mine", encoding="utf-8")
    refused = suite("new", "a.toml")
    assert refused.exit_code == 2
    assert refused.stderr == ("redraft: a.toml: is there already and is not overwritten, name another file\n")
    assert Path("a.toml").read_text(encoding="utf-8") == "mine"
    assert Path("suite.schema.json").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(("name", "said"), [("a.json", ".toml"), ("no/such/a.toml", "folder does not exist")])
def test_new_says_what_it_cannot_write(suite: Suite, name: str, said: str) -> None:
    refused = suite("new", name)
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert list(Path().iterdir()) == []


def test_problems_are_named_and_end_the_check_with_1(suite: Suite) -> None:
    path = write(
        UNIT | {"expect_new": "Cleo"},
        UNIT | {"id": "u2", "canary": True, "expect_new": "Ava"},
        {"id": "u3"},
    )
    result = suite("check", path)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "mine: 2 units in 2 sessions, 1 canary, 2 facts"
    assert lines[1] == "sources of 12 to 12 characters, answers as long as the run allows (--max-tokens)"
    assert "4 problems:" in lines
    told = lines[lines.index("4 problems:") + 1 :]
    assert told[0].startswith("mine.json: entry 3: ")
    assert told[1].startswith("unit 'u1', fact 'expect-1': expects 'Cleo'")
    assert told[2] == "unit 'u2': a canary needs a fact that forbids the stale value"
    assert told[3] == "unit 'u2': asks the same of the same edit as unit 'u1'"


def test_json_and_only_json(suite: Suite) -> None:
    path = write(UNIT | {"expect_new": "Cleo"}, UNIT | {"id": "u2", "question": "?"})
    result = suite("check", path, "--json")
    assert result.exit_code == 1
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert found["is_clean"] is False
    assert (found["units"], found["without_facts"], found["confidence"]) == (2, 1, 0.95)
    assert found["kinds"] == {"": {"units": 2, "canaries": 0}}
    assert found["by_facts"] == {"sessions": 1, "smallest_rate": pytest.approx(0.95)}
    assert found["by_canaries"] == {"sessions": 0, "smallest_rate": None}
    assert [(problem["unit_id"], problem["fact_id"]) for problem in found["problems"]] == [("u1", "expect-1")]


def test_a_suite_without_facts_can_show_no_regression(suite: Suite) -> None:
    result = suite("check", write(UNIT))
    assert result.exit_code == 0
    assert "1 unit without facts" in result.stdout
    assert "no session with facts: no regression could show there" in result.stdout


def test_nothing_in_a_suite_moves_the_cursor(suite: Suite) -> None:
    result = suite("check", write(UNIT | {"category": "a\x1b[2J", "expect_new": "Cl\x1beo"}))
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    ("name", "code"),
    [("none.toml", 2), ("builtin:none", 2), ("broken.toml", 2), (".", 2), ("empty.json", 5)],
)
def test_what_cannot_be_read_is_said_in_one_line(suite: Suite, name: str, code: int) -> None:
    Path("broken.toml").write_text("units = [", encoding="utf-8")
    Path("empty.json").write_text("[]", encoding="utf-8")
    result = suite("check", name)
    assert result.exit_code == code
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1


def test_a_built_in_suite_is_checked_by_its_name(suite: Suite) -> None:
    result = suite("check", "builtin:smoke")
    assert result.exit_code == 0
    assert result.stdout.startswith("smoke: 8 units in 8 sessions, 3 canaries")
