from typing import Any

import pytest

from bundles import SuiteError
from bundles.importers.fields import Fields


def test_values_are_read_by_any_of_their_names() -> None:
    fields = Fields("it", {"a": 1, "none": None, "t": ["x"], "s": "x", "m": {"k": "v"}})
    assert (fields.need(int, "b", "a"), fields.need(float, "a"), fields.get(int, 7, "none")) == (1, 1.0, 7)
    assert (fields.texts("t", ()), fields.texts("none", ("d",))) == (("x",), ("d",))
    assert (fields.text_or_texts("s"), fields.text_or_texts("t"), fields.text_or_texts("u")) == (
        ("x",),
        ("x",),
        (),
    )
    assert fields.mapping("m", {}) == {"k": "v"}


@pytest.mark.parametrize(
    ("value", "known", "message"),
    [
        (7, None, "it: must be an object, not 7"),
        ({"a": 1, 7: 2}, {"a"}, "it: unknown key 7, known are: a"),
        ({"a": 1, "a\n": 2}, {"a", "b"}, r"it: unknown key 'a\n', known are: a, b"),
    ],
)
def test_what_is_no_such_object_is_said(value: object, known: set[str] | None, message: str) -> None:
    with pytest.raises(SuiteError) as refusal:
        Fields("it", value, known)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda fields: fields.need(str, "x", "y"), "it: `x` or `y` is missing"),
        (lambda fields: fields.need(str, "n", "s"), "it: give `n` or `s`, not both"),
        (lambda fields: fields.need(int, "b"), "it: `b` must be a whole number, not True"),
        (lambda fields: fields.need(float, "huge"), "it: `huge` must be a number, not a huge number"),
        (lambda fields: fields.texts("s", ()), "it: `s` must be a list, not 'x'"),
        (lambda fields: fields.text_or_texts("n"), "it: `n` must be a list, not 1"),
        (lambda fields: fields.texts("l", ()), "it: `l` must hold texts, not 1"),
        (lambda fields: fields.mapping("m", {}), "it: `m` must hold texts, not 1 as 'k'"),
        (lambda fields: fields.mapping("k", {}), "it: `k` must hold texts, not 'v' as 1"),
    ],
)
def test_a_value_of_another_type_is_said(read: Any, message: str) -> None:
    found = {"n": 1, "s": "x", "b": True, "huge": 2**5000, "l": [1], "m": {"k": 1}, "k": {1: "v"}}
    with pytest.raises(SuiteError) as refusal:
        read(Fields("it", found))
    assert str(refusal.value) == message
