"""A summary as Markdown, for a comment on a pull request and for the summary of a CI job. Pure.

Invariant: the verdict comes first and is never left out; what does not fit the room is cut from the details,
and it is said how much. What comes from outside is inert.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from replay.report.figures import count, interval, percent, times
from replay.report.files import size
from replay.report.inert import block, code, prose
from replay.report.table import attempts_line, claim_line
from replay.summary import ArmSummary, Canaries, Comparison, FlipSummary, Summary

COMMENT_BYTES = 60_000
"""GitHub takes comments of 65,536 characters."""
_MOST_ITEMS = 200
_MOST_TEXT = 1_500
_NAME, _VALUES = 80, 200
_ARMS = (
    "| arm | facts | unscored | flips | regressions | speedup | 95% interval | slowest | held | same tokens |"
    " canaries |\n|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|:--|\n"
)


@dataclass(frozen=True, slots=True)
class _Block:
    """A part of the report that can be cut between items; `noun` is what they are, `total` how many."""

    opening: str
    items: Sequence[str]
    closing: str
    total: int
    noun: str

    def within(self, room: int) -> str:
        """As much of it as fits so many bytes; nothing where not even one item does."""
        whole = f"{self.opening}{''.join(self.items)}{self.closing}\n"
        if len(self.items) == self.total and size(whole) <= room:
            return whole
        room -= size(self.opening) + size(self._end(self.total))
        kept = 0
        while kept < len(self.items) and size(self.items[kept]) <= room:
            room -= size(self.items[kept])
            kept += 1
        if not kept:
            return ""
        return f"{self.opening}{''.join(self.items[:kept])}{self._end(self.total - kept)}"

    def _end(self, left_out: int) -> str:
        return f"{self.closing}\n_{left_out} more {self.noun} would not fit here._\n\n"


def render_markdown(summary: Summary, most_bytes: int = COMMENT_BYTES) -> str:
    """Verdict, what to look at, arms, then details as far as there is room."""
    parts = [_verdict(summary)]
    room = most_bytes - size(parts[0])
    for part in _blocks(summary):
        parts.append(part.within(room))
        room -= size(parts[-1])
    return f"{''.join(parts).rstrip()}\n"


def _verdict(summary: Summary) -> str:
    name = code(summary.bundle, _NAME)
    return (
        f"### redraft: {summary.verdict}\n\n"
        f"{name}: {count(summary.units, 'unit')}, {attempts_line(summary)}. Run `{summary.run_id}`.\n\n"
    )


def _blocks(summary: Summary) -> Iterator[_Block]:
    yield _bullets("", summary.reasons, "reasons")
    if summary.look_at:
        yield _bullets("**Look at next**\n\n", summary.look_at, "things to look at")
    rows = [_row(f"`{name}`", arm) for name, arm in summary.arms.items()]
    yield _Block(_ARMS, rows, _figures(summary), len(rows), "arms")
    if len(summary.categories) > 1:
        yield _categories(summary)
    if summary.flips:
        flips = [_flip(flip) for flip in summary.flips[:_MOST_ITEMS]]
        yield _Block("**Flips**\n\n", flips, "", len(summary.flips), "flips")
        opening = "<details><summary>The texts of the flips</summary>\n\n"
        texts = [_texts(comparison) for comparison in summary.comparisons[:_MOST_ITEMS]]
        yield _Block(opening, texts, "</details>\n", len(summary.comparisons), "pairs of texts")
    if summary.claims and summary.claims.flips:
        claims = [claim_line(flip) for flip in summary.claims.flips]
        yield _bullets(f"**Claims**, by {code(summary.claims.judge, _NAME)}\n\n", claims, "flips of claims")


def _bullets(opening: str, lines: Sequence[str], noun: str) -> _Block:
    return _Block(opening, [f"- {prose(line)}\n" for line in lines[:_MOST_ITEMS]], "", len(lines), noun)


def _row(name: str, arm: ArmSummary) -> str:
    cells = (
        name,
        f"{arm.facts_passed}/{arm.facts_total}",
        arm.unscored,
        arm.flips,
        arm.regressions,
        times(arm.speedup_median),
        interval(arm.speedup_low, arm.speedup_high),
        times(arm.slowest),
        percent(arm.held),
        percent(arm.identical),
        _canaries(arm.canaries),
    )
    return f"| {' | '.join(map(str, cells))} |\n"


def _canaries(canaries: Canaries) -> str:
    found = [f"{number} {how}" for how, number in canaries.model_dump().items() if number]
    return ", ".join(found) or "-"


def _figures(summary: Summary) -> str:
    shares = (("exact mode", summary.exact_match), ("the control", summary.control_match))
    same = [f"{percent(share)} of units in {where}" for where, share in shares if share is not None]
    lines = [
        f"Identical to plain generation: {', '.join(same)}." if same else "",
        f"Canaries: {_canaries(summary.canaries)}.",
        "Speedups are of passes, as attempts were made at once." if summary.speed_metric == "passes" else "",
    ]
    return f"\n{' '.join(filter(None, lines))}\n"


def _categories(summary: Summary) -> _Block:
    arms = ("plain", *summary.arms_under_test)
    rows = []
    for part in summary.categories[:_MOST_ITEMS]:
        figures = " | ".join(_brief(part.arms[arm]) for arm in arms)
        rows.append(f"| {code(part.category, _NAME)} | {part.units} | {figures} |\n")
    headers = " | ".join(f"`{arm}`" for arm in arms)
    opening = (
        "<details><summary>By category: facts passed, median speedup</summary>\n\n"
        f"| category | units | {headers} |\n|:--|--:|{'--:|' * len(arms)}\n"
    )
    return _Block(opening, rows, "\n</details>\n", len(summary.categories), "categories")


def _brief(arm: ArmSummary) -> str:
    return f"{arm.facts_passed}/{arm.facts_total}, {times(arm.speedup_median)}"


def _flip(flip: FlipSummary) -> str:
    mark = "**regression**" if flip.regression else "flip"
    says = "must say" if flip.polarity == "expect" else "must not say"
    return (
        f"- {mark} in {_where(flip)}: fact {code(flip.fact_id, _NAME)} {says}"
        f" {code(' / '.join(flip.values), _VALUES)}: {flip.before} in plain, {flip.after} here"
        f" ({flip.severity}, {flip.attribution})\n"
    )


def _texts(comparison: Comparison) -> str:
    return (
        f"{_where(comparison)}, asked: {code(comparison.instruction, _VALUES)}\n\n"
        f"plain\n\n{block(comparison.plain.text, _MOST_TEXT)}\n\n"
        f"`{comparison.arm}`\n\n{block(comparison.other.text, _MOST_TEXT)}\n\n"
    )


def _where(found: FlipSummary | Comparison) -> str:
    repeat = f", repeat {found.repeat}" if found.repeat else ""
    return f"unit {code(found.unit_id, _NAME)} with `{found.arm}`{repeat}"
