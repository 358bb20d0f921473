"""What may stand in a text and in an id.

Invariant: what passes `check_text` can be written as UTF-8, and what passes `check_id` can name something
in a message, a table and a file.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from unicodedata import category

from bundles.brief import brief
from bundles.errors import SuiteError


def is_blank(text: str) -> bool:
    """Whether nothing of the text shows: no character but spaces, format characters and lone marks."""
    return all(char.isspace() or category(char) in ("Cf", "Mn") for char in text)


def check_text(what: str, value: str) -> None:
    """Raise `SuiteError` where the value holds half a surrogate pair."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        found = f"half a surrogate pair (\\u{ord(value[error.start]):04x}) at character {error.start}"
        raise SuiteError(f"{what} holds {found}, which is not text") from None


def check_id(what: str, value: str) -> None:
    """Raise `SuiteError` unless the value can name something in a message and a table."""
    check_text(what, value)
    if is_blank(value) or any(category(char) in ("Cc", "Zl", "Zp") for char in value):
        raise SuiteError(f"{what} {brief(value)} must be one line and not blank")


def check_unique(what: str, ids: Iterable[str]) -> None:
    """Raise `SuiteError` for the first id that occurs again."""
    for value, count in Counter(ids).items():
        if count > 1:
            raise SuiteError(f"{what} {brief(value)} is given {count} times, ids must differ")


def check_known(what: str, value: str, known: Sequence[str]) -> None:
    """Raise `SuiteError` unless the value is one of those known."""
    if value not in known:
        raise SuiteError(f"{what} {brief(value)} is unknown, use one of: {', '.join(known)}")
