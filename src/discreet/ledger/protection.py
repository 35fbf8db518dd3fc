"""The privacy unit of each table, on record: losses about different units do not add up.

A data set's tables are on record by a line each (see `catalogue.schema.Table.whose`): "unit patient_id", "unit order_id
-> orders.id", "public", or "every row is a unit". Contribution bounds, values and budgets are not part of the record:
they change how much is released about one unit, not what the unit is.

Promise  every charge on a data set is about the units on record when it was made, and the record changes by an
         amendment of the owner only.
Because  a declaration that differs is refused, before anything is charged; and the ledger asks each mechanism under
         which units it reads rows, when it is charged and again when the history is verified.

No amendment is needed for the first declaration (trust on first use; a ledger of format 1 had none, and gets one at its
first opening, unless earlier charges contradict it), nor for a new table, as no charge reads it. A new table whose
every row is a unit, where other tables name one, needs the amendment: it looks just like a table that was renamed while
its unit was forgotten. A table that a catalogue leaves out stays on record, so it cannot come back under another unit.

Not detected: the same rows under a second table name, or in a second data set, with another unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.core.mechanism import ROWS, Mechanism
from discreet.errors import LedgerCorrupt, NotAllowed
from discreet.ledger.balances import State
from discreet.ledger.facts import Protects

__all__ = ["admit", "declared", "verify"]

AMEND = "if it is meant, amend the record: discreet ledger CATALOGUE --amend-units, or ledger.amend(protects=…)"


def declared(
    state: State, name: str, said: Mapping[str, str] | None, charged: Iterable[tuple[int, Mechanism]] | None
) -> list[Protects]:
    """Return what a declaration adds to the record of units; refuse one that contradicts it.

    `charged` are the mechanisms in the history of this data set, by entry; None for the owner's amendment, which
    stands.
    """
    if not said:
        return []
    known = state.protects.get(name)
    if charged is not None and known is not None:
        _compare(name, known, said)
    elif charged is not None:
        _recall(charged, said)
    whole = {**(known or {}), **said}
    return [] if whole == known else [Protects(dataset=name, tables=tuple(whole), whose=tuple(whole.values()))]


def _compare(name: str, known: Mapping[str, str], said: Mapping[str, str]) -> None:
    for table, whose in said.items():
        before = known.get(table)
        if before is not None and before != whose:
            raise NotAllowed(
                f"on record for the table {table} of {name} is: {before}; this says: {whose}. Losses about different"
                " units cannot be added up.",
                code="other-unit",
                instead=f"declare it as on record; {AMEND}",
            )
        if before is None and whose == ROWS and any(each.startswith("unit ") for each in known.values()):
            raise NotAllowed(
                f"the table {table} is new, and {whose} of it, where other tables of {name} name a unit.",
                code="other-unit",
                instead=f"declare its unit, or public = true; {AMEND}",
            )


def _recall(charged: Iterable[tuple[int, Mechanism]], said: Mapping[str, str]) -> None:
    """Refuse a first declaration that earlier charges contradict."""
    for seq, mechanism in charged:
        if (table := mechanism.misread_table(said)) is not None:
            raise NotAllowed(
                f"entry {seq} of the ledger was charged for rows of {table} under another unit than this says: "
                f"{said.get(table, 'no such table')}. Losses about different units cannot be added up.",
                code="other-unit",
                instead=f"declare the unit of then; {AMEND}",
            )


def admit(state: State, dataset: str, mechanism: Mechanism) -> None:
    """Refuse a mechanism that reads rows under another unit than the record says."""
    whose = state.protects.get(dataset)
    if whose is not None and (table := mechanism.misread_table(whose)) is not None:
        raise NotAllowed(
            f"on record for the table {table} of {dataset} is: {whose.get(table, 'no such table')}; this question is"
            " about other units.",
            code="other-unit",
            instead="open the data again, with the catalogue that is on record",
        )


def verify(state: State, seq: int, dataset: str, mechanism: Mechanism) -> None:
    """Raise LedgerCorrupt if a charge is about other units than those on record at its time."""
    kind, whose = state.datasets[dataset], state.protects.get(dataset)
    if (mechanism.neighbours, mechanism.unit) != (kind.neighbours, kind.unit):
        raise LedgerCorrupt(f"entry {seq} is a charge for another unit, or other neighbours, than those on record.")
    if whose is not None and (table := mechanism.misread_table(whose)) is not None:
        raise LedgerCorrupt(f"entry {seq} is a charge for rows of {table} by another unit than the one on record.")
