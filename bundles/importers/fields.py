"""Objects of a file that a person or a tool wrote, read key by key.

Invariant: what is read is of the type that was asked for, and every complaint is one line that says what it
is about. Null counts as absent.
"""

from collections.abc import Collection, Mapping
from typing import NoReturn, TypeVar, cast

from bundles.brief import brief
from bundles.errors import SuiteError

_TYPES: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
_T = TypeVar("_T")
_D = TypeVar("_D")


class Fields:
    """One object; `label` says what it is. Keys that are not among the `known` are refused."""

    def __init__(self, label: str, value: object, known: Collection[str] | None = None) -> None:
        self.label = label
        if not isinstance(value, dict):
            self.fail(f"must be an object, not {brief(value)}")
        self._items = {key: item for key, item in value.items() if item is not None}
        if known is not None and (unknown := {brief(key) for key in value if key not in known}):
            self.fail(f"unknown key {min(unknown)}, known are: {', '.join(sorted(known))}")

    def fail(self, what: str) -> NoReturn:
        """Raise `SuiteError` about this object."""
        raise SuiteError(f"{self.label}: {what}")

    def given(self, *keys: str) -> str | None:
        """Which of these keys, names of the same thing, is there."""
        found = [key for key in keys if key in self._items]
        if len(found) > 1:
            self.fail(f"give `{found[0]}` or `{found[1]}`, not both")
        return found[0] if found else None

    def need(self, kind: type[_T], *keys: str) -> _T:
        """The value of one of these keys, which has to be there."""
        key = self.given(*keys)
        if key is None:
            self.fail(f"{' or '.join(f'`{key}`' for key in keys)} is missing")
        value = self._items[key]
        if kind is float and type(value) is int and value.bit_length() < 64:
            value = float(value)
        if type(value) is not kind and kind is not object:
            self.fail(f"`{key}` must be {_TYPES[kind]}, not {brief(value)}")
        return cast(_T, value)

    def get(self, kind: type[_T], default: _D, *keys: str) -> _T | _D:
        """The value of one of these keys, or the default where none is there."""
        return default if self.given(*keys) is None else self.need(kind, *keys)

    def texts(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """A list of texts."""
        values = self.get(list, default, key)
        for value in values:
            if not isinstance(value, str):
                self.fail(f"`{key}` must hold texts, not {brief(value)}")
        return tuple(values)

    def text_or_texts(self, key: str) -> tuple[str, ...]:
        """One text or a list of them; none where the key is not there."""
        value = self.get(object, (), key)
        return (value,) if isinstance(value, str) else self.texts(key, ())

    def mapping(self, key: str, default: Mapping[str, str]) -> Mapping[str, str]:
        """An object of texts by name."""
        items = self.get(dict, default, key)
        for name, value in items.items():
            if not isinstance(name, str) or not isinstance(value, str):
                self.fail(f"`{key}` must hold texts, not {brief(value)} as {brief(name)}")
        return items
