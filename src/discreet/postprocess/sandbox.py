"""The sandbox: an empty database that computes what stands above the aggregation."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from discreet.core.fork import abandon
from discreet.core.values.kinds import Kind
from discreet.errors import NotAllowed, NotUnderstood
from discreet.postprocess.table import Given, Rows
from discreet.sql.spelling import quoted
from discreet.sql.types import STORED

if TYPE_CHECKING:
    import duckdb

KINDS = {"BIGINT": "integer", "HUGEINT": "integer", "INTEGER": "integer", "SMALLINT": "integer", "TINYINT": "integer",
         "UBIGINT": "integer", "DOUBLE": "real", "FLOAT": "real", "VARCHAR": "text", "BOOLEAN": "boolean",
         "DATE": "date", "TIMESTAMP": "timestamp"}  # fmt: skip

SECONDS, MEMORY = 60.0, "2GB"  # limits of what is computed from an answer

TRIAL_SECONDS, TRIAL_MEMORY = 5.0, "200MB"  # … and what is tried before anything is paid, on four rows

_own = threading.local()


# ── running ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _connection(memory: str) -> duckdb.DuckDBPyConnection:
    """Return an empty DuckDB of this thread's own. It computes in one thread, so that sums are the same every time."""
    if getattr(_own, "process", None) != os.getpid():  # a forked process opens its own
        for each in getattr(_own, "ducks", {}).values():
            abandon(each)
        _own.ducks, _own.process = {}, os.getpid()
    if memory not in _own.ducks:
        import duckdb  # noqa: PLC0415

        duck = duckdb.connect(":memory:")
        for setting in (
            "threads = 1",
            f"memory_limit = '{memory}'",
            # A trial has several rows where an answer may have one.
            f"scalar_subquery_error_on_multiple_rows = {str(memory != TRIAL_MEMORY).lower()}",
            "autoinstall_known_extensions = false",
            "autoload_known_extensions = false",
            "python_enable_replacements = false",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            duck.execute(f"SET {setting}")
        _own.ducks[memory] = duck
    return _own.ducks[memory]  # type: ignore[no-any-return]


def run(select: str, tables: Mapping[str, Sequence[Given]], *, trial: bool = False, most: int | None = None) -> Rows:
    """Run a SELECT over released numbers, in an empty database; refuse more than `most` rows."""
    import duckdb  # noqa: PLC0415

    written, values = list[str](), list[list[Any]]()
    for name, given in tables.items():
        columns = [f"unnest(${n}::{STORED[each.kind]}[]) AS {quoted(each.name)}"
                   for n, each in enumerate(given, start=len(values) + 1)]  # fmt: skip
        written.append(f"{quoted(name)} AS (SELECT {', '.join(columns)})")
        values += [each.values for each in given]
    connection = _connection(TRIAL_MEMORY if trial else MEMORY)
    clock = threading.Timer(TRIAL_SECONDS if trial else SECONDS, connection.interrupt)
    clock.daemon = True
    clock.start()
    try:
        done = connection.execute(f"WITH {', '.join(written)} {select}" if written else select, values)
        found = done.fetchall() if most is None else done.fetchmany(most + 1)
        heads = done.description
    except duckdb.Error:
        raise NotUnderstood(
            "what is asked of the answer cannot be computed.",
            code="not-answered",
            instead="compare and compute with numbers; docs/sql.md lists the SQL that works",
        ) from None
    finally:
        clock.cancel()
    return table_of(found, heads, most)


def table_of(found: Sequence[Any], heads: Sequence[Any], most: int | None) -> Rows:
    """Return the rows that DuckDB found as a table; refuse more than `most`, and values that answers do not have."""
    if most is not None and len(found) > most:
        raise NotAllowed(
            f"this answer has more than {most:,} rows.", code="too-large", instead="add a condition or LIMIT"
        )
    if any(str(each[1]) == "INTERVAL" for each in heads):
        raise NotUnderstood(
            "an interval is no column of an answer.",
            code="wrong-type",
            instead="write DATE_DIFF('day', first, last), or day + INTERVAL …",
        )
    names = tuple(str(each[0]) for each in heads)
    kinds: tuple[Any, ...] = tuple(KINDS.get(str(each[1]), "real") for each in heads)
    columns_out = list(zip(*found, strict=True)) if found else [()] * len(names)
    values = tuple([_value(each, kind) for each in column] for column, kind in zip(columns_out, kinds, strict=True))
    return Rows(names, kinds, values)


def _value(value: Any, kind: Kind) -> Any:
    """Return a value as Python has it; None for a date that Python does not have."""
    if value is None or (kind in ("date", "timestamp") and not isinstance(value, date)):
        return None
    return float(value) if kind == "real" else value
