"""discreet: differentially private answers, which depend on no one person.

    >>> import discreet as dp
    >>> noise = dp.Laplace(epsilon=1, sensitivity=1)
    >>> noise.loss.epsilon(), noise.error.radius(confidence=0.95)
    (Fraction(1, 1), 3)

Every mechanism is read three ways: `.release(exact)`, `.loss` and `.error`.
"""

from typing import TYPE_CHECKING, Any

from discreet.core import record as _record
from discreet.core.loss import Budget, Loss
from discreet.core.mechanism import Mechanism, compose, parallel
from discreet.core.reach import Reach
from discreet.errors import Broken, BudgetExceeded, LedgerCorrupt, NotAllowed, NotUnderstood, NotYours, Refusal, Stopped
from discreet.ledger.ledger import Ledger
from discreet.mechanisms import sensitivity
from discreet.mechanisms.noise import Gaussian, Laplace, Noise
from discreet.mechanisms.quantiles.single import Quantile
from discreet.mechanisms.selection.selection import Exponential, NoisyMax, PermuteAndFlip
from discreet.mechanisms.threshold import GaussianThreshold, Threshold

if TYPE_CHECKING:
    from discreet.answers.answer import Answer
    from discreet.answers.explanation import Explanation
    from discreet.curator.curator import Curator, open

_record.lazy_module("discreet.plan.plan")  # a reader of a ledger must know the classes of recorded questions
_record.lazy_module("discreet.local")

__all__ = [
    "Answer",
    "Broken",
    "Budget",
    "BudgetExceeded",
    "Curator",
    "Explanation",
    "Exponential",
    "Gaussian",
    "GaussianThreshold",
    "Laplace",
    "Ledger",
    "LedgerCorrupt",
    "Loss",
    "Mechanism",
    "Noise",
    "NoisyMax",
    "NotAllowed",
    "NotUnderstood",
    "NotYours",
    "PermuteAndFlip",
    "Quantile",
    "Reach",
    "Refusal",
    "Stopped",
    "Threshold",
    "compose",
    "open",
    "parallel",
    "sensitivity",
]

__version__ = "0.2.0.dev0"


def __getattr__(name: str) -> Any:
    """Load the curator, with its database and parser, and the answers on first use."""
    if name in ("Curator", "open"):
        from discreet.curator import curator  # noqa: PLC0415

        return getattr(curator, name)
    if name == "Answer":
        from discreet.answers.answer import Answer  # noqa: PLC0415

        return Answer
    if name == "Explanation":
        from discreet.answers.explanation import Explanation  # noqa: PLC0415

        return Explanation
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")
