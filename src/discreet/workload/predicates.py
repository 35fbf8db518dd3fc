"""Compile SQL conditions to the regions into which they divide the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from discreet.catalogue import declarations
from discreet.catalogue.schema import Catalogue, Table
from discreet.core.loss import Budget
from discreet.errors import NotAllowed, NotUnderstood
from discreet.plan.compile.compiler import compile
from discreet.plan.regions import MAX_REGIONS, Regions, regions
from discreet.sql.parser.parse import parse

__all__ = ["conditions"]


def conditions(texts: Sequence[str], columns: Mapping[str, Any]) -> Regions:
    """Return the regions of SQL conditions on columns that are declared as for `open`; refuse too many regions."""
    if isinstance(texts, str) or not texts or not all(isinstance(each, str) for each in texts):
        raise NotUnderstood(
            "conditions are a list of SQL texts.",
            code="wrong-argument",
            instead='["age < 30", "age >= 65 AND sex = \'F\'"]',
        )
    if not isinstance(columns, Mapping):
        raise NotUnderstood("columns are declared by name.", code="wrong-argument", instead='columns={"age": (0, 120)}')
    table = Table(name="rows", columns=tuple(declarations.column(name, said) for name, said in columns.items()))
    known = table.stored({each.name: _stored(each) for each in table.columns})
    catalogue = Catalogue(name="rows", budget=Budget(epsilon=1), tables=(known,), ledger=None)
    asked = [parse(f"SELECT COUNT(*) FROM rows WHERE {each}") for each in texts]
    drafts = [compile(each, catalogue) for each in asked]
    for text, select in zip(texts, asked, strict=True):
        more = select.having, select.qualify, select.limit, select.offset
        if select.keys or select.order or len(select.items) != 1 or any(each is not None for each in more):
            raise NotUnderstood(
                f"`{text}` is more than a condition.", code="wrong-argument", instead='for example "age < 30"'
            )
    found = regions([each.where for each in drafts])
    if found is None or not found.codes:
        raise NotAllowed(
            f"these conditions divide the rows into more than {MAX_REGIONS:,} regions, or none; or they are too many.",
            code="too-large",
            instead="for example \"age BETWEEN 20 AND 29 AND sex = 'F'\"; or fewer conditions at once",
        )
    return found


def _stored(column: Any) -> str:
    """Return the storage type that a declared column would have, as there are no data here."""
    first = (column.values or (None,))[0]
    if isinstance(first, bool):
        return "boolean"
    if isinstance(first, date) or column.kind in ("date", "timestamp"):
        return "timestamp" if isinstance(first, datetime) or column.kind == "timestamp" else "date"
    if isinstance(first, str) or (column.bounds is None and first is None):
        return "text"
    return "integer" if first is not None or column.step == 1 else "real"
