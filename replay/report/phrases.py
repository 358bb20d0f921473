"""What a run's figures mean, in sentences. Pure.

Invariant: a sentence claims no more than its figures do, and none needs the words of statistics to be read.
"""

from collections.abc import Mapping

from judge import GateVerdict
from replay.report.figures import count, percent
from replay.summary import FlipSummary, SessionSummary, Summary

TITLES: Mapping[GateVerdict, str] = {
    "pass": "Pass",
    "regression": "Regression",
    "inconclusive": "Inconclusive",
    "error": "Did not finish",
    "empty": "Nothing ran",
}

SIGNS: Mapping[GateVerdict, str] = {
    "pass": "✓",
    "regression": "✗",
    "inconclusive": "?",
    "error": "!",
    "empty": "–",
}


def meaning(summary: Summary) -> str:
    """What the verdict says, and what to do with it."""
    match summary.verdict:
        case "pass" if summary.regressions:
            return (
                f"{count(summary.regressions, 'fact check')} that plain generation passes both times came out"
                " wrong in an arm under test, which the policy allows. Have a look at the flips below."
            )
        case "pass":
            return (
                "Nothing that plain generation gets right was lost, and the run has the evidence to say so."
            )
        case "regression" if summary.regressions:
            return (
                f"{count(summary.regressions, 'fact check')} that plain generation passes both times came out"
                " wrong in an arm under test. Read the flips below before this goes out."
            )
        case "regression":
            return "The run breaks a rule of the gate's policy, though no fact was lost against the control."
        case "inconclusive":
            return (
                "Nothing is known to be wrong, but this run cannot show that all is right. What it lacks is"
                " listed here; it is not a pass."
            )
        case "error":
            return (
                "Some of what was planned is not there, so nothing is decided. What finished is kept; the run"
                " can be continued."
            )
        case "empty":
            return "No attempt was made, so there is nothing to judge."


def sessions_meaning(part: SessionSummary, units: int) -> str:
    """What an arm's sessions say about losing facts."""
    if units and part.identical_units == units:
        return f"Gave plain generation's very tokens in all {units} units: no fact can have been lost."
    if not part.sessions:
        return "No session could show a loss: plain generation gets no fact right in any of them."
    lost = (
        f"Lost a fact in {part.lost} of {count(part.sessions, 'session')}; in the long run that is"
        f" {percent(part.loss_rate_low)} to {percent(part.loss_rate_high)} of them."
    )
    return f"{lost} {_against_control(part)}".strip()


def _against_control(part: SessionSummary) -> str:
    if part.margin is None or part.excess_low is None or part.excess_high is None:
        return ""
    margin = f"{100 * part.margin:g} points more than the control"
    match part.ruling:
        case "within":
            return f"It loses less than {margin}, as the policy asks."
        case "beyond":
            return f"It loses more than {margin}, which the policy does not allow."
        case _:
            needed = (
                f"some {count(part.sessions_needed, 'more session')} would tell"
                if part.sessions_needed is not None
                else "no number of sessions that can be run would tell"
            )
            return f"Whether it loses less than {margin} cannot be told yet; at these rates {needed}."


def flip_meaning(flip: FlipSummary) -> str:
    """What a flip is, in a few words."""
    if flip.regression:
        return "Regression"
    if flip.before == "pass":
        return "Drift" if flip.arm != "control" else "Control differs"
    return "Gain"


def demand(flip: FlipSummary) -> str:
    """What the fact asks of the text, up to its values."""
    if not flip.values:
        return "asks for several things at once"
    return "must say" if flip.polarity == "expect" else "must not say"


def became(flip: FlipSummary) -> str:
    """What plain generation and the arm made of it, and where the difference is from."""
    words = {"pass": "right", "fail": "wrong"}
    source = {
        "held": "The difference was taken over from the stale answer.",
        "decoded": "The model wrote the difference itself.",
    }
    before, after = (words.get(outcome, outcome) for outcome in (flip.before, flip.after))
    return f"{before} in plain generation, {after} here. {source[flip.attribution]}"
