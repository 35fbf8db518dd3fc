"""TPC-H with people in it: seven of its questions, once with customers and once with suppliers protected.

    python bench/tpch.py [scale] [--data FOLDER] [--repeats 5]

The questions are in `tpch/`, in their standard text, and beside them, in a folder for each unit, other texts of the
same questions: where the standard one is refused, or where adding up within each unit first leaves less to hide. All
are compared with the exact answer to the standard text. The error is relative, the median over cells and rounds; `bias`
is what caps and bounds cut off, the error at a cost at which there is no noise. Seconds are medians, beside those of
plain DuckDB for the standard text on the same Parquet files.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

import discreet as dp
from discreet.core.text import table

HERE = Path(__file__).parent / "tpch"
UNITS = ("customer", "supplier")
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
KEYS = {"q1": 2, "q4": 1, "q5": 1, "q6": 0, "q12": 1, "q13": 1, "q14": 0}  # how many columns name the row
COST = 1
NO_NOISE = 10**8

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, kw_only=True)
class Question:
    """One text of a question, for one unit."""

    name: str
    unit: str
    standard: bool

    @property
    def sql(self) -> str:
        return (HERE / ("" if self.standard else self.unit) / f"{self.name}.sql").read_text()

    @property
    def exact(self) -> str:
        """The text that it is compared with."""
        return (HERE / f"{self.name}.sql").read_text()


@dataclass(kw_only=True)
class Found:
    """What came of it: errors cell by cell, seconds, or the refusal."""

    refusal: dp.Refusal | None = None
    errors: list[float] = field(default_factory=list)
    bias: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)


def questions() -> Iterator[Question]:
    """Every text, in the order of the table."""
    for name in KEYS:
        for unit in UNITS:
            yield Question(name=name, unit=unit, standard=True)
            if (HERE / unit / f"{name}.sql").exists():
                yield Question(name=name, unit=unit, standard=False)


def data(folder: Path, scale: str) -> None:
    """TPC-H as Parquet files, unless they are there."""
    if all((folder / f"{each}.parquet").exists() for each in TABLES):
        return
    print(f"Making TPC-H at scale {scale} …", file=sys.stderr)
    beside = Path(sys.executable).with_name("tpchgen-cli")
    program = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if program is None:
        raise SystemExit("there is no tpchgen-cli: pip install -e '.[bench]'")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([program, "parquet", "-s", scale, "-o", folder], check=True, capture_output=True)


def plain(folder: Path) -> duckdb.DuckDBPyConnection:
    """Plain DuckDB over the same files."""
    connection = duckdb.connect()
    for each in TABLES:
        connection.execute(f"CREATE VIEW {each} AS FROM '{folder / each}.parquet'")
    return connection


def curator(unit: str, folder: Path, place: Path) -> dp.Curator:
    """The catalogue of a unit over these files, with a fresh ledger, in an empty folder."""
    place.mkdir()
    (place / "data").symlink_to(folder.resolve(), target_is_directory=True)
    shutil.copy(HERE / f"{unit}.toml", place)
    return dp.Curator.load(place / f"{unit}.toml")


def apart(found: Rows, exact: Rows, keys: int) -> list[float]:
    """Relative errors, for each number of the exact answer; a row that is missing is nothing."""
    there = {row[:keys]: row[keys:] for row in found}
    errors = []
    for row in exact:
        cells = there.get(row[:keys], (0,) * (len(row) - keys))
        errors += [abs(float(a or 0) / float(b) - 1) for a, b in zip(cells, row[keys:], strict=True) if b]
    return errors


def timed(run: Callable[[], Any], kept: list[float]) -> Rows:
    start = time.perf_counter()
    rows = list(run())
    kept.append(time.perf_counter() - start)
    return rows


def measure(folder: Path, repeats: int) -> dict[Question, Found]:
    """Ask everything, each time of a fresh ledger: first without noise, then at the cost of the table."""
    connection, found = plain(folder), {each: Found() for each in questions()}
    with tempfile.TemporaryDirectory() as name:
        os.environ["DISCREET_MARKS"] = str(Path(name) / "marks")
        for turn in range(repeats + 1):
            asked = {unit: curator(unit, folder, Path(name) / f"{unit}{turn}") for unit in UNITS}
            print(f"Asking, round {turn + 1} of {repeats + 1} …", file=sys.stderr)
            for question, into in found.items():
                try:
                    ask(question, into, asked[question.unit], connection, warm=turn == 0)
                except (dp.NotAllowed, dp.NotUnderstood) as refusal:
                    into.refusal = refusal
    return found


def ask(
    question: Question, into: Found, asked: dp.Curator, connection: duckdb.DuckDBPyConnection, *, warm: bool
) -> None:
    """One question, ours and plain; the first round is for the bias, and to warm up."""
    keys, ours, theirs = KEYS[question.name], [], []  # type: ignore[var-annotated]
    rows = timed(lambda: asked.ask(question.sql, epsilon=NO_NOISE if warm else COST), ours)
    exact = timed(lambda: connection.execute(question.exact).fetchall(), theirs)
    if warm:
        into.bias += apart(rows, exact, keys)
    else:
        into.errors += apart(rows, exact, keys)
        into.ours += ours
        into.plain += theirs


def line(question: Question, found: Found) -> tuple[str, ...]:
    """A row of the table."""
    if found.refusal is not None:
        return question.name.upper(), question.unit, "refused", "", "", "", "", ""
    ours, theirs = statistics.median(found.ours), statistics.median(found.plain)
    return (
        question.name.upper(),
        question.unit,
        "runs" if question.standard else "rewritten",
        f"{statistics.median(found.errors):.2%}",
        f"{statistics.median(found.bias):.2%}",
        f"{theirs:.2f} s",
        f"{ours:.2f} s",
        f"{ours / theirs:.1f} ×",
    )


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    reader.add_argument("scale", nargs="?", default="1", help="scale factor of the data")
    reader.add_argument("--data", type=Path, help="where the data are, or are put; else they are made anew")
    reader.add_argument("--repeats", type=int, default=5, help="how often each question is asked")
    said = reader.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = said.data or Path(name)
        data(folder, said.scale)
        found = measure(folder, said.repeats)
    titles = ["question", "unit", "", f"error at ε = {COST}", "bias", "plain DuckDB", "discreet", "ratio"]
    print(table(titles, [line(*each) for each in found.items()]))
    for question, each in found.items():
        if each.refusal is not None:
            print(f"\n{question.name.upper()}, {question.unit}: {each.refusal}")


if __name__ == "__main__":
    main()
