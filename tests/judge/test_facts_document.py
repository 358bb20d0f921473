"""docs/facts.md says nothing of a matcher that is not so."""

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from bundles import Fact, read_suite
from judge.facts import check_fact

DOCUMENT = Path(__file__).parents[2] / "docs" / "facts.md"
ROW = re.compile(r"^\| `(?P<fact>\{.*?\})` \| (?P<text>.*?) \| (?P<outcome>pass|fail) \|$", re.MULTILINE)
ROWS = [row.groupdict() for row in ROW.finditer(DOCUMENT.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> list[Fact]:
    """The facts of the document's examples, as a suite file gives them."""
    path = tmp_path_factory.mktemp("suite") / "suite.json"
    given = [tomllib.loads(f"fact = {row['fact']}")["fact"] for row in ROWS]
    entry = {"id": "u", "instruction": "Say it.", "before": "a", "after": "b", "facts": given}
    path.write_text(json.dumps([entry]), encoding="utf-8")
    return list(read_suite(path, strict=True).bundle.units[0].facts)


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[f"{row['fact']} {row['text']}" for row in ROWS])
def test_example(facts: list[Fact], number: int) -> None:
    assert check_fact(facts[number], ROWS[number]["text"]).outcome == ROWS[number]["outcome"]


def test_every_matcher_has_two_examples(facts: list[Fact]) -> None:
    shown = Counter(fact.matcher for fact in facts)
    assert shown.keys() == {"text", "number", "date", "pattern", "near", "all", "any", "count"}
    assert min(shown.values()) >= 2
