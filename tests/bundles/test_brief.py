import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import brief


@pytest.mark.parametrize("value", [None, True, 307, 1.5, "it's", ["a"], {"a": [1]}])
def test_short_value_is_as_python_writes_it(value: object) -> None:
    assert brief(value) == repr(value)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_is_one_short_line(value: object) -> None:
    assert len(brief(value)) <= 80
    assert brief(value).isprintable()


def test_values_that_python_will_not_write_out() -> None:
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    assert brief(deep) == "[[[...]]]"
    assert brief([16**9_999, "x" * 10**6]).startswith("[a huge number, 'xxx")
