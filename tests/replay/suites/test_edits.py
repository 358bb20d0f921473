"""The suite `builtin:edits` holds what `docs/suite-edits.md` says of it."""

import json
import re
import tomllib
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from bundles import Imported, Unit, read_suite
from replay.catalog import suite_path
from replay.suite_check import check_suite

ROOT = Path(__file__).parents[3]
KINDS = {
    "append", "contradiction", "cosmetic", "date-shift", "delete", "irrelevant", "negation", "owner-swap",
    "rename", "reorder", "unit-change", "value",
}  # fmt: skip
DOCUMENTS = {
    "changelog", "code-review", "configuration", "key-value", "meeting-notes", "plan", "release-notes",
    "reply", "status-update", "summary", "table-answer",
}  # fmt: skip
LANGUAGES = {
    "arabic", "chinese", "dutch", "french", "german", "greek", "hindi", "italian", "japanese", "korean",
    "portuguese", "russian", "spanish",
}  # fmt: skip
OTHER_TAGS = {"list", "table", "needs-larger-model"}


@pytest.fixture(scope="module")
def imported() -> Imported:
    path = suite_path("builtin:edits")
    assert path is not None
    return read_suite(path, strict=True)


@pytest.fixture(scope="module")
def units(imported: Imported) -> tuple[Unit, ...]:
    return imported.bundle.units


def texts(unit: Unit) -> list[str]:
    return [source.text for source in (*unit.sources_before, *unit.sources_after)]


def words(unit: Unit) -> int:
    """Words that the answer is written from; two letters of a script without spaces count as one."""
    given = " ".join([*(source.text for source in unit.sources_after), unit.edited or ""])
    spaceless = re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]", given)
    return len(given.split()) + len(spaceless) // 2


def test_there_are_as_many_as_promised(imported: Imported, units: tuple[Unit, ...]) -> None:
    assert check_suite(imported).is_clean
    assert len(units) >= 96
    canaries = [unit for unit in units if unit.canary]
    assert len(canaries) >= 30
    assert sum("needs-larger-model" not in unit.tags for unit in canaries) >= 30
    assert len(units) > len({unit.session_id for unit in units})
    assert sum(unit.kind == "revise" for unit in units) >= 8
    assert sum(bool(unit.pinned) for unit in units) >= 4
    assert sum(not LANGUAGES.isdisjoint(unit.tags) for unit in units) >= 10
    assert sum(not {"table", "list"}.isdisjoint(unit.tags) for unit in units) >= 10


def test_categories_are_kinds_of_edits_and_tags_kinds_of_documents(units: tuple[Unit, ...]) -> None:
    kinds = Counter(unit.category for unit in units)
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 5
    tags = Counter(chain.from_iterable(unit.tags for unit in units))
    assert set(tags) == DOCUMENTS | LANGUAGES | OTHER_TAGS
    assert min(tags[tag] for tag in DOCUMENTS) >= 5
    assert all(not DOCUMENTS.isdisjoint(unit.tags) for unit in units)


def test_texts_and_answers_are_of_the_promised_sizes(units: tuple[Unit, ...]) -> None:
    assert {unit.unit_id: words(unit) for unit in units if not 15 <= words(unit) <= 400} == {}
    assert all(unit.max_tokens is not None and 40 <= unit.max_tokens <= 250 for unit in units)


def test_a_tag_for_tables_and_lists_is_on_what_has_one(units: tuple[Unit, ...]) -> None:
    for unit in units:
        lines = "\n".join(texts(unit)).splitlines()
        assert not any(line.startswith("|") for line in lines) or "table" in unit.tags, unit.unit_id
        if "table" in unit.tags:
            assert any(line.startswith("|") for line in lines), unit.unit_id


def test_every_unit_has_a_critical_fact_and_every_matcher_is_used(units: tuple[Unit, ...]) -> None:
    assert all(any(fact.severity == "critical" for fact in unit.facts) for unit in units)
    used = {fact.matcher for unit in units for fact in unit.facts}
    assert used >= {"text", "number", "date", "near", "pattern", "all", "any"}


def test_owners_are_told_by_who_stands_with_what(units: tuple[Unit, ...]) -> None:
    swaps = [unit for unit in units if unit.category == "owner-swap"]
    assert all({"expect", "forbid"} <= {f.polarity for f in u.facts if f.matcher == "near"} for u in swaps)


def test_what_is_written_by_hand_is_told_from_what_changed_in_the_sources(units: tuple[Unit, ...]) -> None:
    for unit in units:
        if unit.kind == "revise":
            assert unit.stale != unit.edited, unit.unit_id
            assert all(line in (unit.edited or "").splitlines() for line in unit.pinned), unit.unit_id


def test_the_document_counts_as_the_suite_does(imported: Imported, units: tuple[Unit, ...]) -> None:
    text = (ROOT / "docs" / "suite-edits.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \|.*\| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    kinds = check_suite(imported).kinds
    assert {name: (int(number), int(canaries)) for name, number, canaries in rows} == {
        name: (kind.units, kind.canaries) for name, kind in kinds.items()
    }
    sessions = Counter(unit.session_id for unit in units)
    canaries = sum(unit.canary for unit in units)
    assert f"{len(units)} edits of everyday documents in {len(sessions)} sessions, {canaries} of them" in text
    assert f"The {sum('needs-larger-model' in unit.tags for unit in units)} units that this model" in text
    revised = [unit for unit in units if unit.kind == "revise"]
    assert (len(revised), sum(bool(unit.pinned) for unit in revised)) == (9, 4)
    assert sum(number > 1 for number in sessions.values()) == 6


def test_no_line_is_of_the_real_edits() -> None:
    """Those are other people's texts, under their licences."""
    real = (ROOT / "tests" / "data" / "real-edits-sample.jsonl").read_text(encoding="utf-8")
    entries = [json.loads(line) for line in real.splitlines()]
    known = {
        line.strip()
        for entry in entries
        for side in ("context_old", "context_new")
        for line in entry[side].splitlines()
    }
    ours = (ROOT / "replay" / "suites" / "edits.toml").read_text(encoding="utf-8")
    assert {line for line in known if len(line) > 20 and line in ours} == set()
    assert tomllib.loads(ours)["suite"] == "edits"
