"""A summary for a job on GitHub: annotations of the workflow, and the page that is shown with it.

Invariant: an annotation is one line that GitHub reads back as the text that went in; the page never grows
over the limit above which GitHub shows none of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from judge import GateVerdict
from replay.report.figures import count
from replay.report.files import encoded, size
from replay.report.markdown import render_markdown
from replay.report.table import MOST_CHARACTERS, claim_line, flip_line, one_line
from replay.summary import Summary

STEP_SUMMARY_BYTES = 1024 * 1024
MOST_ANNOTATIONS = 10
"""Of one level and step; GitHub shows no more."""
Level = Literal["error", "warning", "notice"]
_LEVELS: Mapping[GateVerdict, Level] = {"regression": "error", "error": "error", "empty": "error"}


def annotations(summary: Summary) -> str:
    """What is wrong, worst first and ten at most, then the verdict with how much is wrong."""
    return "\n".join(_annotations(summary))


def append_step_summary(summary: Summary, file: Path) -> None:
    """Adds the report to what the step has written so far; nothing where not even the verdict fits."""
    used = file.stat().st_size if file.exists() else 0
    page = render_markdown(summary, STEP_SUMMARY_BYTES - used - 1)
    if used + size(page) < STEP_SUMMARY_BYTES:
        with file.open("ab") as opened:
            opened.write(encoded(f"\n{page}"))


def _annotations(summary: Summary) -> Iterator[str]:
    claims = summary.claims.flips if summary.claims else ()
    lost = [
        *(flip_line(flip) for flip in summary.flips if flip.regression),
        *(claim_line(flip) for flip in claims if flip.regression),
    ]
    title = f"redraft: {summary.verdict}"
    wrong = lost or ([] if summary.verdict == "pass" else summary.reasons)
    for line in wrong[:MOST_ANNOTATIONS]:
        yield annotation(_LEVELS.get(summary.verdict, "warning"), title, line)
    yield annotation("notice", title, _verdict(summary, lost))


def _verdict(summary: Summary, lost: Sequence[str]) -> str:
    found = f"{count(len(lost), 'regression')} in {count(summary.units, 'unit')}"
    rest = f", the worst {MOST_ANNOTATIONS} of them annotated" if len(lost) > MOST_ANNOTATIONS else ""
    reasons = "; ".join(summary.reasons[:3])
    more = f"; and {len(summary.reasons) - 3} more" if len(summary.reasons) > 3 else ""
    return f"{found}{rest}. Run {summary.run_id}: {reasons}{more}"


def annotation(level: Level, title: str, message: str) -> str:
    """One line; what is not printable is escaped, as everywhere, and then what GitHub reads as its own."""
    return f"::{level} title={_property(one_line(title))}::{_data(one_line(message, MOST_CHARACTERS))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
