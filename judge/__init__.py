"""The judge's public door: facts, canaries, comparison with plain generation, gate."""

from judge.asking import Asker, Prompt, Reply
from judge.baseline import Baseline, baseline_of, compare_with_baseline
from judge.calibration import (
    Calibration,
    Case,
    CaseResult,
    calibrate,
    calibration_cases,
    calibration_version,
    canary_cases,
    first_failure,
)
from judge.canaries import CanaryCount, CanaryOutcome
from judge.claim_cache import ReplyCache
from judge.claim_questions import PROMPT_VERSION
from judge.claim_verdicts import (
    ClaimVerdicts,
    assess_claims,
    claim_findings,
    claim_note,
    is_claim_verdict,
    judge_claims,
)
from judge.comparability import Comparability, comparability, require_comparable
from judge.errors import BaselineError, IncomparableRuns, JudgeError, PolicyError
from judge.evaluate import JUDGE, JUDGE_VERSION, judge_attempts
from judge.evidence import ArmFacts, Assessment, PinnedLines, assess
from judge.fact_problems import FactProblem, check_facts
from judge.gate import Decision, Findings, GateVerdict, Measures, decide
from judge.intervals import Estimate
from judge.outcomes import AttemptKey, Attribution, Flip
from judge.policy import GatePolicy, Metric
from judge.power import Power, Seen, measure_power
from judge.significance import Ruling, SessionCounts, Weight, weigh

__all__ = [
    "JUDGE",
    "JUDGE_VERSION",
    "PROMPT_VERSION",
    "ArmFacts",
    "Asker",
    "Assessment",
    "AttemptKey",
    "Attribution",
    "Baseline",
    "BaselineError",
    "Calibration",
    "CanaryCount",
    "CanaryOutcome",
    "Case",
    "CaseResult",
    "ClaimVerdicts",
    "Comparability",
    "Decision",
    "Estimate",
    "FactProblem",
    "Findings",
    "Flip",
    "GatePolicy",
    "GateVerdict",
    "IncomparableRuns",
    "JudgeError",
    "Measures",
    "Metric",
    "PinnedLines",
    "PolicyError",
    "Power",
    "Prompt",
    "Reply",
    "ReplyCache",
    "Ruling",
    "Seen",
    "SessionCounts",
    "Weight",
    "assess",
    "assess_claims",
    "baseline_of",
    "calibrate",
    "calibration_cases",
    "calibration_version",
    "canary_cases",
    "check_facts",
    "claim_findings",
    "claim_note",
    "comparability",
    "compare_with_baseline",
    "decide",
    "first_failure",
    "is_claim_verdict",
    "judge_attempts",
    "judge_claims",
    "measure_power",
    "require_comparable",
    "weigh",
]
