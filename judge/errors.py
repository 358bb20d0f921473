"""What can go wrong in judging, as one small tree.

JudgeError
├── PolicyError       a gate policy that cannot be used: file and key named
├── BaselineError     a baseline that cannot be written, read, or used with this version
├── IncomparableRuns  runs that are not measurements of the same thing
├── FactError         a fact that cannot be looked for in a text: its value and why
└── Unanswered        a model did not answer a question as it was asked to; what rests on it is unscored
"""


class JudgeError(Exception):
    """Units, attempts and run do not fit together, so nothing can be said about them."""


class PolicyError(JudgeError):
    """A gate policy is missing, malformed, or asks for what the run does not have."""


class BaselineError(JudgeError):
    """A baseline that cannot be written, read, or used with this version."""


class IncomparableRuns(JudgeError):
    """Runs that differ in something by which runs are compared."""


class FactError(JudgeError):
    """A fact, or what it is made of, that cannot be looked for in this text or in any."""


class Unanswered(JudgeError):
    """A model was asked a bounded number of times and never answered as it was asked to."""
