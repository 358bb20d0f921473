"""A summary as one self-contained HTML file, and a second one beside it where there is too much for one.

Invariant: a report never links to details that were not written before it; details that an earlier report had
there go once no report links to them, and nothing else does.
"""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from replay.arms import PLAIN
from replay.history import History
from replay.report import charts, matrix, phrases
from replay.report.files import write_whole
from replay.report.page import render_page
from replay.report.selection import EXCERPT, first_flips, needs_details, shown_flips, telling_units
from replay.summary import Comparison, Summary, UnitSummary

_SIGNS_OF_DETAILS = (b'<meta name="generator" content="redraft report">', b"<title>Details: ")
_HEAD_BYTES = 4096
"""Within which the signs stand."""


def write_html(summary: Summary, path: Path, history: History | None = None) -> None:
    """Writes the report there, its details before it; OSError where that cannot be done.

    Details that an earlier report had there are removed where this one has none.
    """
    details = None
    if needs_details(summary):
        write_whole(details_path(path), render_details(summary, path.name))
        details = details_path(path).name
    write_whole(path, render_html(summary, history, details))
    if details is None and _are_details(details_path(path)):
        details_path(path).unlink()


def _are_details(path: Path) -> bool:
    """Whether the file is one that `render_details` made; a link is none."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return all(sign in head for sign in _SIGNS_OF_DETAILS)


def details_path(path: Path) -> Path:
    """Where a report's details go: report.html has report.details.html."""
    return path.with_name(f"{path.stem}.details.html")


def render_html(summary: Summary, history: History | None = None, details: str | None = None) -> str:
    """The report's text. `details` names the file beside it that has what is left out here."""
    comparisons = first_flips(summary.comparisons) if details else summary.comparisons
    units = telling_units(summary) if details else summary.unit_results
    link = quote(details or "")
    return render_page(
        "report.html",
        {
            **_values(summary, comparisons, units, link),
            "shown_flips": shown_flips(comparisons, EXCERPT if details else None),
            "scatter": charts.scatter(summary),
            "distribution": charts.distribution(summary),
            "matrix": matrix.rows(summary, len(comparisons), link),
            "matrix_arms": [arm for arm in summary.arms if arm != PLAIN],
            "history": history,
            "timeline": history and charts.timeline(history, summary.arms_under_test),
            "titles": phrases.TITLES,
            "verdict_signs": phrases.SIGNS,
            "kinds": matrix.KINDS,
            "meaning": phrases.meaning,
            "sessions_meaning": phrases.sessions_meaning,
        },
    )


def render_details(summary: Summary, report: str) -> str:
    """Every unit and every flip of a run; `report` is the name of the file that leads here."""
    return render_page(
        "details.html",
        {
            **_values(summary, summary.comparisons, summary.unit_results, ""),
            "shown_flips": shown_flips(summary.comparisons),
            "report": quote(report),
        },
    )


def _values(
    summary: Summary, comparisons: Sequence[Comparison], units: Sequence[UnitSummary], details: str
) -> dict[str, object]:
    """What both pages show, and where the rest is."""
    return {
        "summary": summary,
        "tested": summary.arms_under_test,
        "details": details,
        "shown_units": units,
        "flipped_arms": list(dict.fromkeys(comparison.arm for comparison in comparisons)),
        "flip_meaning": phrases.flip_meaning,
        "demand": phrases.demand,
        "became": phrases.became,
    }
