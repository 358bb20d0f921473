"""A summary on the terminal.

Invariant: text from outside is printed as one line without control characters, so that no unit's id
can move the cursor or fake a line.
"""

from collections.abc import Iterator, Sequence

from tabulate import tabulate

from replay.report.figures import count, interval, percent, times
from replay.summary import ArmSummary, FlipSummary, SessionSummary, Summary

_MOST_FLIPS = 20
_HEADERS = ("arm", "facts", "unscored", "speedup", "95% interval", "slowest", "held", "same tokens", "flips")


def one_line(text: str) -> str:
    """The text on one line; what is not printable is escaped."""
    joined = " ".join(text.split())
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in joined)


def render_table(summary: Summary) -> str:
    """The run's arms, categories and flips, with the verdict last, where a terminal leaves the eye."""
    parts = [
        one_line(
            f"run {summary.run_id} of {summary.bundle}: {count(summary.units, 'unit')}, {_attempts(summary)}"
        ),
        _aligned([_row(name, arm) for name, arm in summary.arms.items()], _HEADERS),
    ]
    if len(summary.categories) > 1:
        parts.append(_categories(summary))
    if summary.flips:
        shown = [_flip(flip) for flip in summary.flips[:_MOST_FLIPS]]
        rest = len(summary.flips) - len(shown)
        parts.append("\n".join([*shown, *([f"and {rest} more flips"] if rest else [])]))
    parts.append("\n".join(_closing(summary)))
    return "\n\n".join(parts)


def render_verdict(summary: Summary) -> str:
    """The verdict and its reasons, a line each."""
    return "\n".join([f"gate: {summary.verdict}", *(f"  {one_line(reason)}" for reason in summary.reasons)])


def _closing(summary: Summary) -> Iterator[str]:
    canaries = summary.canaries
    if sum(canaries.model_dump().values()):
        yield "canaries: " + ", ".join(f"{number} {how}" for how, number in canaries.model_dump().items())
    yield (
        f"identical to plain: {percent(summary.exact_match)} of units in exact mode,"
        f" {percent(summary.control_match)} in the control"
    )
    for arm in summary.arms_under_test:
        yield f"{arm}: {_sessions(summary.sessions[arm], summary.units)}"
    for advice in summary.look_at:
        yield one_line(f"look at: {advice}")
    yield render_verdict(summary)


def _sessions(part: SessionSummary, units: int) -> str:
    if units and part.identical_units == units:
        return f"identical to plain in {units} of {units} units: nothing can be lost"
    if not part.sessions:
        return "no session that could show a loss"
    against = ""
    if part.margin is not None and part.excess_low is not None and part.excess_high is not None:
        against = (
            f"; against the control {100 * part.excess_low:+.1f} to {100 * part.excess_high:+.1f} points"
        )
    if part.sessions_needed is not None:
        against += f", some {part.sessions_needed} more sessions would tell"
    return (
        f"facts lost in {part.lost} of {part.sessions} sessions ({percent(part.loss_rate_low)} to"
        f" {percent(part.loss_rate_high)}), {part.worse} worse and {part.better} better"
        f" (p = {part.p_value:.2g}){against}"
    )


def _attempts(summary: Summary) -> str:
    broken = [f"{summary.errors} failed"] if summary.errors else []
    missing = [f"{summary.missing} missing"] if summary.missing else []
    return ", ".join([count(summary.attempts, "attempt"), *broken, *missing])


def _row(name: str, arm: ArmSummary) -> tuple[str | int, ...]:
    return (
        name,
        f"{arm.facts_passed}/{arm.facts_total}",
        arm.unscored,
        times(arm.speedup_median),
        interval(arm.speedup_low, arm.speedup_high),
        times(arm.slowest),
        percent(arm.held),
        percent(arm.identical),
        arm.flips,
    )


def _categories(summary: Summary) -> str:
    rows: list[tuple[str | int, ...]] = []
    for part in summary.categories:
        plain = part.arms["plain"]
        figures = [
            f"{arm.facts_passed}/{arm.facts_total}, {times(arm.speedup_median)}"
            for arm in (part.arms[name] for name in summary.arms_under_test)
        ]
        facts = f"{plain.facts_passed}/{plain.facts_total}"
        rows.append((one_line(part.category) or "(none)", part.units, facts, *figures))
    return _aligned(rows, ("category", "units", "plain", *summary.arms_under_test))


def _aligned(rows: Sequence[Sequence[str | int]], headers: Sequence[str]) -> str:
    figures = ["right"] * (len(headers) - 1)
    return tabulate(rows, headers=headers, colalign=("left", *figures), disable_numparse=True)


def _flip(flip: FlipSummary) -> str:
    mark = "regression" if flip.regression else "flip"
    repeat = f" repeat {flip.repeat}" if flip.repeat else ""
    values = " | ".join(flip.values)
    return one_line(
        f"{mark}: unit {flip.unit_id} fact {flip.fact_id} ({flip.polarity} {values!r}) in {flip.arm}{repeat}:"
        f" {flip.before} -> {flip.after}, {flip.attribution}"
    )
