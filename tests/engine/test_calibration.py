import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import calibration
from engine.calibration import calibrate
from engine.fake_model import FakeModel


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every measurement that was taken."""
    taken: list[str] = []

    def fake(name: str, result: object) -> Callable[[FakeModel], object]:
        return lambda *_: taken.append(name) or result

    monkeypatch.setattr(calibration, "exact_width", fake("width", 64))
    monkeypatch.setattr(calibration, "pass_costs", fake("costs", {1: 7.5, 4: 20.25}))
    return taken


def quiet(_: str) -> None:
    pass


def test_a_result_is_measured_once_and_kept(tmp_path: Path, measured: list[str]) -> None:
    said: list[str] = []
    results = [calibrate(FakeModel(), tmp_path / "new" / "folder", said.append) for _ in range(3)]
    assert measured == ["width", "costs", "costs"]
    assert len(said) == 1
    assert {it.exact_width for it in results} == {64}
    assert {str(it.pass_cost.as_table()) for it in results} == {"{'1': 7.5, '4': 20.25}"}
    assert [path.suffix for path in (tmp_path / "new" / "folder").iterdir()] == [".json"]


@pytest.mark.parametrize("change", ["fingerprint", "kv_type", "threads", "build_info"])
def test_another_model_cache_type_thread_count_or_build_is_measured_for_itself(
    change: str, tmp_path: Path, measured: list[str]
) -> None:
    model, other = FakeModel(), FakeModel()
    other.facts = other.facts._replace(**{change: 9 if change == "threads" else "other"})
    for it in (model, other, model, other):
        calibrate(it, tmp_path, quiet)
    assert len(measured) == 6


def test_what_was_kept_is_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "exact_width", lambda _: 64)
    monkeypatch.setattr(calibration, "pass_costs", lambda _, depth=1: {1: 7 + depth / 512, 4: 20 + depth})
    model = FakeModel(ctx=1024)
    first, kept = (calibrate(model, tmp_path, quiet).pass_cost for _ in range(2))
    for cost in (first, kept):
        assert (cost.depth, cost(4), cost.at(512)(1), cost.at(256)(4)) == (512, 21, 8, 276.5)


def test_another_processor_is_measured_for_itself(
    tmp_path: Path, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calibrate(FakeModel(), tmp_path, quiet)
    monkeypatch.setattr(calibration, "_processor", lambda: "another one")
    calibrate(FakeModel(), tmp_path, quiet)
    assert len(measured) == 6


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"key": {}, "exact_width": 64, "pass_ms": {"1": 7.5}}', "\udcff"],
    ids=["empty", "half", "other JSON", "other key", "not UTF-8"],
)
def test_a_file_that_cannot_be_used_is_measured_anew(
    content: str, tmp_path: Path, measured: list[str]
) -> None:
    calibrate(FakeModel(), tmp_path, quiet)
    (path,) = tmp_path.iterdir()
    path.write_text(content, errors="surrogateescape")
    for _ in range(2):
        assert calibrate(FakeModel(), tmp_path, quiet).exact_width == 64
    assert len(measured) == 6


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("exact_width", 0),
        ("pass_ms", {"4": 20.0}),
        ("pass_ms", {"1": None}),
        ("depth", -1),
        ("deep_pass_ms", {"1": "slow"}),
    ],
)
def test_a_result_that_cannot_be_is_measured_anew(
    name: str, value: object, tmp_path: Path, measured: list[str]
) -> None:
    calibrate(FakeModel(), tmp_path, quiet)
    (path,) = tmp_path.iterdir()
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    calibrate(FakeModel(), tmp_path, quiet)
    assert len(measured) == 6


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path: Path, measured: list[str]) -> None:
    (tmp_path / "file").write_text("no folder")
    for _ in range(2):
        assert calibrate(FakeModel(), tmp_path / "file", quiet).exact_width == 64
    assert len(measured) == 6
