"""Many conditions at once: whichever of them one person's row meets, a batch is answered, within its reach."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

import discreet as dp
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.plan.plan import Plan
from support import hostile as h
from support.campaign.oracle import Found, looked, too_far
from support.lineage import curator, table

NUMBERS = [1, 2, 31, 32, 33, 50, 51, 63, 64, 65, 100, 101, 126, 127, 128, 129]
MORE = [150, 151, 200, 255, 256, 257, 300, 400]


def opened(rows: list[tuple[int, int]], unit: bool) -> dp.Curator:
    """A table of who and x; every row is a person where there is no unit."""
    frame = pa.table(
        {"who": pa.array([a for a, _ in rows], pa.int64()), "x": pa.array([b for _, b in rows], pa.int64())}
    )
    declared = (
        table("data", "who", rows_per_unit=1, columns={"x": (0, 1000)})
        if unit
        else table("data", columns={"x": (0, 1000)})
    )
    return curator(DuckDBSource(places={"data": '"data"'}, frames={"data": frame}), [declared])


def planned(curator: dp.Curator, many: int) -> list[Plan]:
    """The plans of so many counts, each of the rows of one value: of one question, or of as many as there are."""
    if many <= 90:
        return [
            h.plan_of(curator, f"SELECT {', '.join(f'COUNT(*) FILTER (WHERE x = {n})' for n in range(many))} FROM data")
        ]
    told = curator.explain_many([f"SELECT COUNT(*) FROM data WHERE x = {n}" for n in range(many)], epsilon=1)
    return list({each.plan.key: each.plan for each in told}.values())


def examine(many: int, *, unit: bool) -> Iterator[str]:
    """One row more, that meets one of the conditions: the first, the last, or one at the end of a word."""
    plain = [(n, n % 7) for n in range(20)]
    with opened(plain, unit) as without:
        plans = planned(without, many)
        yield from (type(plan.measures[0]).__name__ for plan in plans)
        ends = sorted({0, many - 1, max(many - 2, 0), *(each for each in (31, 50, 62, 63, 126, 127) if each < many)})
        plans = plans if len(plans) == 1 else [plans[0], plans[-1]]
        before = [looked(without, plan, 1) for plan in plans]
        with opened([*plain, *((100 + n, n) for n in range(many))], unit) as all_met:  # each of them is met by a row
            for plan in plans:
                looked(all_met, plan, 1)
        for at in ends:
            with opened([*plain, (99, at)], unit) as other:
                for plan, exact in zip(plans, before, strict=True):
                    far = too_far(plan, exact, looked(other, plan, 1))
                    if far is not None:
                        raise Found(f"{many} conditions, a row that meets number {at}: {far}")
