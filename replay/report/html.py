"""A summary as one self-contained HTML file.

Invariant: nothing is loaded from elsewhere, everything from outside is escaped, and the file is the
old one or the new one, never half of it.
"""

import os
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from replay.report.figures import count, interval, percent, times
from replay.report.marks import Piece, differing, pieces
from replay.summary import Comparison, Summary


def write_html(summary: Summary, path: Path) -> None:
    """Writes the report there; OSError where that cannot be done."""
    write_whole(path, render_html(summary))


def render_html(summary: Summary) -> str:
    """The report's text."""
    environment = Environment(
        loader=PackageLoader("replay", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"times": times, "percent": percent, "count": count}
    return environment.get_template("report.html").render(
        summary=summary, interval=interval, side_by_side=side_by_side
    )


def side_by_side(comparison: Comparison) -> tuple[list[Piece], list[Piece]]:
    """Plain generation's text and the arm's, with what differs, the evidence and what was held marked."""
    plain, other = comparison.plain, comparison.other
    plain_differs, other_differs = differing(plain.text, other.text)
    return (
        pieces(plain.text, {"held": plain.held, "differs": plain_differs, "evidence": plain.evidence}),
        pieces(other.text, {"held": other.held, "differs": other_differs, "evidence": other.evidence}),
    )


def write_whole(path: Path, text: str) -> None:
    """Replaces a file, or what a link leads to, as a whole; on disk before this returns."""
    path = path.resolve()
    temporary = path.with_name(f".redraft-report.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(text.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
