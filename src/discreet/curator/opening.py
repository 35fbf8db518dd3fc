"""Open data: make a catalogue, a data source and a ledger of what a user names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.catalogue import declarations
from discreet.catalogue.schema import Catalogue, Csv, Table
from discreet.core.loss import Budget
from discreet.core.reach import neighbourhood
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.files import FILES, open_path
from discreet.engines.duckdb.frames import open_frame
from discreet.engines.duckdb.index import IndexStore
from discreet.engines.duckdb.inspect import LINES as INSPECTED
from discreet.engines.duckdb.inspect import InspectedTable
from discreet.engines.duckdb.inspect import look as inspect
from discreet.engines.duckdb.review import CapReview, ColumnReview, TableReview
from discreet.engines.duckdb.review import review as review_of
from discreet.errors import NotUnderstood, Refusal
from discreet.ledger.ledger import Ledger
from discreet.plan.compile.compiler import compile
from discreet.plan.unit_index import IndexedTable, RowChoice
from discreet.sql.parser.parse import parse
from discreet.sql.spelling import quoted

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "INSPECTED",
    "CapReview",
    "ColumnReview",
    "InspectedTable",
    "TableReview",
    "engine_of",
    "frames_of",
    "indexed_tables",
    "inspect",
    "is_one_table",
    "ledger_of",
    "let_go",
    "one_table",
    "review_of",
    "source_of",
]

Progress = Callable[[int, int], None]


def source_of(catalogue: Catalogue, progress: Progress | None = None) -> DuckDBSource:
    """Open the data of a catalogue; `progress` is called with the bytes of a CSV file that are read, and with all."""
    if catalogue.source is None:
        raise NotUnderstood(
            "the catalogue names no source.", code="wrong-catalogue", instead='source = "clinic.duckdb"'
        )
    if "://" in catalogue.source:
        raise NotUnderstood(
            "data are read from files.",
            code="cannot-read",
            instead='source = "clinic.duckdb", or .parquet, .csv, a folder',
        )
    if not catalogue.tables:
        raise NotUnderstood("the catalogue declares no table.", code="wrong-catalogue", instead="[tables.visits]")
    return open_path(
        Path(catalogue.source),
        [each.name for each in catalogue.tables],
        progress,
        csv={each.name: each.csv_form(catalogue.identifying_columns[each.name]) for each in catalogue.tables},
        columns=catalogue.read,
        telling=catalogue.identifying_columns,
    )


@contextmanager
def let_go(source: DuckDBSource) -> Iterator[None]:
    """Close the data if the block raises."""
    try:
        yield
    except BaseException:
        source.connection.close()
        raise


def one_table(
    source: Any,
    *,
    budget: Budget,
    unit: str | None,
    columns: Mapping[str, Any] | None,
    rows_per_unit: int | None,
    groups_per_unit: int | None,
    neighbours: str,
    name: str | None,
    csv: Mapping[str, Any] | None,
    ledger: str | os.PathLike[str] | None,
) -> tuple[Catalogue, DuckDBSource]:
    """Return the catalogue of one table, from its declarations, and its data."""
    if not isinstance(budget, Budget):
        raise NotUnderstood(
            "a budget is a Budget.", code="wrong-argument", instead='budget=dp.Budget(epsilon=3, delta="1e-6")'
        )
    if columns is not None and not isinstance(columns, Mapping):
        raise NotUnderstood("columns are declared by name.", code="wrong-argument", instead='columns={"age": (0, 120)}')
    declared = tuple(declarations.column(each, said) for each, said in (columns or {}).items())
    path = Path(source) if isinstance(source, (str, os.PathLike)) else None
    if name is not None:
        declarations.name(name, "a data set")
    said, unit = unit, None if unit == declarations.ROW else unit
    if unit is not None:
        declarations.name(unit, "a unit")
    if isinstance(source, str) and "://" in source:
        raise NotUnderstood(
            "data are read from files and frames.", code="cannot-read", instead="name a .parquet, .csv or .duckdb file"
        )
    who = [unit] if unit else []
    form = Table(name="", columns=declared, csv=declarations.csv(csv)).csv_form(who)
    read = [*(each.name for each in declared), *who]
    reached = _reached(source, path, name, form, read, unit=unit)
    if len(reached.tables) != 1:
        raise NotUnderstood(
            f"there are {len(reached.tables)} tables in it: {', '.join(reached.tables[:12])}.",
            code="several-tables",
            instead="write a catalogue and use dp.Curator.load, or name one: name=…",
        )
    declarations.no_such_column(said, reached.stored[reached.tables[0]])
    table = Table(
        name=reached.tables[0],
        columns=declared,
        unit=unit,
        rows_per_unit=declarations.cap(rows_per_unit, "rows_per_unit"),
        groups_per_unit=declarations.cap(groups_per_unit, "groups_per_unit"),
        csv=form,
    )
    beside = f"{path}.ledger" if path is not None else None if name is None else f"{name}.ledger"
    place = beside if ledger is None else os.fspath(ledger)
    catalogue = Catalogue(
        name=name or (path.stem if path else "data"),
        budget=budget,
        tables=(table,),
        ledger=place,
        neighbours=neighbourhood(neighbours),
    )
    table.stored(reached.stored[table.name])  # refuse what does not fit before a ledger is made
    return catalogue, reached


def _reached(
    source: Any, path: Path | None, name: str | None, form: Csv | None, columns: list[str], *, unit: str | None
) -> DuckDBSource:
    if path is None and form is not None:
        raise NotUnderstood(
            "a frame is no CSV file, so there is nothing to say of how.", code="wrong-argument", instead="leave out csv"
        )
    if path is None:
        return open_frame(source, name or "data", columns, unit)
    one = name if name is not None and (is_one_table(path) or path.is_file()) else None
    table = one or path.stem
    inside = [each.stem for each in path.iterdir()] if path.is_dir() else []
    who = {} if unit is None else {each: [unit] for each in (table, *inside)}
    return open_path(path, None if one is None else [one], csv={table: form}, columns={table: columns}, telling=who)


def is_one_table(path: Path) -> bool:
    """Return True if a path is that of a file with one table, which goes by any name."""
    return path.suffix.lower() in FILES


def frames_of(frames: Mapping[str, pyarrow.Table]) -> DuckDBSource:
    """Return the data source of Arrow tables, by their names."""
    return DuckDBSource(places={name: quoted(name) for name in frames}, frames=frames)


def engine_of(catalogue: Catalogue, source: DuckDBSource, ledger: Ledger) -> DuckDB:
    """Return the engine of these data, with the unit index beside the ledger, if the ledger is a file."""
    catalogue, shelf = catalogue.stored(source.stored), None
    if ledger.durable and "://" not in ledger.where:
        shelf = IndexStore(Path(f"{ledger.where}.index"), catalogue.name, lambda: indexed_tables(catalogue))
    return DuckDB(source, catalogue, ledger.version, shelf)


def ledger_of(
    catalogue: Catalogue, *, marks: str | os.PathLike[str] | None = None, progress: Progress | None = None
) -> Ledger:
    """Open the ledger that a catalogue names."""
    return Ledger(
        catalogue.ledger,
        dataset=catalogue.name,
        budget=catalogue.budget,
        analysts=catalogue.analysts,
        families=catalogue.families,
        neighbours=catalogue.neighbours,
        unit=catalogue.unit,
        protects=catalogue.protects,
        failures=catalogue.failures,
        marks=marks,
        progress=progress,
    )


def indexed_tables(catalogue: Catalogue) -> tuple[IndexedTable, ...]:
    """Return the tables that a unit index of this catalogue holds."""
    return tuple(
        IndexedTable(
            table=table.name,
            unit=table.unit,
            columns=tuple(each.name for each in table.columns),
            choices=tuple(_choices(table, catalogue)),
            required=tuple(each.name for each in table.columns if each.required),
        )
        for table in catalogue.tables
        if table.unit is not None and table.unit_reference is None
    )


def _choices(table: Table, catalogue: Catalogue) -> Iterator[RowChoice]:
    """Yield the choices of an index, read off compiled questions, so that they match every question like them."""
    people, source = f"COUNT(DISTINCT {quoted(table.unit or '')})", quoted(table.name)
    for asked in (
        f"SELECT {people} FROM {source}",
        *(f"SELECT {quoted(each.name)}, {people} FROM {source} GROUP BY 1" for each in table.columns),
    ):
        try:
            draft = compile(parse(asked), catalogue)
        except Refusal:
            continue
        if not draft.private:
            yield RowChoice(keys=draft.keys, caps=draft.caps)
