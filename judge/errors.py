"""What can go wrong in judging, as one small tree.

JudgeError
└── PolicyError   a gate policy that cannot be used: file and key named
"""


class JudgeError(Exception):
    """Units, attempts and run do not fit together, so nothing can be said about them."""


class PolicyError(JudgeError):
    """A gate policy is missing, malformed, or asks for what the run does not have."""
