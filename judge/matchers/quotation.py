"""Whether a text gives a value as the old one: quoted, compared with, or replaced.

Invariant: only words beside the value decide, in its own sentence, and only those that leave no other
reading; everything else states a value as it is now.
"""

import re

from judge.matchers.numerals import numerals
from judge.matchers.words import forms, listed, one_of

_WORD = r"[^\s,;:()]+ "
_STILL = rf"(?!and |but |now ){_WORD}"
# What is said of a change of anything, and what only of one of amounts and days.
_CHANGES = (
    r"(?:chang|mov|shift|switch|migrat|renam|upgrad|downgrad|convert|transition|relocat|transfer|reassign|swap)\w*"
    r"|t(?:ook|ak\w+) over|(?:hand|pass)\w* (?:it )?(?:over|on)"
)
_RISES = (
    r"(?:ris|grow|fall|increas|decreas|bump|postpon|reschedul|delay|updat|reduc|revis|adjust|rais|lower|cut|lift"
    r"|drop|push|extend|improv|declin|slip|jump|climb|shrink|widen|narrow)\w*"
    r"|rose|grew|fell|went|gone|brought|up|down"
)
_UP_TO_VALUE = rf"(?:(?!to |into |until |till |by |and ){_WORD}){{0,2}}$"
_CHANGED_FROM = re.compile(rf"\b(?:{_CHANGES}) (?:{_WORD}){{0,6}}?from {_UP_TO_VALUE}")
_RISEN_FROM = re.compile(
    rf"\b(?:{_CHANGES}|{_RISES}) (?:{_WORD}){{0,6}}?(?:[^\s,;:()]+, )?from {_UP_TO_VALUE}"
)
_ASIDE = re.compile(r", wh(?:ich|o)\b[^,]*,")
_KEPT = re.compile(
    r"(?:\b(?:not|never|cannot|refus\w* to|declin\w* to|without)|n't) (?:(?:be|been|being|have|ever|yet) )*$"
)
_CHANGED = re.compile(r"\b(?:chang|bump|upgrad|updat)\w* $")
_RENAMED = re.compile(r"\brenam\w* $")
_TO = re.compile(r" ?(?:to|into) ")
_MOVED = (
    "moved changed raised lowered increased reduced cut postponed rescheduled shifted bumped updated "
    "pushed brought delayed extended lifted dropped adjusted revised doubled halved"
)
_MOVED_TO = re.compile(
    r" (?:was |were |has been |have been |got |is )?(?:\w+ly )?"
    rf"{one_of(_MOVED)} (?:back |forward )?(?:to|until) "
)
_ARROW = re.compile(r"\s*(?:->|=>|→|➔|➜|⟶)\s*(?:[$€£¥-]|us\$)?")
_AMOUNT = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\b(?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december)\b"
)

# Words that may stand between `previously` and its value, and what a value is called.
_LINK = one_of(
    "the a an at on for in by to as about around only just set known called named owned led run planned",
    "scheduled due estimated priced budgeted expected listed fixed been be was were had stood it this",
    "took cost held hosted located based kept stored run ran done placed assigned measured",
)
_LINKS = rf"(?:{_LINK} ){{0,4}}"
_CALLED = one_of(
    "value price limit deadline date target figure number rate fee estimate default name version budget",
    "cost count total timeout threshold level score share salary goal plan schedule time day forecast",
    "setting port size length maximum minimum cap quota owner lead title address amount charge term period",
    "slot room venue location place site address host manager contact supplier vendor provider model",
)
_HABIT = one_of(
    "be cost own lead run have hold last take need require allow contain stand_at mean say read show",
    "host live start begin end open close sit",
)
_OLD_BEFORE = re.compile(
    r"(?:"
    rf"\b(?:previously|formerly|until (?:now|then|recently)),? {_LINKS}"
    r"|\b(?:originally|initially|at first|once) "
    rf"(?:planned|scheduled|set|due|estimated|expected|budgeted|priced|named|called) {_LINKS}"
    rf"|\b(?:until|till) (?:last )?\w+,? (?:{_WORD}){{0,3}}(?:was|were|had been) {_LINKS}"
    rf"|\b(?:old|former|previous|prior|earlier|original|initial|outdated) (?:{_WORD}){{0,2}}{_CALLED}"
    r"(?: (?:of|was|were|had been|named|said|gave|stated|listed|showed)|:| =|,)? "
    r"(?:(?:about|around|only|just|set|at|to|for|on) )*\(?"
    r"|\b(?:former|previous|ex)[ -][^\s,;:()]+,? "
    rf"|(?<!is )(?<!are )(?<!was )(?<!were )(?<!be )(?<!been )\bused to {_HABIT} (?:{_STILL}){{0,3}}"
    rf"|\bhad (?:been|stood at) (?:{_STILL}){{0,2}}"
    r"|\b(?:instead of|rather than|t(?:akes?|ook|aken|aking) the place of|in place of|in lieu of"
    r"|as opposed to) "
    rf"(?:{_STILL}){{0,4}}"
    r"|\b(?:replac(?:es?|ed|ing)|supersed(?:es?|ed|ing)|succeed(?:s|ed|ing)?) "
    rf"(?:(?!with |by |in |to |and |but ){_WORD}){{0,3}}"
    rf"|\b(?:compared (?:to|with)|last (?:year|month|week|quarter)'s|yesterday's) (?:{_STILL}){{0,3}}"
    r"|[(\[] ?(?:was|were|previously|formerly|before|old|prev\.?|ex|originally|earlier|(?:up |down )?from)\b"
    r"[^()\[\]]{0,20}"
    r"|(?:^|[\s(|])(?:old|before|previous(?:ly)?|formerly|prior|was)(?: value)? ?[:=] ?"
    r")$"
)
# Nothing of it is there without one of these.
_OLD_CUES = (
    *listed("previous former original initial at_first once old prior earlier outdated ex used_to had_"),
    *listed("instead rather until place_of lieu opposed replac supersed succeed compared last_ yesterday"),
    *listed("( [ before was"),
)
_OLD_AFTER = re.compile(
    r" (?:(?:previously|formerly)(?= ?(?:[.,;)]|$))"
    r"|\((?:old|previous(?:ly)?|former(?:ly)?|outdated|obsolete|before|earlier|originally)\)"
    r"|(?:was|were|is|are|(?:has|have|had) (?:(?:now|since|already) )?been|gets|got|being)(?: \w+ly| now)? "
    r"(?:(?:replaced|superseded|succeeded) (?:by|with)|renamed|now (?:called|named|known as))\b"
    r"|(?:has |have )?g(?:ave|iven|ives) way to\b)"
)
_PAST_BEFORE = re.compile(
    rf"\b(?:was|were|had|stood at|cost|took|lasted|needed|required|reached|than|vs\.?|versus|against)"
    rf" (?:{_WORD}){{0,3}}$"
)
# What only an amount or a day may follow: `the old 120 ms`, `last year it was 120 ms`.
_OLD_AMOUNT = re.compile(
    r"(?:\bthe (?:old|former)"
    r"|\b(?:from|than) (?:the|its|our|their|an?) (?:previous|original|earlier|initial)"
    rf"|\b(?:last (?:year|month|week|quarter|time)|in the past),? (?:{_WORD}){{0,3}}"
    rf"(?:was|were|took|cost|lasted|stood at)(?: at| about| around| only| just)?) $"
)
_PAST_AFTER = re.compile(
    r"[,;]? (?:previously|formerly|originally|in the past|last (?:year|month|week|quarter|time)"
    r"|a (?:year|month|week) (?:ago|earlier)|until \w+|(?:before|earlier)(?= ?(?:[.,;)]|$))"
    r"|(?:but |and |then )?(?:(?:it|they|this|that) )?(?:(?:is|are|has been) )?now )"
)
_MARKS = re.compile(r"[*_`\"]+")
_OLD_COLUMN = re.compile(r"\W*(?:old|before|previous|previously|was|former|formerly|until now)(?: \w+)?\W*")
# Nothing is old without one of these words before it or after it, or one of these signs near it.
WORDS_AFTER = forms("previous former original replac supersed succeed renam") | frozenset(
    listed("gave given gives old past last ago now until before earlier outdated obsolete", _MOVED)
)
WORDS_BEFORE = (
    WORDS_AFTER
    | forms("initial chang bump upgrad updat")
    | frozenset(
        listed("once from first used had instead rather place lieu opposed compared yesterday ex prev prior")
    )
)
SIGNS = ("(was", "[was", "(were", "was:", "was =", "->", "=>", "→", "➔", "➜", "⟶")


def is_old(before: str, value: str, after: str) -> bool:
    """Whether the value, between what its sentence says before and after it, is given as the old one."""
    before, after = unmarked(before), unmarked(after)
    if _OLD_AFTER.match(after) or (any(cue in before for cue in _OLD_CUES) and _OLD_BEFORE.search(before)):
        return True
    if "from " in before and _starts_from(_CHANGED_FROM, before):
        return True
    if _PAST_AFTER.match(after) and (before.endswith("(") or _PAST_BEFORE.search(before)):
        return True
    if "renam" in before and _RENAMED.search(before) and _TO.match(after):
        return True
    return _gives_way(before, after) and _is_amount(value)


def is_struck(text: str, start: int, end: int) -> bool:
    """Whether the range of the text is struck through."""
    line = text.rfind("\n", 0, start) + 1
    if text.count("~~", line, start) % 2 and "~~" in text[end:]:
        return True
    opened = max(text.rfind(tag, line, start) for tag in ("<s>", "<del>", "<strike>"))
    return opened >= 0 and text.find("</", opened, start) < 0 <= text.find("</", end)


def is_old_column(head: str) -> bool:
    """Whether what stands below this head of a table is old."""
    return _OLD_COLUMN.fullmatch(unmarked(head)) is not None


def moves(before: str) -> bool:
    """Whether what follows is where something moves from, so that `71 to 72` is no range."""
    return bool("from " in before and _RISEN_FROM.search(before)) or _CHANGED.search(before) is not None


def unmarked(text: str) -> str:
    """The text without marks of emphasis, code and quotation."""
    return _MARKS.sub("", text) if any(mark in text for mark in '*_`"') else text


def _starts_from(change: re.Pattern[str], before: str) -> bool:
    """Whether a change that is not denied starts from the value."""
    found = change.search(_ASIDE.sub("", before) if ", wh" in before else before)
    return found is not None and _KEPT.search(found.string, 0, found.start()) is None


def _gives_way(before: str, after: str) -> bool:
    """Whether an amount or day is where a change starts from."""
    if _MOVED_TO.match(after) or _OLD_AMOUNT.search(before):
        return True
    if "from " in before and _starts_from(_RISEN_FROM, before):
        return True
    if _TO.match(after) and _CHANGED.search(before):
        return True
    arrow = _ARROW.match(after)
    return arrow is not None and _is_amount(after[arrow.end() :][:12].split(" ")[0])


def _is_amount(value: str) -> bool:
    return _AMOUNT.search(value) is not None or next(numerals(value), None) is not None
