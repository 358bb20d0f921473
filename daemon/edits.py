"""Line edits on named sources and on the derived text.

Invariant: pure, in order, all or nothing. A text is its lines joined by `\n`, so the empty text has one
empty line, and CR, U+2028 and the like are ordinary characters within a line. Each text is split
once, however many edits it gets.
"""

from collections.abc import Sequence

from daemon.errors import InvalidRequest
from daemon.wire import Edit, Source


def apply_edits(
    sources: Sequence[Source], derived: str | None, edits: Sequence[Edit]
) -> tuple[tuple[Source, ...], str | None]:
    """Sources and derived text after the edits. A derived text not written yet counts as empty.

    Raises InvalidRequest: `bad_range` for lines that do not exist, `invalid_request` for a source that
    does not.
    """
    if not edits:
        return tuple(sources), derived
    texts = {source.name: source.text.split("\n") for source in sources}
    derived_lines = (derived or "").split("\n")
    for index, edit in enumerate(edits):
        where = f"edits[{index}]"
        if edit.target == "derived":
            _replace_lines(derived_lines, edit, f"{where}: the derived text")
            derived = ""  # written now, whatever it was
        elif edit.source in texts:
            _replace_lines(texts[edit.source], edit, f"{where}: source {edit.source!r}")
        else:
            known = ", ".join(map(repr, texts)) or "none"
            raise InvalidRequest("invalid_request", f"{where}: no source {edit.source!r}; known: {known}")
    changed = tuple(Source(name=name, text="\n".join(lines)) for name, lines in texts.items())
    return changed, None if derived is None else "\n".join(derived_lines)


def _replace_lines(lines: list[str], edit: Edit, what: str) -> None:
    if not edit.start <= edit.end <= len(lines):
        raise InvalidRequest(
            "bad_range", f"{what} has {len(lines)} lines; [{edit.start}, {edit.end}) is no range of them"
        )
    lines[edit.start : edit.end] = "\n".join(edit.lines).split("\n") if edit.lines else []
    if not lines:
        lines.append("")
