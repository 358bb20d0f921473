"""The runs of one bundle as a table, oldest first. Pure."""

from collections.abc import Iterator

from tabulate import tabulate

from replay.arms import CONTROL
from replay.history import History, HistoryPoint
from replay.report.figures import count, interval, times
from replay.report.table import MOST_CHARACTERS, MOST_VALUES, one_line
from replay.summary import Canaries


def render_history(history: History) -> str:
    """A line for each run: verdict, canaries, then each arm's facts and speedup."""
    arms = [arm for arm in history.arms if arm != CONTROL]
    headers = ("run", "verdict", "canaries", *arms, "model", "engine", "redraft")
    table = tabulate(
        [_row(point, arms) for point in history.points],
        headers=headers,
        colalign=("left", "left", *["right"] * (1 + len(arms)), "left", "left", "left"),
        disable_numparse=True,
    )
    named = one_line(history.bundle, MOST_VALUES)
    rest = f", {history.earlier} earlier ones left out" if history.earlier else ""
    head = f"{count(len(history.points), 'run')} of {named} ({history.bundle_id[:12]}){rest}"
    legend = (
        "canaries: passed, failed, blind. Arms: facts passed, median speedup over units and its 95% interval."
    )
    return "\n\n".join([head, table, "\n".join([*_notes(history), legend])])


def _row(point: HistoryPoint, arms: list[str]) -> tuple[str, ...]:
    return (
        point.run_id,
        point.verdict or "-",
        _canaries(point.canaries),
        *(_figures(point, arm) for arm in arms),
        *(
            one_line(str(value), MOST_VALUES) if value is not None else "-"
            for value in (point.model, point.engine_version, point.redraft_version)
        ),
    )


def _canaries(canaries: Canaries | None) -> str:
    return f"{canaries.passed}, {canaries.failed}, {canaries.blind}" if canaries else "-"


def _figures(point: HistoryPoint, name: str) -> str:
    if (arm := point.arms.get(name)) is None:
        return "-"
    facts = f"{arm.facts_passed}/{arm.facts_total}"
    if name == "plain":
        return facts
    limits = "" if arm.speedup_low is None else f" ({interval(arm.speedup_low, arm.speedup_high)})"
    return f"{facts} {times(arm.speedup_median)}{limits}"


def _notes(history: History) -> Iterator[str]:
    for point in history.points:
        if point.note:
            yield one_line(point.note, MOST_CHARACTERS)
        if point.speed_metric == "passes":
            yield f"run {point.run_id}: its speedups are of passes, as attempts were made at once"
