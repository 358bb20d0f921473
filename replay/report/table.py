"""A summary on the terminal.

Invariant: text from outside is printed as one line without control characters, so that no unit's id
can move the cursor or fake a line.
"""

from collections.abc import Iterator, Sequence

from tabulate import tabulate

from replay.report.figures import count, interval, percent, times
from replay.summary import ArmSummary, ClaimFlip, ClaimSummary, FlipSummary, SessionSummary, Summary

MOST_CHARACTERS = 300
"""Of a line that holds text from outside."""
_MOST_FLIPS = _MOST_CATEGORIES = 20
_MOST_REASONS = 50
MOST_VALUES = 120
_HEADERS = ("arm", "facts", "unscored", "speedup", "95% interval", "slowest", "held", "same tokens", "flips")


def one_line(text: str, most: int | None = None) -> str:
    """The text on one line, cut to `most` characters; what is not printable is escaped."""
    return printable(" ".join(text.split()), most)


def printable(text: str, most: int | None = None) -> str:
    """The text, cut to `most` characters, with an escape for each that is not printable."""
    cut = text if most is None or len(text) <= most else f"{text[:most]}..."
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)


def excerpt(text: str, most: int) -> str:
    """The text's first `most` characters on its own lines, each printable."""
    cut = text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"
    return "\n".join(printable(line.expandtabs()) for line in cut.splitlines())


def flip_line(flip: FlipSummary) -> str:
    """A flip in one line: where it is, what its fact asks for, and what became of it."""
    mark = "regression" if flip.regression else "flip"
    repeat = f" repeat {flip.repeat}" if flip.repeat else ""
    values = one_line(repr(" | ".join(flip.values)), MOST_VALUES)
    unit_id, fact_id = one_line(flip.unit_id, MOST_VALUES), one_line(flip.fact_id, MOST_VALUES)
    return (
        f"{mark}: unit {unit_id} fact {fact_id} ({flip.polarity} {values}) in {flip.arm}{repeat}:"
        f" {flip.before} -> {flip.after}, {flip.attribution}"
    )


def claim_line(flip: ClaimFlip) -> str:
    """A flip of claims in one line: where it is, what became of it, and which claims."""
    mark = "regression" if flip.regression else "flip"
    repeat = f" repeat {flip.repeat}" if flip.repeat else ""
    unit_id, said = one_line(flip.unit_id, MOST_VALUES), one_line(flip.said, MOST_VALUES)
    return (
        f"{mark}: unit {unit_id} {one_line(flip.check)} in {flip.arm}{repeat}: {flip.before} -> {flip.after},"
        f" {one_line(flip.reason, MOST_CHARACTERS)}{f', where it says {said!r}' if said else ''}"
    )


def render_table(summary: Summary) -> str:
    """The run's arms, categories and flips, with the verdict last, where a terminal leaves the eye."""
    parts = [
        f"run {summary.run_id} of {one_line(summary.bundle, MOST_VALUES)}:"
        f" {count(summary.units, 'unit')}, {attempts_line(summary)}",
        aligned([_row(name, arm) for name, arm in summary.arms.items()], _headers(summary)),
    ]
    if len(summary.categories) > 1:
        parts.append(_categories(summary))
    if summary.flips:
        shown = [flip_line(flip) for flip in summary.flips[:_MOST_FLIPS]]
        rest = len(summary.flips) - len(shown)
        parts.append("\n".join([*shown, *([f"and {rest} more flips"] if rest else [])]))
    if summary.claims is not None:
        parts.append("\n".join(_claims(summary.claims)))
    parts.append("\n".join(_closing(summary)))
    return "\n\n".join(parts)


def _claims(claims: ClaimSummary) -> Iterator[str]:
    """Claims by arm, and their flips."""
    judge = one_line(claims.judge, MOST_VALUES) or "claims:(no verdict is left)"
    for name, arm in claims.arms.items():
        yield f"{judge}: {name}: {arm.passed} passed, {arm.failed} failed, {arm.unscored} unscored"
    yield from map(claim_line, claims.flips[:_MOST_FLIPS])
    if (rest := len(claims.flips) - _MOST_FLIPS) > 0:
        yield f"and {rest} more flips of claims"


def render_verdict(summary: Summary) -> str:
    """The verdict and its reasons, a line each."""
    shown = [f"  {one_line(reason, MOST_CHARACTERS)}" for reason in summary.reasons[:_MOST_REASONS]]
    rest = len(summary.reasons) - len(shown)
    return "\n".join([f"gate: {summary.verdict}", *shown, *([f"  and {rest} more reasons"] if rest else [])])


def _headers(summary: Summary) -> tuple[str, ...]:
    speed = "speedup" if summary.speed_metric == "wall" else f"speedup in {summary.speed_metric}"
    return tuple(speed if header == "speedup" else header for header in _HEADERS)


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
        yield one_line(f"look at: {advice}", MOST_CHARACTERS)
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


def attempts_line(summary: Summary) -> str:
    """How many attempts there are, and what is wrong with them."""
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
    for part in summary.categories[:_MOST_CATEGORIES]:
        plain = part.arms["plain"]
        figures = [
            f"{arm.facts_passed}/{arm.facts_total}, {times(arm.speedup_median)}"
            for arm in (part.arms[name] for name in summary.arms_under_test)
        ]
        facts = f"{plain.facts_passed}/{plain.facts_total}"
        rows.append((one_line(part.category, MOST_VALUES) or "(none)", part.units, facts, *figures))
    rest = len(summary.categories) - len(rows)
    table = aligned(rows, ("category", "units", "plain", *summary.arms_under_test))
    return f"{table}\nand {rest} more categories" if rest else table


def aligned(rows: Sequence[Sequence[str | int]], headers: Sequence[str]) -> str:
    """A table whose first column is words and whose others are figures."""
    figures = ["right"] * (len(headers) - 1)
    return tabulate(rows, headers=headers, colalign=("left", *figures), disable_numparse=True)
