"""The judge's public door: facts, canaries, comparison with plain generation, gate."""

from judge.canaries import CanaryCount, CanaryOutcome
from judge.errors import JudgeError, PolicyError
from judge.evaluate import JUDGE, JUDGE_VERSION, judge_attempts
from judge.evidence import ArmFacts, Assessment, AttemptKey, Attribution, Flip, assess
from judge.gate import Decision, GatePolicy, GateVerdict, decide

__all__ = [
    "JUDGE",
    "JUDGE_VERSION",
    "ArmFacts",
    "Assessment",
    "AttemptKey",
    "Attribution",
    "CanaryCount",
    "CanaryOutcome",
    "Decision",
    "Flip",
    "GatePolicy",
    "GateVerdict",
    "JudgeError",
    "PolicyError",
    "assess",
    "decide",
    "judge_attempts",
]
