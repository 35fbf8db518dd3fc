"""What is known of the questions: why some are refused, and why some answers differ from plain DuckDB's.

A run that finds anything else fails (`questions.py --check`, and tests/curator/test_questions.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["DIFFERS", "REFUSED", "reason_of"]

Reasons = Mapping[str, Mapping[str, Iterable[int]]]

REFUSED: Reasons = {
    "They list people, or have a group for each of them": {
        "tpch": (10, 18),
        "tpcds": (1, 4, 11, 23, 30, 34, 46, 68, 73, 74, 78, 79, 81, 84, 93),
        "clickbench": (16, 17, 18, 19),
    },
    "They ask for rows of people as they are": {"clickbench": (24, 25, 26, 27)},
    "They ask for a person's number, or for the least text, which is one person's": {"clickbench": (4, 20, 22, 23, 29)},
    "They remove equal rows of different people (`UNION` below the aggregation); `UNION ALL` is answered": {
        "tpcds": (75,)
    },
    "They join people through rows about two of them: to whom a thing was shipped, or who brought it back": {
        "tpcds": (10, 35, 69, 91)
    },
    "They join rows of people with an answer, which is not built": {"tpcds": (8, 64)},
    "They read more than 32 tables": {"tpcds": (14,)},
    "More than 60,000 of the combinations of their keys can be, which is more than a plan lists; few items are fine": {
        "tpcds": (67,)
    },
}

NOBODY = "Sums and averages of nobody are numbers here, and NULL in DuckDB"

DIFFERS: Reasons = {
    NOBODY: {
        "tpch": (17,),
        "tpcds": (2, 5, 7, 12, 13, 18, 20, 26, 27, 40, 56, 59, 71, 77, 80, 94, 95, 98),
    },
    "Groups that nobody is in, which DuckDB does not have, count in averages and ranks over groups": {
        "tpcds": (47, 53, 57, 63, 65, 66, 89)
    },
    "Private keys that one person has alone are not among those that are counted and added up above": {
        "tpcds": (38, 51, 87)
    },
    "An order's lines are cut at random before they meet": {"tpch": (21,)},
}


def reason_of(reasons: Reasons, name: str, number: int) -> str:
    """Return the reason that is known for a question; nothing if there is none."""
    return next((reason for reason, sets in reasons.items() if number in sets.get(name, ())), "")
