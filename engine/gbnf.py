"""GBNF, llama.cpp's grammar notation, read into flat rules.

Invariant: whatever text comes in, reading it takes bounded time and memory, and what is wrong with it is an
InvalidRequest that starts with the field's name. What comes out cannot send a matcher in circles: no rule
starts with itself. (llama.cpp's own reader takes all memory for `"a"{5,2}`, and its matcher takes time
exponential in a token's length for `("a"? "a"?){50}`: neither can be given what strangers send.)
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, NoReturn

from engine.errors import InvalidRequest
from engine.left_recursion import left_recursive

MAX_LENGTH = 2**19
MAX_SYMBOLS = 50_000
"""Characters and rule names in a grammar, its repetitions written out."""
LAST_CHARACTER = 0x10FFFF
TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r\n]|\#[^\n]*)++)
    |(?P<name>[A-Za-z0-9_-]+)
    |(?P<define>::=)
    |"(?P<literal>(?:\\.|[^"\\])*+)"
    |\[(?P<class>(?:\\.|[^\]\\])*+)\]
    |(?P<any>\.)
    |\{[ \t]*(?P<least>\d{1,6})[ \t]*(?P<range>,[ \t]*(?P<most>\d{0,6})[ \t]*)?\}
    |(?P<mark>[()|*+?])""",
    re.VERBOSE | re.DOTALL,
)
CHARACTER = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([trn])|([^A-Za-z0-9]))|([^\\])", re.DOTALL
)
NAMED = {"t": 9, "r": 13, "n": 10}
REPEATS = {"*": (0, None), "+": (1, None), "?": (0, 1)}

Ranges = tuple[tuple[int, int], ...]
"""Characters by code point, each range with both its ends; in order, and apart from each other."""
Symbol = Ranges | int
"""A character out of ranges, or the number of a rule."""


class Grammar(NamedTuple):
    """Alternatives of each rule, one after the other in `code`, each ended by None; rule 0 is the root."""

    code: tuple[Symbol | None, ...]
    starts: tuple[tuple[int, ...], ...]
    """By rule, where in `code` its alternatives begin."""


def parse(field_name: str, text: str) -> Grammar:
    """Read a grammar. Raises InvalidRequest that starts with `field_name`."""
    if len(text) > MAX_LENGTH:
        raise InvalidRequest(f"{field_name}: {len(text)} characters are more than {MAX_LENGTH}")
    return _Reader(field_name, text).read()


@dataclass
class _Group:
    """Alternatives that are being read: the last one still grows."""

    alternatives: list[list[Symbol]] = field(default_factory=lambda: [[]])
    last_item: int | None = None
    """Where in the last alternative its last item starts, if it has one; a repetition takes all of it."""

    def begin_item(self) -> list[Symbol]:
        self.last_item = len(self.alternatives[-1])
        return self.alternatives[-1]


class _Reader:
    def __init__(self, field_name: str, text: str) -> None:
        self._field = field_name
        self._text = text
        self._place = 0
        self._names = {"root": 0}
        self._rules: list[list[list[Symbol]] | None] = [None]
        self._symbols = 0

    def read(self) -> Grammar:
        groups: list[_Group] = []
        for token, following in pairwise(self._tokens()):
            assert token
            self._place = token.start()
            defines = following is not None and following.lastgroup == "define"
            if defines and len(groups) > 1:
                self._fail("a group is not closed")
            if defines:
                groups = [self._define(token)]
            elif not groups:
                self._fail("expected NAME ::=")
            elif token.lastgroup != "define":
                self._take(token, groups)
            if self._symbols > MAX_SYMBOLS:
                self._fail(f"more than {MAX_SYMBOLS} symbols with repetitions written out")
        self._place = len(self._text)
        if len(groups) > 1:
            self._fail("a group is not closed")
        return self._checked()

    def _tokens(self) -> Iterator["re.Match[str] | None"]:
        """One after the other, and None behind the last: a list of them would be large."""
        place = 0
        while place < len(self._text):
            token = TOKEN.match(self._text, place)
            if token is None:
                self._place = place
                self._fail(f"{self._text[place : place + 20]!r} is not GBNF")
            if token.lastgroup != "space":
                yield token
            place = token.end()
        yield None

    def _fail(self, problem: str) -> NoReturn:
        line = self._text.count("\n", 0, self._place) + 1
        raise InvalidRequest(f"{self._field}: line {line}: {problem}")

    def _define(self, name: "re.Match[str]") -> _Group:
        if name.lastgroup != "name":
            self._fail("a rule has no name")
        rule, group = self._rule(name[0]), _Group()
        if self._rules[rule] is not None:
            self._fail(f"rule {name[0][:40]} is defined twice")
        self._rules[rule] = group.alternatives
        return group

    def _rule(self, name: str) -> int:
        if name not in self._names:
            self._names[name] = self._add(None)
        return self._names[name]

    def _add(self, alternatives: list[list[Symbol]] | None) -> int:
        self._rules.append(alternatives)
        return len(self._rules) - 1

    def _take(self, token: "re.Match[str]", groups: list[_Group]) -> None:
        """Add one token to the innermost of the open groups."""
        group, text = groups[-1], token[0]
        if token.lastgroup == "name":
            group.begin_item().append(self._rule(text))
        elif token["literal"] is not None:
            group.begin_item().extend(((point, point),) for point in self._characters(token["literal"]))
            self._symbols += len(token["literal"])
        elif token["class"] is not None:
            ranges = self._class(token["class"])
            group.begin_item().append(ranges)
            self._symbols += len(ranges)
        elif text == ".":
            group.begin_item().append(((0, LAST_CHARACTER),))
        elif text == "(":
            groups.append(_Group())
        elif text == ")" and len(groups) > 1:
            groups.pop()
            groups[-1].begin_item().append(self._add(group.alternatives))
        elif text == ")":
            self._fail("a group is closed that was not opened")
        elif text == "|":
            group.alternatives.append([])
            group.last_item = None
        else:
            self._repeat(token, group)
        self._symbols += 1

    def _repeat(self, token: "re.Match[str]", group: _Group) -> None:
        """Replace the last item by as many as the repetition asks for."""
        least, most = REPEATS.get(token[0], (0, None))
        if token["least"]:
            least = int(token["least"])
            most = least if token["range"] is None else int(token["most"]) if token["most"] else None
        if group.last_item is None:
            self._fail(f"{token[0]} repeats nothing")
        alternative = group.alternatives[-1]
        item = alternative[group.last_item :]
        if most is not None and most < least:
            self._fail(f"{token[0]} asks for at most {most} and at least {least}")
        self._symbols += max(least, most or 0) * len(item)
        if self._symbols > MAX_SYMBOLS:
            self._fail(f"{token[0]} makes more than {MAX_SYMBOLS} symbols")
        one = item[0] if len(item) == 1 else self._add([item])
        alternative[group.last_item :] = [one] * least
        if most is None:
            more = self._add([[]])
            self._rules[more] = [[one, more], []]
            alternative.append(more)
        elif most > least:
            rest = self._add([[one], []])
            for _ in range(most - least - 1):
                rest = self._add([[one, rest], []])
            alternative.append(rest)

    def _characters(self, text: str) -> list[int]:
        points, place = [], 0
        while place < len(text):
            match = CHARACTER.match(text, place)
            if match is None:
                self._fail(f"unknown escape {text[place : place + 10]!r}")
            short, medium, long, named, escaped, plain = match.groups()
            digits = short or medium or long
            points.append(int(digits, 16) if digits else NAMED.get(named) or ord(escaped or plain))
            if len(points) > MAX_SYMBOLS:
                self._fail(f"more than {MAX_SYMBOLS} symbols in one item")
            if points[-1] > LAST_CHARACTER:
                self._fail(f"{match[0]} is no character")
            place = match.end()
        return points

    def _class(self, text: str) -> Ranges:
        """`a-z` makes a range unless the hyphen is escaped, first or last."""
        rest = text.removeprefix("^")
        points = self._characters(rest)
        plain_hyphen = [parts[-1] == "-" for parts in CHARACTER.findall(rest)]
        ranges, index = [], 0
        while index < len(points):
            is_range = index + 2 < len(points) and plain_hyphen[index + 1]
            last = index + 2 if is_range else index
            if points[last] < points[index]:
                self._fail(f"a range in [{text[:20]}] ends before it starts")
            ranges.append((points[index], points[last]))
            index = last + 1
        return _merged(ranges) if rest == text else _complement(ranges)

    def _checked(self) -> Grammar:
        rules: list[list[list[Symbol]]] = []
        for rule, alternatives in enumerate(self._rules):
            if alternatives is None:
                name = next(name for name, number in self._names.items() if number == rule)
                raise InvalidRequest(f"{self._field}: rule {name[:40]} is not defined")
            rules.append(alternatives)
        circle = left_recursive(rules)
        if circle is not None:
            names = {number: name for name, number in self._names.items()}
            where = f"rule {names[circle][:40]}" if circle in names else "a repetition"
            raise InvalidRequest(f"{self._field}: {where} starts with itself (left recursion)")
        code: list[Symbol | None] = []
        starts: list[list[int]] = []
        for alternatives in rules:
            starts.append([])
            for alternative in alternatives:
                starts[-1].append(len(code))
                code += [*alternative, None]
        return Grammar(tuple(code), tuple(map(tuple, starts)))


def _complement(ranges: list[tuple[int, int]]) -> Ranges:
    """The characters that are in none of the ranges."""
    gaps, start = [], 0
    for first, last in sorted(ranges):
        if first > start:
            gaps.append((start, first - 1))
        start = max(start, last + 1)
    return (*gaps, (start, LAST_CHARACTER)) if start <= LAST_CHARACTER else tuple(gaps)


def _merged(ranges: list[tuple[int, int]]) -> Ranges:
    """The same characters, in order and once each."""
    return _complement(list(_complement(ranges)))
