from pathlib import Path
from typing import Any

import pytest

from bundles import SuiteError
from bundles.importers.parsing import Unparsable, is_blank, lines_of, parse


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2024-01-02", "2024-01-02"),
        ("12:30", "12:30"),
        ("no", "no"),
        ("on", "on"),
        ("010", "010"),
        ("'7'", "7"),
        ("7", 7),
        ("-0.5", -0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("~", None),
        ("", None),
        ("é😀", "é😀"),
        ("{<<: {b: 1}}", {"<<": {"b": 1}}),
    ],
)
def test_yaml_is_read_as_its_author_means_it(written: str, value: Any) -> None:
    assert parse(f"a: {written}".encode(), "YAML") == {"a": value}


@pytest.mark.parametrize(
    ("raw", "line", "message"),
    [
        (b"\na: 1\na: 2", 2, "not YAML: key 'a' is given twice"),
        (b"a: [1\n", 2, "not YAML: did not find expected ',' or ']'"),
        (b"a: b\n\xff", 2, "not UTF-8: byte 0xff"),
        (b"? [a]\n: 1", 1, "not YAML: found unhashable key"),
        (b'a: "\\ud800"', 1, "not YAML: found invalid Unicode character escape code"),
        (b"a: !!python/object:os.system {}", 1, "not YAML: could not determine a constructor"),
        (b"--- a\n--- b", 2, "not YAML: but found another document"),
        (b"a: \x00", 1, "not YAML: unacceptable character"),
        (b"a: " + b"1" * 5_000, 1, "not YAML: Exceeds the limit"),
        (b"a: " + b"[" * 100_000, 1, "not YAML: exceeded maximum nesting depth"),
        (b"a: " + b"[" * 900 + b"]" * 900, None, ""),
    ],
)
def test_what_is_no_yaml_is_said_with_its_line(raw: bytes, line: int | None, message: str) -> None:
    if line is None:
        assert parse(raw, "YAML")
        return
    with pytest.raises(Unparsable) as refusal:
        parse(raw, "YAML")
    assert (message in str(refusal.value), refusal.value.line) == (True, line)
    assert len(str(refusal.value).splitlines()) == 1


def test_lines_know_their_place_and_blank_ones_are_none(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\xef\xbb\xbf\n{}\r\n \n\xff\n7")
    found = list(lines_of(path))
    assert found == [(f"{path}:2", b"{}\r\n"), (f"{path}:4", b"\xff\n"), (f"{path}:5", b"7")]
    assert is_blank(b"\xef\xbb\xbf \r\n")
    with pytest.raises(SuiteError, match="key 'a' is given twice"):
        parse(b'{"a": 1, "a": 2}')
