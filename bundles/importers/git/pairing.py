"""Which section of a revision was which of the revision before.

Invariant: a section is in one pair at most, and a pair is either of the same headings or stands at the same
place, between the same neighbours, with text in common.
"""

from collections import defaultdict
from collections.abc import Sequence

from rapidfuzz import fuzz

from bundles.importers.git.sections import Section

_LEAST_ALIKE = 60.0


def paired(old: Sequence[Section], new: Sequence[Section]) -> list[tuple[Section, Section]]:
    """Pairs of the old and the new state of a section, in the order of the new ones.

    Whoever is in no pair was added or removed.
    """
    before = {section.key: section for section in old}
    after = {section.key for section in new}
    renamed = _renamed(_unmatched(old, after), _unmatched(new, set(before)))
    pairs = []
    for section in new:
        earlier = before.get(section.key) or renamed.get(section.key)
        if earlier is not None:
            pairs.append((earlier, section))
    return pairs


_Groups = dict[tuple[str, ...] | None, list[Section]]


def _unmatched(sections: Sequence[Section], known: set[tuple[str, ...]]) -> _Groups:
    """Sections whose key is not known, by the known one that they follow."""
    groups: _Groups = defaultdict(list)
    neighbour = None
    for section in sections:
        if section.key in known:
            neighbour = section.key
        else:
            groups[neighbour].append(section)
    return groups


def _renamed(old: _Groups, new: _Groups) -> dict[tuple[str, ...], Section]:
    """The old state, by new key, of sections that only got other headings."""
    found = {}
    for neighbour, sections in new.items():
        earlier = old.get(neighbour, [])
        if len(earlier) == len(sections):
            for before, after in zip(earlier, sections, strict=True):
                if fuzz.ratio(before.text, after.text, score_cutoff=_LEAST_ALIKE):
                    found[after.key] = before
    return found
