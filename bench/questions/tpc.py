"""Write the texts of TPC-H and TPC-DS, or make the data of TPC-DS at a scale, with DuckDB's extensions.

    python bench/questions/tpc.py FOLDER [scale]

It runs in a process of its own, as the extensions are for a version of DuckDB of their own (see sources.py). The texts
are the questions of the specifications with the parameters that answers are validated by.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import duckdb

LEFT_OUT = {"web_page": "wp_customer_sk"}  # names a customer, in a table that is otherwise public


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
            (folder / name / f"{number}.sql").write_text(text.strip() + "\n")


def write_data(connection: duckdb.DuckDBPyConnection, folder: Path, scale: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    connection.execute(f"CALL dsdgen(sf = {float(scale)})")
    for (name,) in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall():
        columns = f"* EXCLUDE ({LEFT_OUT[name]})" if name in LEFT_OUT else "*"
        connection.execute(f"COPY (SELECT {columns} FROM {name}) TO '{folder / name}.parquet' (FORMAT parquet)")


def main() -> None:
    folder, scale = Path(sys.argv[1]), sys.argv[2:]
    connection = duckdb.connect(config={"threads": 2})
    load(connection, "tpch")
    load(connection, "tpcds")
    if scale:
        write_data(connection, folder, scale[0])
    else:
        write_texts(connection, folder)


if __name__ == "__main__":
    main()
