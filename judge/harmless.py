"""Changes that leave every fact of a text as it is, to find out whether the judge cries wolf.

Invariant: as with faults, no matcher is asked. Words are exchanged only for words that mean the same, and
never within a value of the unit or one of its pinned lines; sentences move as a whole, and no value or
pinned line is lost or comes in. Units with a `pattern`, which may be about the very form, are left alone.
"""

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from bundles import Unit
from judge.faults import Change
from judge.mentions import Range, all_mentions, is_item, mentions, segments, spelt_values

HarmlessKind = Literal["reworded", "reordered"]
HARMLESS_KINDS: tuple[HarmlessKind, ...] = ("reworded", "reordered")
_SYNONYMS = {
    "begins": "starts",
    "starts": "begins",
    "takes place": "is held",
    "however": "yet",
    "because": "since",
    "big": "large",
    "large": "big",
    "shows": "displays",
    "needs": "requires",
    "usually": "normally",
    "such as": "like",
    "in order to": "to",
    "will be": "is going to be",
    "it is": "it's",
    "does not": "doesn't",
    "is not": "isn't",
}
_SYNONYM = re.compile(rf"\b(?:{'|'.join(sorted(_SYNONYMS, key=len, reverse=True))})\b", re.IGNORECASE)
_CURLY = str.maketrans({"'": "’"})
_WIDTH = 48


def harmless(unit: Unit, text: str) -> Iterator[Change]:
    """Every change of this kind that says the same."""
    if not text.strip() or any(fact.matcher == "pattern" for fact in unit.facts):
        return
    values = tuple(dict.fromkeys(spelt_values(unit)))

    def kept(of: str) -> list[object]:
        return [*(len(mentions(of, value)) for value in values), *(line in of for line in unit.pinned)]

    for kind, how, change in _CHANGES:
        changed = change(text, all_mentions(text, [*values, *unit.pinned]))
        if changed != text and kept(changed) == kept(text):
            yield Change(kind, changed, how)


def _synonyms(text: str, kept: Sequence[Range]) -> str:
    return _outside(text, kept, lambda piece: _SYNONYM.sub(_synonym, piece))


def _synonym(found: re.Match[str]) -> str:
    new = _SYNONYMS[found.group().lower()]
    return new.capitalize() if found.group()[0].isupper() else new


def _typography(text: str, kept: Sequence[Range]) -> str:
    """Everywhere, values too: a curly apostrophe and a no-break space are no other word."""
    return re.sub(r"(?<=\d) (?=[a-z%€])", "\N{NO-BREAK SPACE}", text.translate(_CURLY))


def _emphasis(text: str, kept: Sequence[Range]) -> str:
    for start, end in reversed(kept):
        text = f"{text[:start]}**{text[start:end]}**{text[end:]}"
    return text


def _wrapped(text: str, kept: Sequence[Range]) -> str:
    """Lines no longer than _WIDTH, where the text has no list to break."""
    if "\n" in text.strip():
        return text
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _introduced(text: str, kept: Sequence[Range]) -> str:
    return f"Here is the text:\n\n{text}"


def _listed(text: str, kept: Sequence[Range]) -> str:
    pieces = [text[start:end] for start, end in segments(text)]
    if len(pieces) < 2 or "\n" in text.strip():
        return text
    return "\n".join(f"- {piece}" for piece in pieces)


def _rotated(text: str, kept: Sequence[Range]) -> str:
    """The sentences of a paragraph, or the items of a list, with the first one last."""
    places = segments(text)
    items = [place for place in places if is_item(text[slice(*place)])]
    moving = items if len(items) > 1 else [] if items or "\n" in text.strip() else places
    order = [*moving[1:], *moving[:1]]
    for (start, end), new in reversed([*zip(moving, [text[slice(*place)] for place in order], strict=True)]):
        text = text[:start] + new + text[end:]
    return text


def _outside(text: str, kept: Sequence[Range], change: Callable[[str], str]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in kept:
        pieces += [change(text[done:start]), text[start:end]]
        done = end
    return "".join([*pieces, change(text[done:])])


_CHANGES: tuple[tuple[HarmlessKind, str, Callable[[str, Sequence[Range]], str]], ...] = (
    ("reworded", "words of the same meaning", _synonyms),
    ("reworded", "curly apostrophes, no-break spaces", _typography),
    ("reworded", "values in bold type", _emphasis),
    ("reworded", "lines wrapped", _wrapped),
    ("reworded", "an introduction", _introduced),
    ("reworded", "sentences as a list", _listed),
    ("reordered", "the first sentence last", _rotated),
)
