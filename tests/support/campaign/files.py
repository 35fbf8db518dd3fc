"""Every physical type that a file or a frame can hold, with extreme and malformed values in the rows of one person.

`TYPES` has for each type plain values and worse ones. `put` writes people somewhere; `pair` opens two databases, one of
which has a person more whose rows hold all that is worse.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from discreet.curator.opening import one_table
from support.campaign.worlds import EXTREMES, INF, NAN
from support.engines import curator_of
from support.lineage import BUDGET

PLAIN_PEOPLE = 12
MALFORMED = [
    b"\xff\xfe",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"ok\x80",
    b"\xc0\x80",
    b"",
    b"\x00",
    b"a",
    b"\xc3",
]
TEXTS = [
    "",
    "\0",
    "a\0b",
    "\u202e",
    "\U0010ffff",
    "e\u0301",
    "'",
    '"',
    "nan",
    "1e999",
    "x" * 70000,
    "\ufeff",
    "\n",
    " a",
    "A",
]
FLOATS = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e308, -1e308, 5e-324, 2.0**53, 2.0**63, 2.0**64]


@dataclass(frozen=True)
class Type:
    """A physical type: how it is stored, what plain people have, and what one person has."""

    plain: Callable[[], pa.Array]
    worst: Callable[[], pa.Array]
    kind: str  # number, text, moment, truth or other


def _whole(kind: pa.DataType) -> Type:
    info = np.iinfo(kind.to_pandas_dtype())
    worst = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, None]
    worst += [sign * each for each in EXTREMES for sign in (1, -1) if info.min <= sign * each <= info.max]
    return Type(lambda: pa.array([0, 1, 5, 9, None], kind), lambda: pa.array(worst, kind), "number")


def _viewed(kind: pa.DataType, plain: Sequence[Any], worst: Sequence[int | None], width: Any = None) -> Type:
    """A type that is stored as whole numbers, any of them."""
    width = width or pa.int64()
    return Type(lambda: pa.array(plain, width).view(kind), lambda: pa.array(worst, width).view(kind), "moment")


def _texts(kind: pa.DataType, raw: pa.DataType) -> Type:
    return Type(
        lambda: pa.array(["a", "b", "", None, "7"], kind),
        lambda: pa.array([*MALFORMED, *(each.encode() for each in TEXTS), None], raw).view(kind),
        "text",
    )


def _of(kind: pa.DataType, plain: Sequence[Any], worst: Sequence[Any], what: str = "other") -> Type:
    return Type(lambda: pa.array(plain, kind), lambda: pa.array(worst, kind), what)


W64 = [2**63 - 1, -(2**63), -(2**63) + 1, 0, -1, 2**62, -(2**62), 253402300800, -62135596801, 10**18, None]
W32 = [2**31 - 1, -(2**31), -(2**31) + 1, 0, -1, 2932897, -719163, 10**6, None]
DAYS = [19723, 19724, 19783, None]


def _stamps() -> dict[str, Type]:
    found = {}
    for unit, scale in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        for zone in (None, "UTC", "Asia/Kathmandu"):
            plain = [1704067200 * scale, 1706745600 * scale, None]
            found[f"timestamp {unit} {zone or ''}".strip()] = _viewed(pa.timestamp(unit, zone), plain, W64)
    return found


def _decimal(kind: pa.DataType, digits: int, scale: int) -> Type:
    most = Decimal("9" * (digits - scale) + "." + "9" * scale) if scale else Decimal("9" * digits)
    return _of(kind, [Decimal(0), Decimal(1), Decimal(5), None], [most, most.copy_negate(), Decimal(0), None], "number")


TYPES: dict[str, Type] = {
    **{str(each): _whole(each) for each in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(),
                                            pa.uint32(), pa.uint64())},
    "float32": _of(pa.float32(), [0.0, 1.5, 9.0, None], [*(x for x in FLOATS if abs(x) < 1e38), NAN, 3e38], "number"),
    "float64": _of(pa.float64(), [0.0, 1.5, 9.0, None], FLOATS, "number"),
    "float16": Type(lambda: pa.array([np.float16(1), np.float16(5), None], pa.float16()),
                    lambda: pa.array(list(map(np.float16, (NAN, INF, -INF, -0.0, 65504))), pa.float16()), "number"),
    "bool": _of(pa.bool_(), [True, False, None], [True, False, None], "truth"),
    "string": _texts(pa.string(), pa.binary()),
    "large string": _texts(pa.large_string(), pa.large_binary()),
    "binary": _of(pa.binary(), [b"a", b"b", None], [*MALFORMED, b"\\x00", b"x" * 70000, None]),
    "fixed binary": _of(pa.binary(4), [b"abcd", b"efgh", None], [b"\xff" * 4, b"\0" * 4, b"\xc3\x28ab", None]),
    "date32": _viewed(pa.date32(), DAYS, W32, pa.int32()),
    "date64": _viewed(pa.date64(), [1704067200000, 1706745600000, None], W64),
    "time32 s": _viewed(pa.time32("s"), [0, 3600, None], W32, pa.int32()),
    "time32 ms": _viewed(pa.time32("ms"), [0, 3600000, None], W32, pa.int32()),
    "time64 us": _viewed(pa.time64("us"), [0, 3600000000, None], W64),
    "time64 ns": _viewed(pa.time64("ns"), [0, 3600000000000, None], W64),
    "duration": _viewed(pa.duration("us"), [0, 1000000, None], W64),
    **_stamps(),
    "decimal 9": _decimal(pa.decimal128(9, 2), 9, 2),
    "decimal 18": _decimal(pa.decimal128(18, 0), 18, 0),
    "decimal 38": _decimal(pa.decimal128(38, 0), 38, 0),
    "decimal 38 38": _of(pa.decimal128(38, 38), [Decimal(0), None], [Decimal("0." + "9" * 38), None], "number"),
    "decimal 76": _decimal(pa.decimal256(76, 0), 76, 0),
    "decimal 76 20": _decimal(pa.decimal256(76, 20), 76, 20),
    "dictionary": Type(lambda: pa.array(["a", "b", None, "7"]).dictionary_encode(),
                       lambda: pa.array([*TEXTS, None]).dictionary_encode(), "text"),
    "list": _of(pa.list_(pa.int64()), [[1], [1, 2], None], [[], [None], [2**63 - 1] * 3000, None]),
    "list of texts": _of(pa.list_(pa.string()), [["a"], ["a", "b"], None], [[], [None, ""], ["\0"] * 100, None]),
    "struct": _of(pa.struct([("a", pa.int64()), ("b", pa.string())]), [{"a": 1, "b": "x"}, None],
                  [{"a": None, "b": None}, {"a": 2**63 - 1, "b": "\0"}, None]),
    "map": _of(pa.map_(pa.string(), pa.int64()), [[("a", 1)], None], [[], [("a", None)], [("", 2**63 - 1)], None]),
    "null": _of(pa.null(), [None], [None]),
}  # fmt: skip

# ── people ───────────────────────────────────────────────────────────────────────────────────────────────────────


def people(kind: Type, worst: bool, seed: int = 0) -> pa.Table:
    """Plain people with two rows each, and perhaps one more who holds all that is worse."""
    dice = random.Random(seed)
    plain, bad = kind.plain(), kind.worst()
    places = [n % len(plain) for n in range(2 * PLAIN_PEOPLE)]
    values = plain.take(pa.array(places))
    ids = [n // 2 for n in range(2 * PLAIN_PEOPLE)]
    if worst:
        dictionary = pa.types.is_dictionary(values.type)
        parts = [each.dictionary_decode() if dictionary else each for each in (values, bad)]
        values = pa.concat_arrays(parts)
        values = values.dictionary_encode() if dictionary else values
        ids += [99] * len(bad)
    table = pa.table(
        {"id": pa.array(ids, pa.int64()), "x": values, "g": pa.array(["x" if n % 3 else "y" for n in ids])}
    )
    order = list(range(len(ids)))
    dice.shuffle(order)
    return table.take(pa.array(order)) if not pa.types.is_nested(values.type) else table


def _parquet(table: pa.Table, folder: Path, **said: Any) -> Any:
    pq.write_table(table, folder / "data.parquet", **said)
    return folder / "data.parquet"


def _duckdb(table: pa.Table, folder: Path) -> Any:
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE data AS SELECT * FROM given")
    return folder / "data.duckdb"


PLACES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "parquet": _parquet,
    "parquet in parts": lambda table, folder: _parquet(
        table, folder, row_group_size=5, use_dictionary=False, write_statistics=False, data_page_version="2.0"),
    "parquet int96": lambda table, folder: _parquet(table, folder, use_deprecated_int96_timestamps=True),
    "arrow": lambda table, folder: table,
    "pandas": lambda table, folder: table.to_pandas(),
    "pandas of arrow": lambda table, folder: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table, folder: pl.from_arrow(table),
    "duckdb": _duckdb,
}  # fmt: skip

DECLARED: dict[str, list[Any]] = {
    "number": [{}, (0, 9), {"min": 0, "max": 9, "step": "0.5"}, str],
    "text": [{}, ["a", "b"], str, (0, 9)],
    "moment": [{}, ("2024-01-01", "2024-03-31"), dt.datetime, str],
    "truth": [{}, [True, False]],
    "other": [{}, str],
}
ASKED = [
    "SELECT COUNT(x), COUNT(*) FROM data", "SELECT COUNT(DISTINCT x) FROM data",
    "SELECT x, COUNT(*) FROM data GROUP BY x",
    "SELECT COUNT(*) FROM data WHERE x IS NULL", "SELECT COUNT(*) FROM data WHERE CAST(x AS TEXT) LIKE '%a%'",
    "SELECT g, COUNT(x) FROM data GROUP BY g", "SELECT COUNT(*) FROM data WHERE x = 'a' OR x > 'b'",
    "SELECT COUNT(*) FROM data WHERE x > 3", "SELECT COUNT(*) FROM data WHERE x = x AND x IN (1, 5)",
    "SELECT SUM(x), AVG(x) FROM data", "SELECT MEDIAN(x), MAX(x) FROM data", "SELECT VAR_SAMP(x) FROM data",
    "SELECT SUM(LEAST(GREATEST(x * 2 - 1, 0), 9)) FROM data", "SELECT COUNT(DISTINCT id) FROM data WHERE LENGTH(x) > 1",
    "SELECT UPPER(x) AS k, COUNT(*) FROM data GROUP BY k", "SELECT COUNT(*) FROM data WHERE CAST(x AS DOUBLE) > 0",
    "SELECT COUNT(*) FROM data WHERE x > DATE '2024-01-15'", "SELECT YEAR(x) AS y, COUNT(*) FROM data GROUP BY y",
    "SELECT DATE_TRUNC('month', x) AS m, COUNT(*) FROM data GROUP BY m",
    "SELECT COUNT(*) FROM data WHERE x + INTERVAL 1 MONTH > x",
    "SELECT COUNT(DISTINCT CAST(x AS DATE)) FROM data", "SELECT SUM(DATE_DIFF('day', x, DATE '2024-01-01')) FROM data",
    "SELECT COUNT(*) FROM data WHERE x",
    "SELECT COUNT(*) FILTER (WHERE x IS NULL), COUNT(*) FILTER (WHERE g = 'x') FROM data",
    "SELECT SUM(n) FROM (SELECT id, COUNT(DISTINCT x) AS n FROM data GROUP BY id)",
    "SELECT COUNT(m) FROM (SELECT id, MAX(x) AS m FROM data GROUP BY id)",
    "SELECT x || 'b' AS k, COUNT(*) FROM data GROUP BY k",
    "SELECT COUNT(*) FROM data a JOIN data b ON a.id = b.id AND a.x = b.x", "SELECT MODE(x) FROM data",
    "SELECT COUNT(DISTINCT REPLACE(x, 'a', 'b')) FROM data", "SELECT COUNT(DISTINCT x + 1) FROM data",
    "SELECT COUNT(*) FROM (SELECT id, x FROM data UNION ALL SELECT id, x FROM data)",
]  # fmt: skip


@contextmanager
def pair(name: str, place: str, declared: Any, neighbours: str, folder: Path) -> Iterator[list[dp.Curator | str]]:
    """Two curators, or what opening them said."""
    found: list[dp.Curator | str] = []
    with ExitStack() as stack:
        for n, worst in enumerate((True, False)):
            (own := folder / f"{n}").mkdir()
            try:
                data = PLACES[place](people(TYPES[name], worst), own)
            except BaseException as problem:  # polars panics
                if isinstance(problem, KeyboardInterrupt):
                    raise
                found.append("cannot be made")  # by whoever would bring it
                continue
            try:
                found.append(stack.enter_context(_opened(data, declared, neighbours)))
            except dp.Refusal as no:
                found.append(str(no))
            except duckdb.Error as problem:
                found.append(f"opening fails: {type(problem).__name__}")
        yield found


def _opened(data: Any, declared: Any, neighbours: Any) -> dp.Curator:
    """A curator as `dp.open` makes it, with its ledger in memory."""
    catalogue, source = one_table(
        data, unit="id", columns={"x": declared, "g": ["x", "y"]}, rows_per_unit=3, groups_per_unit=2,
        neighbours=neighbours, budget=BUDGET, ledger=None, name="data", csv=None,
    )  # fmt: skip
    ledger = dp.Ledger(None, dataset="data", budget=BUDGET, neighbours=neighbours, unit="person")
    return curator_of(catalogue, source, ledger)
