"""A comparison of two runs, on the terminal and as Markdown. Pure.

Invariant: what the runs differ in is said before anything is compared, and every fact gained or lost is named
up to a bound, the rest counted.
"""

from collections.abc import Callable, Iterator, Sequence

from replay.comparison import ArmComparison, FactChange, RunComparison, RunSide
from replay.report.figures import count, interval, percent, times
from replay.report.inert import code, prose
from replay.report.table import MOST_CHARACTERS, MOST_VALUES, aligned, one_line

_MOST_NAMED = 20
_FACTS = (
    "arm",
    "right before",
    "after",
    "gained",
    "lost",
    "sessions worse",
    "better",
    "net worse, points",
    "p",
)
_TIMES = ("arm", "speedup", "95% interval", "slowest", "same tokens")
_ABOUT_FACTS = (
    "net worse: sessions that lost more facts than they gained less those that gained more, of those that"
    " could change, with a 95% interval; p is the exact sign test."
)
Rows = list[tuple[str, ...]]
Change = Callable[[str, str, FactChange], str]


def render_comparison(found: RunComparison) -> str:
    """Facts as a table with each gained and lost, then times."""
    parts = [
        "\n".join(one_line(line, MOST_CHARACTERS) for line in _head(found)),
        aligned(_facts(found), _FACTS),
        "\n".join([*_changes(found, _said), _ABOUT_FACTS]),
        aligned(_times(found), _TIMES),
        _about_times(found),
    ]
    return "\n\n".join(parts)


def render_comparison_markdown(found: RunComparison) -> str:
    """For a comment on a pull request."""
    parts = [
        "### redraft: two runs compared",
        "\n".join(f"- {prose(line)}" for line in _head(found)),
        _piped(_FACTS, _facts(found)),
        "\n".join(f"- {line}" for line in _changes(found, _said_in_markdown)),
        _ABOUT_FACTS,
        _piped(_TIMES, _times(found)),
        _about_times(found),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _piped(headers: Sequence[str], rows: Rows) -> str:
    ruler = f"|:--|{'--:|' * (len(headers) - 1)}"
    lines = [f"| `{arm}` | {' | '.join(figures)} |" for arm, *figures in rows]
    return "\n".join([f"| {' | '.join(headers)} |", ruler, *lines])


def _head(found: RunComparison) -> Iterator[str]:
    if found.across:
        yield found.across
    yield f"before: {_named(found.before)}"
    yield f"after: {_named(found.after)}"
    rest = (
        (found.changed, "differ between the two"),
        (found.only_before, "only in the one before"),
        (found.only_after, "only in the one after"),
    )
    left_out = [f"{number} {what}" for number, what in rest if number]
    yield "; ".join([f"{count(found.units, 'unit')} compared", *left_out])
    for when, arms in (("before", found.arms_only_before), ("after", found.arms_only_after)):
        if arms:
            yield f"arms only in the one {when}: {' '.join(arms)}"
    yield from found.notes


def _named(side: RunSide) -> str:
    repeats = f" x {side.repeats} repeats" if side.repeats > 1 else ""
    return f"run {side.run_id} of {side.bundle}, {count(side.units, 'unit')}{repeats}"


def _facts(found: RunComparison) -> Rows:
    return [
        (
            arm,
            f"{part.passed_before}/{part.scored}",
            f"{part.passed_after}/{part.scored}",
            str(len(part.gained)),
            str(len(part.lost)),
            f"{part.worse}/{part.sessions}",
            f"{part.better}/{part.sessions}",
            _points(part),
            f"{part.p_value:.2g}",
        )
        for arm, part in found.arms.items()
    ]


def _times(found: RunComparison) -> Rows:
    return [
        (
            arm,
            times(part.speedup_median),
            interval(part.speedup_low, part.speedup_high),
            times(part.slowest),
            percent(part.identical),
        )
        for arm, part in found.arms.items()
    ]


def _points(part: ArmComparison) -> str:
    if part.net is None or part.net_low is None or part.net_high is None:
        return "-"
    return f"{100 * part.net:+.1f} ({100 * part.net_low:+.1f} to {100 * part.net_high:+.1f})"


def _changes(found: RunComparison, said: Change) -> Iterator[str]:
    for arm, part in found.arms.items():
        for what, changes in (("lost", part.lost), ("gained", part.gained)):
            for change in changes[:_MOST_NAMED]:
                yield said(arm, what, change)
            if len(changes) > _MOST_NAMED:
                yield f"and {len(changes) - _MOST_NAMED} more {what} in {arm}"


def _said(arm: str, what: str, change: FactChange) -> str:
    unit_id, fact_id = one_line(change.unit_id, MOST_VALUES), one_line(change.fact_id, MOST_VALUES)
    values = one_line(repr(" | ".join(change.values)), MOST_VALUES)
    return f"{what}: {change.severity} fact {fact_id} of unit {unit_id} ({change.polarity} {values}) in {arm}"


def _said_in_markdown(arm: str, what: str, change: FactChange) -> str:
    values = code(" / ".join(change.values), MOST_VALUES)
    return (
        f"{what} in `{arm}`: {change.severity} fact {code(change.fact_id, MOST_VALUES)} of unit"
        f" {code(change.unit_id, MOST_VALUES)} ({change.polarity} {values})"
    )


def _about_times(found: RunComparison) -> str:
    takes = {"wall": "wall time", "ms_per_token": "time per token", "passes": "passes"}[found.speed_metric]
    return f"speedup: {takes} of the run before over that of the run after, the median over units."
