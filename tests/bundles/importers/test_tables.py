import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from bundles import (
    Bundle,
    Condition,
    Event,
    Fact,
    LineEdit,
    Reference,
    SectionState,
    Session,
    Source,
    SuiteError,
    Unit,
    bundle_of,
    export_bundle,
    read_tables,
)
from bundles.manifest import hash_of

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def small(make_bundle: Callable[..., Bundle], make_unit: Callable[..., Unit]) -> Bundle:
    return make_bundle(make_unit(stale="Friday."), make_unit("u2", kind="revise", edited="Monday."))


def seal(folder: Path, table: str) -> None:
    """Make the manifest fit what a file has become."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["tables"][table]["sha256"] = hash_of(folder / manifest["tables"][table]["file"])
    path.write_text(json.dumps(manifest))


def rewrite(folder: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    path = folder / f"{table}.arrow"
    with pa.ipc.open_file(str(path)) as reader:
        changed = change(reader.read_all())
    with pa.ipc.new_file(str(path), changed.schema) as writer:
        writer.write_table(changed)
    seal(folder, table)


@pytest.mark.parametrize("shape", ["arrow", "parquet"])
def test_every_flipped_byte_and_every_cut_is_found_or_harmless(
    shape: str, small: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "x"
    export_bundle(small, folder, shape)  # type: ignore[arg-type]
    outcomes: Counter[str] = Counter()
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        # But for the manifest one hash says it all, so some places of a file tell as much as all.
        for at in range(0, len(whole), 2 if path.suffix == ".json" else 101):
            for damaged in (whole[:at] + bytes([whole[at] ^ 1 << at % 7]) + whole[at + 1 :], whole[:at]):
                path.write_bytes(damaged)
                outcomes[outcome(folder, small)] += 1
        path.write_bytes(whole)
    with capsys.disabled():
        print(f"\n{shape}: {outcomes}")
    assert outcomes.keys() <= {"found", "harmless"}
    assert outcomes["harmless"] < 60 < outcomes["found"]
    assert read_tables(folder) == small


def outcome(folder: Path, bundle: Bundle) -> str:
    try:
        return "harmless" if read_tables(folder) == bundle else "missed"
    except SuiteError as error:
        return "found" if str(folder) in str(error) else "found, but not named"


@pytest.mark.parametrize("table", ["bundles", "revisions", "sessions", "units", "facts", "events"])
def test_a_missing_file_is_named(table: str, small: Bundle, tmp_path: Path) -> None:
    export_bundle(small, tmp_path / "x", "arrow")
    (tmp_path / "x" / f"{table}.arrow").unlink()
    with pytest.raises(SuiteError, match=rf"{table}.arrow: cannot read it: No such file"):
        read_tables(tmp_path / "x")


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        ("revisions", lambda table: table.slice(1), "rows, 5 in the manifest"),
        ("units", lambda table: table.drop_columns(["kind"]), "its columns are not those of units"),
        ("bundles", lambda table: table.set_column(1, "name", pa.array(["z"])), "its name is not that of"),
        ("bundles", lambda table: table.set_column(0, "bundle_id", pa.array(["z"])), "its bundle id is not"),
        (
            "sessions",
            lambda table: table.set_column(2, "session_id", pa.array(["z"])),
            "session 's1' is not in",
        ),
        ("facts", lambda table: table.take([0, 0, 2, 3]), "fact 'expect-1' is given 2 times"),
        (
            "revisions",
            lambda table: table.set_column(0, "revision_id", pa.array(list("abcde"))),
            "its tables do not belong together",
        ),
        ("units", lambda table: table.take([0, 0]), "unit 'u1' is given 2 times"),
    ],
)
def test_tables_that_do_not_fit_are_refused_whatever_the_hashes_say(
    table: str, change: Callable[[pa.Table], pa.Table], message: str, small: Bundle, tmp_path: Path
) -> None:
    export_bundle(small, tmp_path / "x", "arrow")
    rewrite(tmp_path / "x", table, change)
    with pytest.raises(SuiteError) as refusal:
        read_tables(tmp_path / "x")
    assert message in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize("shape", ["arrow", "parquet"])
def test_what_is_no_table_is_said(shape: str, small: Bundle, tmp_path: Path) -> None:
    export_bundle(small, tmp_path / "x", shape)  # type: ignore[arg-type]
    for content in (b"", b"hello"):
        (tmp_path / "x" / f"units.{shape}").write_bytes(content)
        seal(tmp_path / "x", "units")
        with pytest.raises(SuiteError, match=rf"units.{shape}: not a table of a bundle: "):
            read_tables(tmp_path / "x")


def test_a_path_out_of_the_folder_is_refused(small: Bundle, tmp_path: Path) -> None:
    export_bundle(small, tmp_path / "x", "arrow")
    path = tmp_path / "x" / "manifest.json"
    path.write_text(path.read_text().replace('"units.arrow"', '"../y/units.arrow"'))
    with pytest.raises(SuiteError, match=r"units cannot be in '\.\./y/units.arrow'"):
        read_tables(tmp_path / "x")


def test_an_export_of_this_version_will_always_be_read() -> None:
    facts = (
        Fact("near", "expect", ("Ava",), "near", "supporting", of=(Condition("date", ("2026-03-14",)),)),
        Fact("count", "forbid", ("a", "b"), "count", "advisory", "edit", True, at_least=1, at_most=2),
        Fact("share", "expect", ("40%",), "number", fraction=True),
    )
    unit = Unit(
        unit_id="ü/1",
        session_id="s",
        instruction="Sum up.",
        sources_before=(Source("plan", "Launch on Friday."), Source("team", "")),
        sources_after=(Source("team", ""), Source("plan", "Launch on Monday.\0")),
        category="value",
        stale="On Friday.",
        pinned=("Ava",),
        canary=True,
        tags=("t",),
        max_tokens=80,
        facts=facts,
        attribution={"licence": "MIT"},
        reference=Reference("On Monday.", "tolerant", 12.5, 0.5),
    )
    revised = Unit(
        "ü/2", "s", "Sum up.", (Source("plan", "x"),), (Source("plan", "x"),), "revise", edited="y"
    )
    state = SectionState("Sum up.", (Source("plan", "x"),), "On Friday.", ("Ava",), 80)
    edit = LineEdit("source", 0, 1, ("x",), "plan")
    event = Event(
        "s", 0, "2025-01-02T03:04:05Z", "edited", 2, None, state, (edit,), {"rows": 3, "ms": 0.5}, "e"
    )
    session = Session("s", "recorder", "acme", "launch", "when", "plan", "2025-01-02T03:04:05Z")
    made = bundle_of("old", [session], [unit, revised], [event])
    assert read_tables(DATA / "bundle-v2") == made
