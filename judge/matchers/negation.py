"""Whether a text denies a value.

Invariant: a denial reaches the value only within its clause, and two denials cancel. Words that look like
denials and are none (`not only`, `no doubt`, `no later than`) do not count.
"""

import re

from judge.matchers.quotation import unmarked
from judge.matchers.words import forms, listed, one_of

# What denies the few words after it, and what denies the rest of its clause.
_NEAR = one_of(
    "no without lack(?:s|ed|ing)?(?:_of)? absence_of free_of far_from anything_but nowhere_near hardly",
    "scarcely rarely seldom unlikely (?:decid|vot|advis|argu)(?:e|es|ed|ing|s)?_against",
)
_BARE = "isnt arent wasnt werent dont doesnt didnt wont cant couldnt shouldnt wouldnt hasnt havent hadnt"
_WIDE = one_of(
    "no_longer not never cannot nor neither none nobody no[_-]one nothing by_no_means in_no_way",
    "at_no_(?:point|time) under_no_circumstances unable_to fail(?:s|ed|ing)?_to refus(?:es?|ed|ing)_to",
    "(?:ceas|stopp)(?:es?|ed|ing)(?:_to|_being)? den(?:y|ies|ied|ying)",
    "no_(?:evidence|signs?|indication|guarantee|proof|chance|hope|way|plans?|intention|part)",
    "(?:false|untrue|wrong|incorrect|a_myth)_that doubt(?:s|ed|ing|ful)?",
    _BARE,
)
_CUE = re.compile(rf"(?<![\w-])(?:(?P<wide>{_WIDE})|(?P<near>{_NEAR}))(?![\w-])|n't(?!\w)")
_NEAR_REACH, _WIDE_REACH = 3, 6  # words
_NO_CUE = re.compile(
    r"(?:not|n't) (?:only|just|merely|simply|solely|least|to mention)\b|never mind\b|no\. ?(?=\d|$)"
    r"|no (?:doubt|question|wonder|matter|changes?|impact|effects?|less|secret|surprise|coincidence"
    r"|objections?|complaints?)\b|(?:not|n't|cannot) wait\b|(?<!\w )not \w+ly, "
    r"|not an? (?:problem|issue|secret|surprise|coincidence|mistake|accident|concern)\b|(?<=\bin )no time\b"
    r"|without (?:an? |any )?(?:doubt|question|fail|exception)\b"
    r"|(?<=no )doubt|(?<=any )doubt|(?<=a )doubt|(?<=hout )doubt|(?<=yond )doubt|(?<=little )doubt"
)
_CLAUSE_WORDS = one_of(
    "but however although though whereas while because since unless until till before after when if than",
    "except who which whose where whom instead as_(?:it|he|she|we|you|they|i|there)",
)
_CLAUSE_END = re.compile(rf"[;:!?()\[\]|]|\.\s| -+ |--|\b{_CLAUSE_WORDS}\b")
# `that was not VALUE and is ...`: a clause about another thing ends with the verb of the one it is in.
_AUXILIARY = "(?:is|are|was|were|has|have|had|does|do|did|can|could|will|would|must|should)"
_RELATIVE = re.compile(rf"\b(?:that|which|who) {_AUXILIARY}(?:n't| not)$")
_VERB = re.compile(r" (?:is|are|was|were|has|have|had|will|would|can|must|should|stays?|remains?) ")
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_COMMA_ASIDE = re.compile(r",[^,]*,")
_VERB_AFTER_ASIDE = re.compile(rf"[^,]+,[^,]*, {_AUXILIARY} ")
# `did not move from VALUE` and `does not affect the VALUE users` leave the value as it is.
_LEFT_ALONE = re.compile(
    r"\b(?:(?:chang|mov|alter|affect|shift|differ|modif|touch|replac|remov|drop|delet|updat|deviat)\w*"
    r"|budg(?:es?|ed|ing))\b(?!.*\b(?:to|into|by|with)\b)"
)
# `not exceed VALUE` and `not above VALUE` speak of a limit.
_LIMITED = re.compile(
    r"\b(?:exceed|surpass)\w* |(?:^|\b(?:go|goes|going|get|be|fall|drop|rise|climb|grow|run|take|last)) "
    r"(?:above|below|over|under|beyond|past) "
)
# `nobody knew that VALUE` holds that it is so.
_KNOWN = re.compile(
    r"\b(?:surpris|aware|know|knew|reali[sz]|forg[eo]t|ignor|regret|care|mind|notic|mention|disput|contest|question)"
    r"\w* that\b"
)
# `the not A of the not VALUE` denies both, each by its own word.
_DENIED_APART = re.compile(
    r"\b(?:of|for|in|at|on|by|with|from|and|(?:is|are|was|were) (?:now )?(?=an? |the )) ?"
    r"(?:(?:an?|the) (?:\w+ )?)?(?:not|no longer) $"
)
# `not possible to use VALUE` and `not compatible with VALUE` speak of the value and deny something else.
_OF_ANOTHER = re.compile(
    r"\b(?:possible|able|allowed|necessary|required|recommended|advisable|safe|needed|enough|easy|wise|have|need|want"
    r"|try|meant|intended) to (?!be\b|stay\b|remain\b|become\b|have\b|include\b)"
    r"|\b(?:(?!com(?:es?|ing)\b|ship|agree|start|begin|end)[a-z]{4,} with"
    r"|(?:support|accept|us|affect|recommend|provid|requir|caus|trigger)\w* by) "
    r"(?:(?:the|an?|its|our|your|any|older|newer|other) )*$"
)
_ENDS = (_CLAUSE_END, _LEFT_ALONE, _LIMITED, _KNOWN, _OF_ANOTHER, _DENIED_APART)
# A word in quotes or code is a name: Use `none` to ignore it.
_NAMED = re.compile(r"`[^`]*`|\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)")
_BEING = re.compile(r"\b(?:is|are|was|were|am|be|been|being)$|'(?:s|re|m)$")
_LEADING = re.compile(r"(?:(?:the|an?|its|our|their|any|in|on|at|by|with|for|to|of) )*")
_OF_A_CLAUSE = re.compile(
    r"\b(?:it|he|she|they|we|i|you|this|that|there|is|are|was|were|will|would|has|have|had|does|do|did|can|must)\b|'"
)
_ADVERBS = re.compile(r"(?: \w+ly,?)+ ")
_LINK = re.compile(r"(?:.* )?(or|nor|and) ")
_LIST_GOES_ON = re.compile(r"(?:,[^,;:.()]{1,40})*,? (?:or|nor|and) ")
_NO_LONGER = one_of(
    "an?_option the our its their in_(?:charge|use|effect|force) responsible valid current available",
    "required true part",
    "(?:own|lead|need|support|accept|includ|offer|work)\\w* us(?:ed|es|ing|e) appl\\w+ holds? exists? runs?",
)
_DENIED_AFTER = re.compile(
    r"-free\b|\s*[:?|=-]\s*(?:no|false|not yet|❌|✗|✘)\s*(?:[.|,;)!]|$)"
    r"(?!(?:.*\|)?\s*(?:yes|true|[✓✔✅x])\s*\|)"  # of the columns of a table another is affirmed
    r"| (?:(?:is|was|are|were)(?: not|n't)|isnt|arent|wasnt|werent) (?:the|our|its|their|his|her|who|what"
    r"|when|where|(?:an )?option|valid|correct|right|true|possible)\b(?! only)"
    rf"| (?:(?:is|are|was|were|will|has|now) )*no longer {_NO_LONGER}\b"
    r"| (?:(?:is|was|are|were) never (?:the|our|its|their)\b"
    r"|(?:(?:will|does|did)(?: not|n't)|won't|wont|doesnt|didnt|never) (?:own|lead|host|chair|head|appl)\w*"
    r"|(?:is|are|was|were|(?:has|have|had) been) (?:ruled out|rejected|off the table)\b)"
)
# Nothing is denied without one of these words before it or after it, or one of these signs near it.
WORDS_AFTER = frozenset(
    listed("no not never free false isnt arent wasnt werent wont doesnt didnt ruled rejected off")
)
WORDS_BEFORE = forms("lack fail refus ceas stopp den doubt") | frozenset(
    listed(
        "no not nor non none nobody nothing nowhere never neither cannot without absence free far anything",
        "against doubtful untrue wrong incorrect myth",
        f"hardly scarcely rarely seldom unlikely unable false {_BARE}",
    )
)
SIGNS = ("n't", "❌", "✗", "✘")


def is_negated(before: str, after: str) -> bool:
    """Whether a value is denied, given what its sentence says before and after it."""
    named = any(mark in before for mark in "`\"'")
    before, after = unmarked(_NAMED.sub("x", before) if named else before), unmarked(after)
    if before.endswith("non-") or _DENIED_AFTER.match(after):
        return True
    denials = 0
    for cue in reversed(list(_CUE.finditer(before))):
        if not _NO_CUE.match(before, cue.start()) and _reaches(cue, before, after):
            denials += 1
            if cue[0] == "nor":
                break
    return denials % 2 == 1


def _reaches(cue: re.Match[str], before: str, after: str) -> bool:
    """Whether what the cue denies goes on to the end of `before`."""
    between = _ASIDE.sub("", before[cue.end() :])
    if (between.startswith(",") and cue[0] != "no") or _VERB_AFTER_ASIDE.match(between):
        between = _COMMA_ASIDE.sub("", between, count=1)
    if len(between.split()) > (_NEAR_REACH if cue["near"] else _WIDE_REACH):
        return False
    if any(pattern.search(between) for pattern in _ENDS):
        return False
    if _RELATIVE.search(before, 0, cue.end()) and _VERB.search(between):
        return False
    if "," in between:
        return _ADVERBS.fullmatch(between) is not None or _is_list(between, after)
    if " and " in between:
        coordinated = cue[0] not in ("no", "no longer") and not _BEING.search(before[: cue.start()].rstrip())
        return coordinated and _LEADING.fullmatch(between.rpartition(" and ")[2]) is not None
    return True


def _is_list(between: str, after: str) -> bool:
    """Whether the commas before the value part the items of one list: does not include A, B or VALUE."""
    *items, last = between.split(",")
    if any(len(item.split()) > 4 or _OF_A_CLAUSE.search(item) for item in [*items, last]):
        return False
    if link := _LINK.match(f" {last.lstrip()}"):
        named = sum(bool(item.strip()) for item in items) + (link.start(1) > 1)
        return link[1] != "and" or named > 1
    goes_on = _LIST_GOES_ON.match(after)
    return goes_on is not None and not _OF_A_CLAUSE.search(goes_on[0])
