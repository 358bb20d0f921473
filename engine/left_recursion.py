"""Whether a grammar's rule can come to itself before it took a character.

Invariant: time linear in the grammar, whatever it is, and no recursion of our own.
"""

from collections.abc import Iterator, Sequence

Rules = Sequence[Sequence[Sequence[object]]]
"""By rule its alternatives, each a sequence of rule numbers (int) and characters (anything else)."""


def left_recursive(rules: Rules) -> int | None:
    """A rule that can come to itself, with something to follow, before it took a character; if there is one.

    Coming to itself as the last thing in an alternative is harmless: nothing is left to remember.
    """
    empty = _nullable(rules)
    first: list[set[int]] = [set() for _ in rules]
    with_rest: list[tuple[int, int]] = []
    for rule, alternatives in enumerate(rules):
        for alternative in alternatives:
            for index, symbol in enumerate(alternative):
                if not isinstance(symbol, int):
                    break
                first[rule].add(symbol)
                if index + 1 < len(alternative):
                    with_rest.append((rule, symbol))
                if symbol not in empty:
                    break
    circles = _circles(first)
    return next((rule for rule, symbol in with_rest if circles[rule] == circles[symbol]), None)


def _nullable(rules: Rules) -> set[int]:
    """Rules that can match nothing at all."""
    empty: set[int] = set()
    waiting: dict[int, list[tuple[int, Sequence[object]]]] = {}
    todo = [(rule, alternative) for rule, alternatives in enumerate(rules) for alternative in alternatives]
    while todo:
        rule, alternative = todo.pop()
        missing = next((it for it in alternative if not isinstance(it, int) or it not in empty), None)
        if isinstance(missing, int):
            waiting.setdefault(missing, []).append((rule, alternative))
        elif missing is None and rule not in empty:
            empty.add(rule)
            todo += waiting.pop(rule, [])
    return empty


def _circles(edges: list[set[int]]) -> list[int]:
    """By node, a number that exactly those nodes share which can be reached from each other (Kosaraju)."""
    backwards: list[set[int]] = [set() for _ in edges]
    for node, targets in enumerate(edges):
        for target in targets:
            backwards[target].add(node)
    seen: set[int] = set()
    last_left_first = [node for start in range(len(edges)) for node in _left(start, edges, seen)][::-1]
    numbers, seen = [0] * len(edges), set()
    for start in last_left_first:
        for node in _left(start, backwards, seen):
            numbers[node] = start
    return numbers


def _left(start: int, edges: list[set[int]], seen: set[int]) -> Iterator[int]:
    """The nodes not seen before that a depth-first walk from `start` leaves, in that order."""
    path = [(start, iter(edges[start]))] if start not in seen else []
    seen.add(start)
    while path:
        node, targets = path[-1]
        target = next((it for it in targets if it not in seen), None)
        if target is None:
            path.pop()
            yield node
        else:
            seen.add(target)
            path.append((target, iter(edges[target])))
