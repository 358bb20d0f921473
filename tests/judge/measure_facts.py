"""How many facts a second are checked on one core: run by hand, `python tests/judge/measure_facts.py`.

Every text is another one of 100 to 200 words (prose, a list, a table) with six facts: five texts and one of
another kind. Measured twice: as in judging, where the facts of a text follow each other and what was read of
it is kept, and with nothing kept between two checks. Of each text the quickest of five rounds counts, each
from the start, so that other work on the machine disturbs little.
"""

import gc
import random
import sys
import time
from collections.abc import Callable, Iterator

from bundles import Condition, Fact
from judge import normalize
from judge.facts import check_fact
from judge.matchers import date, layout, quantities, standing, words

TEXTS, ROUNDS = 400, 5
SENTENCES = (
    "{who} owns the launch, which is due on {day} {month} {year}.",
    "The budget rose from {n} to {m} euros, up {p}% on last year.",
    "“We aren’t late,” said {who}, “and the rollback drill isn’t at risk.”",
    "The latency of the new cache is {n} ms at the median and {m} ms at the tail.",
    "{who} will not attend the review on {weekday}, but {other} will.",
    "About {p} percent of the users have moved to version {v}, e.g. those in Zürich.",
    "Previously the limit was {n} requests; it is now {m}.",
    "The rollback drill takes place on {weekday} in room {p}, led by {other}.",
    "There is no plan to change the default port, and the old one stays reserved.",
    "Every night at two the server copies its backups to a second building, where they are kept for a while.",
    "The documentation explains how to install the package, how to write a suite and how to read a report.",
    "Please bring a towel, slippers and a bottle of water, and be at the boathouse before the others arrive.",
)
TABLE = (
    "\n\n| task | owner | due |\n|---|---|---|\n| rollback drill | {who} | {day} {month} |\n"
    "| review | {other} | {weekday} |\n"
)
LIST = (
    "\n\nNext steps:\n- {who}: rehearse the rollback drill\n- {other}: raise the limit to {m}\n"
    "- nobody: delete the backups\n"
)
NAMES = words.listed("Ava Bo Cem Dana Eli Fay Gus Hana Ivo Jun Kim Lea")
MONTHS = words.listed("January February April May June July August October November")
WEEKDAYS = words.listed("Monday Tuesday Wednesday Thursday Friday")


def make(rng: random.Random) -> tuple[str, list[Fact]]:
    who, other, third = rng.sample(NAMES, 3)
    n, m = rng.randint(100, 999), rng.randint(1000, 9999)
    day, month = rng.randint(1, 28), rng.choice(MONTHS)
    given = {
        "who": who,
        "other": other,
        "n": n,
        "m": rng.choice((f"{m}", f"{m:,}")),
        "p": rng.randint(2, 99),
        "v": f"{rng.randint(0, 9)}.{rng.randint(0, 99)}",
        "day": day,
        "month": month,
        "year": 2026,
        "weekday": rng.choice(WEEKDAYS),
    }
    sentences = rng.sample(SENTENCES, rng.randint(8, 10))
    text = " ".join([*sentences, rng.choice((TABLE, LIST, "", ""))]).format(**given)
    plain = [
        Fact("owner", "expect", (who,)),
        Fact("day", "expect", (f"{day} {month}", f"{month} {day}")),
        Fact("old owner", "forbid", (third,)),
        Fact("drill", "expect", ("rollback drill",)),
        Fact("old limit", "forbid", (str(n),), as_current=True),
        Fact("late", "forbid", ("late",)),
    ]
    others = [
        Fact("limit", "expect", (str(m),), matcher="number"),
        Fact("old limit", "forbid", (f"{n} ms",), matcher="number", as_current=True),
        Fact("due", "expect", (f"{month} {day}",), matcher="date"),
        Fact("who", "expect", (other, "rollback drill"), matcher="near"),
        Fact("version", "expect", (r"version \d+\.\d+",), matcher="pattern"),
        Fact("often", "expect", ("rollback drill",), matcher="count", at_least=1),
        Fact("both", "expect", (who,), matcher="all", of=(Condition("number", (str(m),)),)),
        Fact("either", "expect", (third, other), matcher="any"),
    ]
    return text, [*rng.sample(plain, 5), rng.choice(others)]


def caches() -> Iterator[Callable[[], None]]:
    """Forgets what was read of texts; what was read of a suite's values stays."""
    for module in (normalize, words, quantities, date, layout, standing):
        for name in ("normalize", "words_of", "quantities", "dates", "layout", "standing", "_marks", "_cues"):
            if name in vars(module) and vars(module)[name].__module__ == module.__name__:
                yield vars(module)[name].cache_clear


def seconds(sample: tuple[str, list[Fact]], forget: list[Callable[[], None]], each: bool) -> float:
    """For one round of a text's facts, from the start."""
    answer, facts = sample
    spent = 0.0
    for clear in forget:
        clear()
    for fact in facts:
        start = time.perf_counter()
        check_fact(fact, answer)
        spent += time.perf_counter() - start
        for clear in forget if each else ():
            clear()
    return spent


def main() -> None:
    rng = random.Random(1)
    samples = [make(rng) for _ in range(TEXTS)]
    checks = sum(len(facts) for _, facts in samples)
    sizes = [len(answer.split()) for answer, _ in samples]
    passed = sum(check_fact(fact, answer).outcome == "pass" for answer, facts in samples for fact in facts)
    print(f"{TEXTS} texts of {min(sizes)} to {max(sizes)} words, {checks} facts, {passed} pass, ", end="")
    print(f"Python {sys.version.split()[0]}")
    forget = list(caches())
    gc.disable()
    for label, each in (("as judged", False), ("nothing kept", True)):
        spent = sum(min(seconds(sample, forget, each) for _ in range(ROUNDS)) for sample in samples)
        print(f"{label}: {checks / spent:,.0f} checks a second")


if __name__ == "__main__":
    main()
