from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bundles import Bundle, SuiteError, Unit, export_bundle, without_events
from bundles.records import Event


@pytest.fixture
def recorded(make_bundle: Callable[..., Bundle]) -> Bundle:
    plain = make_bundle()
    return replace(plain, events=(Event("s1", 0, "2025-01-02T03:04:05Z", "opened", 1),))


@pytest.mark.parametrize("shape", ["loom", "suite"])
def test_events_are_refused_where_they_would_be_lost(shape: str, recorded: Bundle, tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    with pytest.raises(
        SuiteError, match=r"plans has 1 recorded events, which a .* leave them out with --without"
    ):
        export_bundle(recorded, target, shape)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    export_bundle(without_events(recorded), target, shape)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", ["loom", "suite"])
def test_a_bundle_without_units_is_refused(
    shape: str, make_bundle: Callable[..., Bundle], tmp_path: Path
) -> None:
    empty = replace(make_bundle(), units=())
    with pytest.raises(SuiteError, match=r"bundle plans has no unit, and a .* needs one"):
        export_bundle(empty, tmp_path / "x.json", shape)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", ["arrow", "parquet", "loom", "suite"])
def test_what_could_not_be_imported_again_is_not_written(
    shape: str, make_unit: Callable[..., Unit], make_bundle: Callable[..., Bundle], tmp_path: Path
) -> None:
    broken = replace(make_bundle(), units=(make_unit(instruction=""),))
    with pytest.raises(SuiteError, match=r"unit 'u1': instruction is empty"):
        export_bundle(broken, tmp_path / "x.json", shape)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_without_events_all_else_is_the_same(recorded: Bundle, make_bundle: Callable[..., Bundle]) -> None:
    assert without_events(recorded) == make_bundle()


def test_a_temporary_folder_is_gone_afterwards(make_bundle: Callable[..., Bundle]) -> None:
    with TemporaryDirectory() as folder:
        export_bundle(make_bundle(), Path(folder) / "x", "arrow")
        assert [path.name for path in Path(folder).iterdir()] == ["x"]
