"""Verdicts: a certificate for a plan that the kernel could follow, a rejection for one that it could not."""

from __future__ import annotations

__all__ = ["Rejected"]


class Rejected(Exception):
    """A plan that the kernel cannot follow. It names the rule that failed, for the owner; analysts never see it."""
