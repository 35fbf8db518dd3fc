"""What each function makes of its arguments: the kind of its value, its bounds and its domain, or a refusal.

A new function of SQL adds a rule to the file of its subject; how it is spelled is the engine's business.
"""

from __future__ import annotations

from discreet.plan.choices import CHOICES
from discreet.plan.numeric import NUMERIC
from discreet.plan.rule import Rule
from discreet.plan.texts import TEXTS
from discreet.plan.times import TIMES

__all__ = ["RULES"]

RULES: dict[str, Rule] = {**NUMERIC, **CHOICES, **TEXTS, **TIMES}
