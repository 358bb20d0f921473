"""What can go wrong in a replay, and the exit code that each kind ends a command with.

ReplayError
├── SettingsError      2  a flag, a spec string or a setting that cannot be right
├── NotComparable      2  a run continued on something else than it was started on
├── NothingToRun       5  an empty selection
├── ServiceError       4  the service refused or failed one request; the run goes on
│   └── ServiceTimeout 4  it did not answer in time
├── ServiceDown        4  the service is gone; the run stops and can be continued
└── JudgeUnfit         4  a claim judge that may not judge; none of its verdicts is written
"""

from typing import ClassVar


class ReplayError(Exception):
    """Base of the package's errors; the message is one line: what, where, what to do."""

    exit_code: ClassVar[int] = 2


class SettingsError(ReplayError):
    """A flag, a spec string or a setting that cannot be right."""


class NotComparable(ReplayError):
    """A run would be continued on another engine, model or setting than it was started on."""


class NothingToRun(ReplayError):
    """The selection holds no unit."""

    exit_code = 5


class ServiceError(ReplayError):
    """A request that the service refused or failed; `retryable` where a later try may succeed."""

    exit_code = 4

    def __init__(self, message: str, *, retryable: bool = False, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class ServiceTimeout(ServiceError):
    """The service did not answer in time."""


class ServiceDown(ReplayError):
    """The service cannot be started or has gone away."""

    exit_code = 4


class JudgeUnfit(ReplayError):
    """The claim judge is the model under test, fails its calibration, or has changed since."""

    exit_code = 4
