"""How much of the machine others used meanwhile.

Invariant: what cannot be told is None, never zero. Linux keeps the figures; a hypervisor's steal counts as
others' use.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_IDLE, _COUNTED = (3, 4), 8
_USER, _SYSTEM = 11, 12


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Clock ticks since the machine started: of all its cores, those spent working, and each process's."""

    all: int
    busy: int
    of: Mapping[int, int]


def cpu_times(processes: Collection[int], proc: Path = _PROC) -> CpuTimes | None:
    """What the system has counted so far; None where it does not tell or a process is gone."""
    try:
        cores = [int(ticks) for ticks in (proc / "stat").read_text().partition("\n")[0].split()[1:]]
        of = {pid: _ticks((proc / str(pid) / "stat").read_text()) for pid in processes}
    except OSError:
        return None
    counted = cores[:_COUNTED]  # a guest's time is in its host's already
    return CpuTimes(sum(counted), sum(counted) - sum(counted[place] for place in _IDLE), of)


def used_by_others(before: CpuTimes | None, after: CpuTimes | None) -> float | None:
    """Share of the cores' time between the two that went to other processes than theirs."""
    if before is None or after is None or after.all <= before.all:
        return None
    ours = sum(after.of.values()) - sum(before.of.values())
    return min(1.0, max(0.0, (after.busy - before.busy - ours) / (after.all - before.all)))


def _ticks(line: str) -> int:
    fields = line.rpartition(")")[2].split()
    return int(fields[_USER]) + int(fields[_SYSTEM])
