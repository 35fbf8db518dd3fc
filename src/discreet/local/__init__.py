"""The local model: respondents randomise their values before sending them, so no collector has to be trusted.

>>> from discreet.local import RandomizedResponse
>>> survey = RandomizedResponse(epsilon=1)
>>> reports = survey.randomize([True] * 3000 + [False] * 7000)
>>> estimate = survey.estimate(reports)
>>> abs(estimate.value - 0.3) < 0.1, 0.018 < estimate.margin < 0.019
(True, True)
"""

from discreet.local.channel import Table, keeps, table_epsilon, worst_ratio
from discreet.local.collection.collector import Collector
from discreet.local.collection.memoization import Memoised
from discreet.local.collection.respondent import Answered, Respondent
from discreet.local.collection.shuffle import Shuffled
from discreet.local.domains.heavy_hitters import FrequentWords, HeavyHitters
from discreet.local.domains.location import GridLocation
from discreet.local.domains.mean import BoundedMean
from discreet.local.estimate import Estimate, Frequencies, Shares
from discreet.local.frequency.hadamard import HadamardResponse
from discreet.local.frequency.hashing import LocalHashing
from discreet.local.frequency.kary import KaryResponse
from discreet.local.frequency.randomized_response import RandomizedResponse
from discreet.local.frequency.recommend import Option, best, options
from discreet.local.frequency.subset import SubsetSelection
from discreet.local.frequency.unary import UnaryEncoding
from discreet.local.randomizer import Categories, Collected, Randomizer, Tally
from discreet.local.wire import Wire

__all__ = [
    "Answered",
    "BoundedMean",
    "Categories",
    "Collected",
    "Collector",
    "Estimate",
    "Frequencies",
    "FrequentWords",
    "GridLocation",
    "HadamardResponse",
    "HeavyHitters",
    "KaryResponse",
    "LocalHashing",
    "Memoised",
    "Option",
    "RandomizedResponse",
    "Randomizer",
    "Respondent",
    "Shares",
    "Shuffled",
    "SubsetSelection",
    "Table",
    "Tally",
    "UnaryEncoding",
    "Wire",
    "best",
    "keeps",
    "options",
    "table_epsilon",
    "worst_ratio",
]
