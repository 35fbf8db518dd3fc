"""Read a catalogue file: TOML, checked entry by entry; refusals point at the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.catalogue import declarations
from discreet.catalogue.schema import Catalogue, Column, Table
from discreet.core.exact import positive_integer
from discreet.core.loss import Budget
from discreet.core.reach import neighbourhood
from discreet.errors import NotUnderstood, Place, Refusal

__all__ = ["CatalogueFile", "read"]

DATASET = ("name", "source", "budget", "neighbours", "ledger", "unit", "failures")
TABLE = ("unit", "rows_per_unit", "groups_per_unit", "columns", "public", "key", "references", "csv")
DATA = (".csv", ".tsv", ".txt", ".parquet", ".duckdb", ".db", ".ddb")  # what is given for a catalogue by mistake
MAX_FILE_CHARS = 1 << 22  # characters of a catalogue
WRITTEN = "texts are in quotes, numbers have a decimal point; docs/catalogue.md shows a catalogue"


def read(path: Path) -> Catalogue:
    """Return the catalogue in a file; paths in it are relative to the file."""
    return CatalogueFile(path).catalogue()


def _toml(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text("utf-8-sig")
        if len(text) > MAX_FILE_CHARS:
            raise NotUnderstood(
                f"{path} has more than {MAX_FILE_CHARS:,} characters.",
                code="wrong-catalogue",
                instead="declare fewer values; docs/catalogue.md shows a catalogue",
            )
        return text, tomllib.loads(text)
    except OSError:
        raise NotUnderstood(
            f"there is no catalogue {path}.", code="no-catalogue", instead="write one with: discreet init DATA"
        ) from None
    except UnicodeDecodeError:
        raise _no_catalogue(path) from None
    except tomllib.TOMLDecodeError as problem:
        if path.suffix.lower() in DATA:
            raise _no_catalogue(path) from None
        raise _not_toml(text, str(problem)) from None
    except (ValueError, RecursionError):
        raise NotUnderstood(
            f"{path} has a number of thousands of digits, or is nested too deeply.",
            code="wrong-catalogue",
            instead="docs/catalogue.md shows one",
        ) from None


def _no_catalogue(path: Path) -> NotUnderstood:
    data = path if path.suffix.lower() in DATA else "DATA"
    return NotUnderstood(
        f"{path} is not a catalogue.", code="wrong-catalogue", instead=f"write one with: discreet init {data}"
    )


def _not_toml(text: str, problem: str) -> Refusal:
    spot = re.search(r"at line (\d+), column (\d+)", problem)
    reason = "this line is not TOML: " + problem.split(" (at ", maxsplit=1)[0].lower() + "."
    if spot is None:  # it ends too early
        last = max(len(text.rstrip()) - 1, 0)
        return NotUnderstood(reason, code="wrong-declaration", instead=WRITTEN, place=Place(text, last, last + 1))
    start = sum(len(line) + 1 for line in text.split("\n")[: int(spot[1]) - 1]) + int(spot[2]) - 1
    start = min(start, max(len(text) - 1, 0))
    return NotUnderstood(reason, code="wrong-declaration", instead=WRITTEN, place=Place(text, start, start + 1))


class CatalogueFile:
    """A catalogue file, and the position of each of its entries."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text, self._said = _toml(path)
        self._lines = _lines(self.text)

    @contextmanager
    def at(self, *keys: str) -> Iterator[None]:
        """Let refusals in the block point at the line of this entry, or of the nearest one around it."""
        try:
            yield
        except Refusal as refusal:
            if refusal.place is not None:
                raise
            place = next((found for n in range(len(keys), 0, -1) if (found := self._lines.get(keys[:n]))), None)
            where = None if place is None else Place(self.text, *place)
            raise type(refusal)(refusal.reason, code=refusal.code, instead=refusal.instead, place=where) from None

    def _section(self, within: Mapping[str, Any], *keys: str) -> dict[str, Any]:
        found = within.get(keys[-1], {})
        if not isinstance(found, dict):
            with self.at(*keys):
                raise NotUnderstood(
                    f"{'.'.join(keys)} is a section.", code="wrong-catalogue", instead=f"write [{'.'.join(keys)}]"
                )
        return found

    def _known(self, section: Mapping[str, Any], names: tuple[str, ...], *keys: str) -> None:
        for each in section:
            if each not in names:
                with self.at(*keys, each):
                    raise NotUnderstood(
                        f"`{each}` is not something that [{'.'.join(keys)}] says.",
                        code="wrong-catalogue",
                        instead=f"it says: {', '.join(names)}",
                    )

    def fitted(self, catalogue: Catalogue, stored: Mapping[str, Mapping[str, str]]) -> Catalogue:
        """Return the catalogue with the storage of all columns, as the data source reports it."""
        for each, columns in stored.items():
            with self.at("tables", each, "unit"):
                declarations.no_such_column(self._said.get("tables", {}).get(each, {}).get("unit"), columns)
        return catalogue.stored(stored, lambda *keys: self.at("tables", *keys))

    def catalogue(self) -> Catalogue:
        """Return the catalogue that the file declares."""
        said = self._said
        for each in said:
            if each not in ("dataset", "tables", "analysts", "families"):
                with self.at(each):
                    raise NotUnderstood(
                        f"`{each}` is not a section of a catalogue.",
                        code="wrong-catalogue",
                        instead="dataset, tables, analysts or families",
                    )
        dataset = self._section(said, "dataset")
        self._known(dataset, DATASET, "dataset")
        for need, example in (("name", '"clinic"'), ("budget", '{ epsilon = "3", delta = "1e-6" }')):
            if need not in dataset:
                with self.at("dataset"):
                    raise NotUnderstood(
                        f"the data set has no {need}.", code="wrong-catalogue", instead=f"[dataset] {need} = {example}"
                    )
        tables = self._section(said, "tables")
        with self.at("dataset", "name"):
            name = declarations.name(dataset["name"], "a data set")
        with self.at("dataset", "neighbours"):
            neighbours = neighbourhood(dataset.get("neighbours", "add-remove"))
        with self.at("dataset", "unit"):
            unit = declarations.name(dataset.get("unit", "person"), "a unit")
        with self.at("dataset", "failures"):
            failures = positive_integer(dataset.get("failures", 1), "failures")
        with self.at("tables"):
            return Catalogue(
                name=name,
                budget=self._budget(dataset, "dataset"),
                tables=tuple(self._table(tables, each) for each in tables),
                source=self._place(dataset, "source"),
                ledger=self._place(dataset, "ledger") or str(self.path.with_suffix(".ledger")),
                neighbours=neighbours,
                unit=unit,
                failures=failures,
                analysts=self._budgets(said, "analysts"),
                families=self._budgets(said, "families"),
            )

    def _place(self, dataset: Mapping[str, Any], key: str) -> str | None:
        """Return a path relative to the catalogue, or an address."""
        said = dataset.get(key)
        if said is None:
            return None
        if not isinstance(said, str) or not said:
            with self.at("dataset", key):
                raise NotUnderstood(
                    f"{key} is a path or an address.", code="wrong-catalogue", instead=f'{key} = "clinic.{key}"'
                )
        return said if "://" in said else str(self.path.parent / said)

    def _budget(self, section: Mapping[str, Any], *keys: str) -> Budget:
        said = section.get("budget")
        with self.at(*keys, "budget"):
            if not isinstance(said, dict) or not {"epsilon"} <= said.keys() <= {"epsilon", "delta", "events"}:
                said_of = (
                    f"there is no budget for {keys[-1]}." if said is None else "a budget has epsilon, delta, events."
                )
                raise NotUnderstood(
                    said_of, code="wrong-catalogue", instead='budget = { epsilon = "3", delta = "1e-6" }'
                )
            return Budget(**said)

    def _budgets(self, said: Mapping[str, Any], kind: str) -> dict[str, Budget]:
        section, found = self._section(said, kind), {}
        for each in section:
            own = self._section(section, kind, each)
            self._known(own, ("budget",), kind, each)
            found[each] = self._budget(own, kind, each)
        return found

    def _table(self, tables: Mapping[str, Any], name: str) -> Table:
        section = self._section(tables, "tables", name)
        self._known(section, TABLE, "tables", name)
        columns = self._section(section, "tables", name, "columns")
        with self.at("tables", name, "unit" if "unit" in section else "references"):
            unit, through = declarations.whose(
                section.get("unit"), section.get("references"), public=section.get("public") is True
            )
        with self.at("tables", name, "key"):
            key = declarations.key(section.get("key"))
        with self.at("tables", name, "public"):
            if not isinstance(section.get("public", False), bool):
                raise NotUnderstood("public is true or false.", code="wrong-declaration", instead="public = true")
        with self.at("tables", name, "csv"):
            csv = declarations.csv(section.get("csv"))
        caps: dict[str, Any] = {}
        for each in ("rows_per_unit", "groups_per_unit"):
            with self.at("tables", name, each):
                caps[each] = declarations.cap(section.get(each), each)
        with self.at("tables", name):
            return Table(
                name=declarations.name(name, "a table"),
                columns=tuple(self._column(columns, name, each) for each in columns),
                unit=unit,
                unit_reference=through,
                key=key,
                public=section.get("public", False),
                csv=csv,
                **caps,
            )

    def _column(self, columns: Mapping[str, Any], table: str, name: str) -> Column:
        with self.at("tables", table, "columns", name):
            said = columns[name]
            if not isinstance(said, dict):
                raise NotUnderstood(
                    f"`{name}` is declared in braces.",
                    code="wrong-declaration",
                    instead=f"{name} = {{ min = 0, max = 100 }}",
                )
            return declarations.column(name, said)


def _lines(text: str) -> dict[tuple[str, ...], tuple[int, int]]:
    """Return the span of the name of each entry of a TOML file, by its path."""
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    section: tuple[str, ...] = ()
    offset = 0
    for line in text.split("\n"):
        if header := re.match(r"\s*\[([^\[\]]+)\]\s*(#.*)?$", line):
            section = _path(header[1])
            start, end = offset + line.index("["), offset + line.rindex("]", 0, header.end(1) + 1) + 1
            for n in range(1, len(section) + 1):
                found.setdefault(section[:n], (start, end))
        elif entry := re.match(r"\s*([\w\-.\"' ]+?)\s*=", line):
            path = _path(entry[1])
            for n in range(1, len(path) + 1):
                found.setdefault((*section, *path[:n]), (offset + entry.start(1), offset + entry.end(1)))
        offset += len(line) + 1
    return found


def _path(text: str) -> tuple[str, ...]:
    return tuple(each.strip().strip("\"'") for each in re.findall(r'"[^"]*"|\'[^\']*\'|[^.]+', text))
