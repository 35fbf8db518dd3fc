"""Two different values are never one unit: each is read as itself, or as nobody, or its type is refused at opening."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import discreet as dp
from discreet.curator.opening import one_table
from discreet.engines.sql.expressions import unit_value
from support.campaign.units import SOURCES, apart
from support.lineage import BUDGET


def units(name: str, folder: Path) -> tuple[int, int] | str | None:
    """Rows and people, or the refusal; None where a library cannot make such data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = SOURCES[name](folder)
        except BaseException as problem:  # polars panics
            if isinstance(problem, (KeyboardInterrupt, AssertionError)):
                raise
            return None
        try:
            catalogue, source = one_table(
                data, unit="id", columns={"v": (0, 9)}, rows_per_unit=1, groups_per_unit=1, neighbours="add-remove",
                budget=BUDGET, ledger=None, name="data", csv=None,
            )  # fmt: skip
        except dp.NotUnderstood as no:
            return str(no)
    stored = source.stored["data"]
    try:
        return apart(source.cursor(), unit_value(catalogue.tables[0].unit or "", stored))
    finally:
        source.connection.close()


@pytest.mark.parametrize("name", SOURCES)
def test_two_values_are_never_one_unit(name: str, tmp_path: Path) -> None:
    found = units(name, tmp_path)
    if isinstance(found, tuple):
        assert found[0] == found[1], f"{found[0] - found[1]} people are somebody else: {name}"


LOST = [  # something of them, or they have no one form
    *(f"parquet pages of {each}" for each in ("int8", "uint8", "int16", "uint16", "int96")),
    *(f"parquet pages of decimal({each}) in 32 bits" for each in ("1, 0", "2, 0", "4, 0", "4, 2")),
    *(f"{place} list of date64[ms]" for place in ("arrow", "parquet", "duckdb", "pandas of arrow")),
    *("arrow struct of float", "arrow map", "duckdb INTERVAL", "duckdb BIT", "duckdb VARIANT", "duckdb JSON"),
    *("pandas longdouble", "pandas complex128", "pandas period", "pandas interval", "pandas sparse"),
    *("polars Int128", "polars UInt128", "polars List(Time)", "polars Array(Time)", "polars Struct"),
]
KEPT = [
    *(f"parquet pages of {each}" for each in ("int32", "uint32", "int64", "uint64", "date32[day]", "timestamp[us]")),
    *("parquet pages of decimal(9, 2) in 32 bits", "parquet string", "parquet timestamp[ms]", "parquet time64[us]"),
    *("arrow date64[ms]", "arrow int8", "arrow decimal256(76, 20)", "arrow string view"),
    *("duckdb uint8", "duckdb HUGEINT", "duckdb decimal128(4, 0)", "duckdb VARCHAR COLLATE NOCASE"),
    *("pandas object", "pandas int64", "pandas timedelta64[ns]", "pandas category", "polars Object", "polars Enum"),
]


@pytest.mark.parametrize("name", LOST)
def test_a_type_that_loses_something_is_refused_as_a_unit(name: str, tmp_path: Path) -> None:
    found = units(name, tmp_path)
    assert isinstance(found, str)
    assert "`id`" in found
    assert "\n  " in found  # what to do


@pytest.mark.parametrize("name", KEPT)
def test_other_types_tell_people_apart(name: str, tmp_path: Path) -> None:
    found = units(name, tmp_path)
    assert isinstance(found, tuple)
    assert found[0] > 1
