"""Rejections: what is said of a plan that the kernel cannot follow."""

from __future__ import annotations

import logging

from discreet.errors import NotAllowed

__all__ = ["OWNER", "Rejected"]

OWNER = logging.getLogger("discreet.kernel")  # for the owner of the data; nothing is shown unless the owner listens
OWNER.addHandler(logging.NullHandler())


class Rejected(NotAllowed):
    """A plan that the kernel cannot follow: a defect of whatever made it. It costs nothing.

    Analysts are shown one sentence, the same for every rule, and a reference to the plan. `rule` is what failed, which
    the owner finds under the reference in the log `discreet.kernel`.
    """

    def __init__(self, rule: str, *, reference: str = "") -> None:
        self.rule, self.reference = rule, reference
        NotAllowed.__init__(
            self,
            "discreet could not verify that this answer would protect everybody.",
            code="plan-rejected",
            instead="write the question another way; this is a defect of discreet, please report it"
            + (f": {reference}" if reference else ""),
        )

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _again, (self.rule, self.reference)


def _again(rule: str, reference: str) -> Rejected:
    return Rejected(rule, reference=reference)
