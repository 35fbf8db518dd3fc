"""What `test_batches.py` and others share."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import discreet as dp

COLUMNS = {"age": (0, 120), "sex": ["F", "M", "X"], "cost": (0, 500), "ill": [True, False]}


def people(rows: int = 3000) -> pa.Table:
    """With values outside what is declared, and without values."""
    generator = np.random.default_rng(3)
    ages = [None if each % 13 == 0 else int(each) for each in generator.integers(-5, 130, rows)]
    sexes = generator.choice(["F", "M", "X", "?", ""], rows).tolist()
    costs = [None if each < 5 else float(each) for each in generator.uniform(0, 40, rows)]
    costs[:3] = [float("inf"), 20.5, -1.0]
    ill = generator.choice([True, False, None], rows).tolist()
    return pa.table({"person": generator.integers(0, 900, rows), "age": ages, "sex": sexes, "cost": costs, "ill": ill})


def clinic(**said: Any) -> Any:
    budget = said.pop("budget", dp.Budget(epsilon=10**7, delta="1e-6"))
    return dp.open(said.pop("data", people()), columns=COLUMNS, budget=budget, **said)


def counted(conditions_: list[str]) -> list[str]:
    return [f"SELECT COUNT(*) AS n FROM data WHERE {each}" for each in conditions_]


def exact(condition: str) -> int:
    data = people()  # noqa: F841
    return int(duckdb.sql(f"SELECT COUNT(*) FROM data WHERE {condition}").fetchall()[0][0])


LETTERS = ["", "a", "a\0", "ab", "b", "B", "é", "\uffff", "\U0001f600", "\U0001f600a"]


NUMBERS = ["0", "-1", "2", "2.5", "20", "20.000000000000000001", "0.1", "0.10000000000000001", "40", "NULL", "9e30"]


DATES = [f"DATE '{each}'" for each in ("2024-01-31", "2024-02-29", "2025-01-01", "0001-01-01", "9999-12-31")]


MOMENTS = [*DATES, "TIMESTAMP '2024-01-31 12:00:00'", "TIMESTAMP '2024-02-29 00:00:00.000001'"]


def condition(generator: np.random.Generator, used: list[list[str]], depth: int = 2) -> str:
    """A random condition on some expressions of each kind: numbers, texts, moments, conditions."""

    def one(values: list[str]) -> str:
        return values[generator.integers(len(values))]

    def inner() -> str:
        return condition(generator, used, depth - 1)

    if depth and generator.random() < 0.5:
        return one([f"({inner()} AND {inner()})", f"({inner()} OR {inner()})", f"NOT ({inner()})",
                    f"({inner()}) IS {one(['TRUE', 'FALSE', 'NULL', 'NOT TRUE', 'NOT NULL'])}"])  # fmt: skip
    place = int(generator.integers(4))
    if place == 3:
        return one(used[3])
    of, known = one(used[place]), [NUMBERS, [f"'{each}'" for each in LETTERS if "\0" not in each], MOMENTS][place]
    large = of == "big" and generator.random() < 0.5
    low = str(2**53 + int(generator.integers(-1, 3))) if large else one(known)
    sign = one(["=", "<>", "<", "<=", ">", ">="])
    return one([f"{of} {sign} {low}", f"{low} {sign} {of}", f"{of} IN ({low}, {one(known)}, {one(known)})",
                f"{of} IS NOT NULL", f"{of} BETWEEN {low} AND {one(known)}"])  # fmt: skip


PREFIXES = [f"age < {n}" for n in range(10, 110, 10)]


def filters(conditions_: list[str], more: str = "") -> str:
    items = [f"COUNT(*) FILTER (WHERE {each}) AS c{n}" for n, each in enumerate(conditions_)]
    return f"SELECT {', '.join(items)}{more} FROM data"
