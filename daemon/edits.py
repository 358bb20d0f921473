"""Line edits on named sources and on the derived text.

Invariant: pure, in order, all or nothing. A text is its lines joined by `\n`, so the empty text has one
empty line, and CR, U+2028 and the like are ordinary characters within a line.
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
    texts = {source.name: source.text for source in sources}
    for index, edit in enumerate(edits):
        where = f"edits[{index}]"
        if edit.target == "derived":
            derived = _replace_lines(derived or "", edit, f"{where}: the derived text")
        elif edit.source in texts:
            texts[edit.source] = _replace_lines(texts[edit.source], edit, f"{where}: source {edit.source!r}")
        else:
            known = ", ".join(map(repr, texts)) or "none"
            raise InvalidRequest("invalid_request", f"{where}: no source {edit.source!r}; known: {known}")
    return tuple(Source(name=name, text=text) for name, text in texts.items()), derived


def _replace_lines(text: str, edit: Edit, what: str) -> str:
    lines = text.split("\n")
    if not edit.start <= edit.end <= len(lines):
        raise InvalidRequest(
            "bad_range", f"{what} has {len(lines)} lines; [{edit.start}, {edit.end}) is no range of them"
        )
    lines[edit.start : edit.end] = edit.lines
    return "\n".join(lines)
