"""The version of the data has a random name: nothing that an analyst gets is a function of rows but noisy numbers."""

from __future__ import annotations

import pandas as pd

import discreet as dp

COLUMNS = {"age": (0, 120), "sex": ["F", "M"]}
BUDGET = dp.Budget(epsilon=10, delta="1e-6")
PEOPLE = pd.DataFrame({"age": [30, 41, 58, 77], "sex": ["F", "M", "F", "M"]})


def test_a_guess_of_the_last_record_cannot_be_checked_by_the_version_on_a_receipt() -> None:
    """The finding: whoever knows all records but one opens the guess and compares versions, for ε = 1e-6."""
    told = dp.open(PEOPLE, columns=COLUMNS, budget=BUDGET).ask("SELECT COUNT(*) FROM data", epsilon="1e-6")
    guess = dp.open(PEOPLE.copy(), columns=COLUMNS, budget=BUDGET).ask("SELECT COUNT(*) FROM data", epsilon="1e-6")
    assert told.receipt.version != guess.receipt.version
