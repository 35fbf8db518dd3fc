"""What each function makes of its arguments: the kind of its value, its bounds and its domain, or a refusal.

A new function of SQL adds a rule to the file of its subject; how it is spelled is the engine's business.
"""

from __future__ import annotations

from discreet.plan.expressions.arithmetic import NUMERIC
from discreet.plan.expressions.conditions import CHOICES
from discreet.plan.expressions.dates import TIMES
from discreet.plan.expressions.rules import Rule
from discreet.plan.expressions.strings import TEXTS

__all__ = ["RULES"]

RULES: dict[str, Rule] = {**NUMERIC, **CHOICES, **TEXTS, **TIMES}
