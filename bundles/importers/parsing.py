"""Bytes of a file to plain values: JSON, lines of JSON, TOML and YAML.

Invariant: whatever the bytes are, there is a value or one `Unparsable` that names the line; no key is given
twice, and a text is what its author wrote, also where YAML would see a date or a time of day.
"""

import codecs
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import yaml

from bundles.brief import brief
from bundles.errors import SuiteError


class Unparsable(SuiteError):
    """Not of its language at all, seen in this line of what was parsed."""

    def __init__(self, what: str, line: int = 1) -> None:
        super().__init__(what)
        self.line = line


def lines_of(path: Path) -> Iterator[tuple[str, bytes]]:
    """The lines of a file that are not blank, each with its place."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not is_blank(line):
                yield f"{path}:{number}", line


def is_blank(raw: bytes) -> bool:
    """Whether there is nothing but spaces, and perhaps a byte order mark."""
    return not raw.removeprefix(codecs.BOM_UTF8).strip()


def parse(raw: bytes, language: str = "JSON") -> Any:
    """What the bytes say in JSON, TOML or YAML; raises `SuiteError`, mostly as `Unparsable`."""
    try:
        return _LOAD[language](raw.decode("utf-8-sig"))
    except RecursionError:
        raise Unparsable("nested too deeply for a suite") from None
    except UnicodeDecodeError as error:
        bad = error.object[error.start]
        raise Unparsable(f"not UTF-8: byte 0x{bad:02x}", raw.count(b"\n", 0, error.start) + 1) from None
    except json.JSONDecodeError as error:
        raise Unparsable(f"not JSON: {error.msg} (column {error.colno})", error.lineno) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = str(getattr(error, "problem", None) or error).splitlines()[0][:200]
        raise Unparsable(f"not YAML: {what}", mark.line + 1 if mark else 1) from None
    except ValueError as error:
        found = re.search(r"\(at (?:line (\d+)|end of document)", str(error))
        line = 1 if found is None else int(found[1] or raw.count(b"\n") + 1)
        raise Unparsable(f"not {language}: {str(error)[:200]}", line) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _) = Counter(key for key, _ in pairs).most_common(1)[0]
        raise SuiteError(f"key {brief(twice)} is given twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


class _YamlLoader(yaml.CSafeLoader):
    """Plain values only, told apart as YAML 1.2 does: dates, times of day and `no` are texts.

    No merge keys either: what they repeat grows without a bound.
    """

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """A mapping whose keys differ."""
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(keys)) < len(keys):
            (twice, _) = Counter(keys).most_common(1)[0]
            raise yaml.MarkedYAMLError(
                problem=f"key {brief(twice)} is given twice", problem_mark=node.start_mark
            )
        return super().construct_mapping(node, deep)


_YamlLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)", "-+0123456789"),
):
    _YamlLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), [char.strip("\0") for char in _first]
    )

_LOAD: Mapping[str, Callable[[str], Any]] = {
    "JSON": partial(json.loads, object_pairs_hook=_object, parse_constant=_no_constant),
    "TOML": tomllib.loads,
    "YAML": partial(yaml.load, Loader=_YamlLoader),
}
