from pathlib import Path

import pytest

from replay.bench.interference import CpuTimes, cpu_times, used_by_others


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "7").mkdir()
    (tmp_path / "stat").write_text("cpu  100 10 20 500 30 5 5 15 99 9\ncpu0 1 2 3\n")
    (tmp_path / "7" / "stat").write_text("7 (a (strange) name) S 1 7 7 0 -1 4194560 9 0 0 0 40 2 0 0 20 0\n")
    return tmp_path


def test_all_but_idle_and_waiting_for_disk_is_work_and_a_guest_counts_once(proc: Path) -> None:
    assert cpu_times([7], proc) == CpuTimes(all=685, busy=155, of={7: 42})


def test_what_the_system_does_not_tell_is_none(proc: Path, tmp_path: Path) -> None:
    assert cpu_times([7, 8], proc) is None
    assert cpu_times([7], tmp_path / "no") is None
    assert used_by_others(None, cpu_times([7], proc)) is None


def test_others_use_what_is_neither_idle_nor_ours() -> None:
    before = CpuTimes(1000, 500, {7: 100, 8: 10})
    assert used_by_others(before, CpuTimes(2000, 1300, {7: 600, 8: 60})) == 0.25
    assert used_by_others(before, CpuTimes(2000, 1000, {7: 700, 8: 60})) == 0
    assert used_by_others(before, before) is None
