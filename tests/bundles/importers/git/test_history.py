import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundles import EmptySuite, Session, bundle_of
from bundles.importers.git.history import HistoryLimits, read_history
from judge.facts import check_fact

PROSE = "The service keeps its settings in one file, and reads it again whenever the file has changed. " * 3
ANY = HistoryLimits(min_words=1, max_change=1.0)


def guide(rows: int, *, title: str = "Limits", more: str = "") -> bytes:
    return f"# Guide\n\n## {title}\n\nAt most {rows} rows are kept. {PROSE}{more}\n".encode()


def test_edits_of_a_section_are_one_session_with_facts(make_repository: Callable[..., Path]) -> None:
    path = make_repository(
        {b"docs/a.md": guide(500)},
        {b"docs/a.md": guide(600)},
        {b"docs/b.md": guide(600), b"docs/a.md": None},
        {b"docs/b.md": guide(700, title="Bounds")},
    )
    found = read_history(path)
    section = "guides/docs/b.md#Guide / Bounds"
    assert found.bundle.sessions == (
        Session(section, "git", "guides", "docs/b.md", "Guide / Bounds", "markdown", "2023-11-15T00:13:20Z"),
    )
    first, second = found.bundle.units
    assert (first.session_id, first.category, first.canary, first.stale) == (section, "value", True, None)
    assert [fact.values for fact in first.facts] == [("600",), ("500",)]
    assert {fact.origin for fact in first.facts} == {"edit"}
    assert first.attribution["path"] == "docs/a.md"
    assert first.attribution["date"] == "2023-11-15"
    assert first.unit_id == f"{section}@{first.attribution['commit'][:12]}"
    assert "At most 700 rows" in second.sources_after[0].text
    assert found.reasons == {"document added": 1, "document only moved": 1}
    assert found.bundle == bundle_of("guides", found.bundle.sessions, found.bundle.units)
    assert read_history(path, name="mine").bundle.bundle_id == found.bundle.bundle_id


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"# A\n\nshort 1", b"# A\n\nshort 2", "section under 30 words"),
        (guide(1) + b"word " * 300, guide(2) + b"word " * 300, "section over 300 words"),
        (b"a==1\n" * 40, b"a==1\n" * 39 + b"b==2\n", "section that is a list of single words"),
        (guide(1), guide(1, more="[x](http://a.x)"), "over 0% of the words changed"),
        (guide(1, more="[x](http://a.x)"), guide(1, more="[x](http://b.x)"), "only links changed"),
        (guide(1), guide(1, more="\n\n![build](b.svg)\n"), "only badges changed"),
        (guide(1), guide(1, more="\n\nThanks to @ava."), "only credits changed"),
        (guide(1), b"\0", "document binary"),
        (guide(1), guide(1) + b"\xff", "document not UTF-8"),
        (guide(1), (b"120000", b"elsewhere"), "link or submodule"),
        (guide(1), (b"160000", b"1" * 40), "link or submodule"),
        (guide(1), None, "document removed"),
        (b"# A\n\nx", b"# A\n\nx\n\n# B\n\ny", "section added"),
        (b"# A\n\nx\n\n# B\n\ny", b"# A\n\nx", "section removed"),
    ],
)
def test_what_is_left_out_is_counted(
    old: bytes, new: Any, reason: str, make_repository: Callable[..., Path]
) -> None:
    path = make_repository({b"a.md": old}, {b"a.md": new})
    with pytest.raises(EmptySuite, match=rf"no usable unit, 2 skipped because: .*1 {reason}"):
        read_history(path, limits=HistoryLimits(max_change=0.0))


def test_documents_that_are_not_there_are_named(make_repository: Callable[..., Path]) -> None:
    path = make_repository({b"a.md": guide(1)}, {b"a.md": guide(2)})
    with pytest.raises(
        EmptySuite, match=r"guides: no commit changes a document that matches docs/\*\*/\*.md"
    ):
        read_history(path, patterns=("docs/**/*.md",))
    with pytest.raises(EmptySuite, match=r"no commit since 2030-01-01 changes a document that matches .*rst"):
        read_history(path, since="2030-01-01T00:00:00Z")


def test_the_same_edit_on_two_branches_is_one(make_repository: Callable[..., Path]) -> None:
    path = make_repository(
        {b"a.md": guide(500)}, {b"a.md": guide(600)}, {b"a.md": guide(500)}, {b"a.md": guide(600)}
    )
    found = read_history(path)
    assert len(found.bundle.units) == 2
    assert found.reasons["same edit elsewhere"] == 1


def test_newest_edits_come_first_where_there_is_a_limit(make_repository: Callable[..., Path]) -> None:
    path = make_repository(*({b"a.md": guide(100 * number)} for number in range(1, 8)))
    found = read_history(path, limits=HistoryLimits(limit=2))
    assert [unit.facts[0].values for unit in found.bundle.units] == [("600",), ("700",)]
    assert len(read_history(path, since="2023-11-15T03:00:00Z").bundle.units) == 3
    assert len(read_history(path, revision="HEAD~4").bundle.units) == 2
    with pytest.raises(EmptySuite):
        read_history(path, patterns=("**/*.rst",))


def test_weird_names_become_ids_of_one_line(make_repository: Callable[..., Path]) -> None:
    names = [b"a\nb.md", b"\xff.md", "é\u2028.md".encode()]
    states = ({name: guide(rows, more=repr(name)) for name in names} for rows in (500, 600))
    path = make_repository(*states)
    found = read_history(path)
    assert {unit.sources_after[0].name for unit in found.bundle.units} == {
        r"a\nb.md",
        r"\xff.md",
        r"é\u2028.md",
    }
    assert bundle_of("x", found.bundle.sessions, found.bundle.units).bundle_id == found.bundle.bundle_id


def test_texts_are_verbatim_in_every_kind_of_document(make_repository: Callable[..., Path]) -> None:
    rst = f"Guide\n=====\n\nAt most 500 rows. {PROSE}"
    plain = f"GUIDE\n\nAt most 500 rows. {PROSE}"
    path = make_repository(
        {b"a.rst": rst.encode(), b"a.txt": plain.encode()},
        {b"a.rst": rst.replace("5", "6").encode(), b"a.txt": plain.replace("5", "6").encode()},
    )
    found = read_history(path)
    assert {unit.sources_before[0].text for unit in found.bundle.units} == {rst.strip(), plain.strip()}
    assert {session.document_kind for session in found.bundle.sessions} == {"rst", "text"}


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_change_of_line_ends_alone_is_no_edit(newline: bytes, make_repository: Callable[..., Path]) -> None:
    path = make_repository({b"a.md": guide(500)}, {b"a.md": guide(500).replace(b"\n", newline) + b"\n"})
    with pytest.raises(EmptySuite):
        read_history(path, limits=ANY)


def test_a_long_history_gives_facts_that_hold(make_repository: Callable[..., Path], documents: Any) -> None:
    found = read_history(make_repository(*documents(200, seed=7)))
    units = found.bundle.units
    assert len(units) > 150
    assert Counter(unit.category for unit in units).keys() >= {
        "value",
        "rename",
        "reword",
        "append",
        "delete",
    }
    assert sum(unit.canary for unit in units) > 60
    for unit in units:
        for fact in unit.facts:
            assert check_fact(fact, unit.sources_after[0].text).outcome == "pass"
            assert check_fact(fact, unit.sources_before[0].text).outcome == "fail"


MEASURE = """
import resource, sys
from pathlib import Path
from bundles.importers.git.history import HistoryLimits, read_history
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
read_history(Path(sys.argv[1]), limits=HistoryLimits(max_words=60))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_memory_does_not_grow_with_the_history(make_repository: Callable[..., Path]) -> None:
    big = ({b"b.md": b"x" * 1_000_000 + b"%d" % number} for number in range(100))
    path = make_repository({b"a.md": guide(500)}, *big, {b"a.md": guide(600)})
    done = subprocess.run([sys.executable, "-c", MEASURE, path], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 50  # MiB, where the history has 100
