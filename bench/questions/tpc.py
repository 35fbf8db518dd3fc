"""Write the texts of TPC-H and TPC-DS, which DuckDB's extensions have.

    python bench/questions/tpc.py FOLDER

It runs in a process of its own, as the extensions are for a version of DuckDB of their own (see sources.py). The texts
are the questions of the specifications with the parameters that answers are validated by.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import duckdb


def load(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Load an extension from the wheel that it came in."""
    package = importlib.import_module(f"duckdb_extension_{name}").__file__
    assert package is not None
    found = next(Path(package).parent.rglob("*.duckdb_extension"))
    connection.execute(f"LOAD '{found}'")


def write_texts(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    for name in ("tpch", "tpcds"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, text in connection.execute(f"FROM {name}_queries()").fetchall():
            (folder / name / f"q{number:02}.sql").write_text(text.strip() + "\n")


def main() -> None:
    connection = duckdb.connect(config={"threads": 2})
    for name in ("tpch", "tpcds"):
        load(connection, name)
    write_texts(connection, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
