"""Values as they stand in messages.

Invariant: whatever the value, it is one short line: nothing in it breaks the line, colours a terminal or
fills a screen.
"""

from reprlib import Repr

_LONGEST = 80


class _Brief(Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 2
        self.maxstring = self.maxother = _LONGEST

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to write out numbers of thousands of digits, and TOML has them in hexadecimal.
        return super().repr_int(x, level) if x.bit_length() < 1_000 else "a huge number"


_BRIEF = _Brief()


def brief(value: object) -> str:
    """The value as Python writes it, cut to 80 characters."""
    shown = _BRIEF.repr(value)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."
