"""The local model: everybody randomises before sending, so nobody has to be trusted with the answers.

>>> from discreet.local import RandomizedResponse
>>> survey = RandomizedResponse(epsilon=1)
>>> reports = survey.randomize([True] * 3000 + [False] * 7000)
>>> estimate = survey.estimate(reports)
>>> abs(estimate.value - 0.3) < 0.1, 0.018 < estimate.margin < 0.019
(True, True)
"""

from discreet.local.bit import RandomizedResponse
from discreet.local.channel import Table, keeps, table_epsilon, worst_ratio
from discreet.local.estimate import Estimate, Frequencies
from discreet.local.kary import KaryResponse
from discreet.local.randomizer import Categories, Randomizer, Tally

__all__ = [
    "Categories",
    "Estimate",
    "Frequencies",
    "KaryResponse",
    "RandomizedResponse",
    "Randomizer",
    "Table",
    "Tally",
    "keeps",
    "table_epsilon",
    "worst_ratio",
]
