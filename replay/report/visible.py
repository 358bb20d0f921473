"""Characters that would hide, or turn a line around, made visible. Pure.

Invariant: what comes out holds no control or format character but line feeds, tabs and joiners, so it looks
on the page as it reads in the file; everything else is as it was.
"""

import re

# Controls, surrogates, separators of lines, and format characters: overrides of direction, zero widths, tags.
# Zero-width joiners (U+200C, U+200D) stay: Persian and emoji are made of them.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffc\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with an escape such as \\u202e for each hidden character."""
    return _HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))
