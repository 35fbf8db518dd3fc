"""The three sets of questions: where their texts are, and how the data that they are asked of are made, once.

Neither is in the repository. Texts come from wheels of the package index, installed into a folder of their own: those
of TPC-H and TPC-DS from DuckDB's extensions (with the parameters of the specifications' validation, in the SQL that
DuckDB reads), those of ClickBench from lakebench. The data are made by tpchgen-cli, by retail_sales.py (TPC-DS) and by
hits.py (ClickBench).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = Path(os.environ.get("QUESTIONS") or Path(sys.prefix) / "questions")  # where all of it is kept
DUCKDB = "1.5.5"  # of the extensions
WHEELS = (
    "lakebench==2.2.0",
    f"duckdb=={DUCKDB}",
    f"duckdb-extension-tpch=={DUCKDB}",
    f"duckdb-extension-tpcds=={DUCKDB}",
)
CLICKBENCH = "lakebench/benchmarks/clickbench/resources/queries/canonical"


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A set of questions, and the scales of its data: one to measure with, and one for a quick look."""

    name: str
    title: str
    questions: int
    scale: str
    small: str

    @property
    def catalogue(self) -> Path:
        return HERE / f"{self.name}.toml"


BENCHMARKS = {
    each.name: each
    for each in (
        Benchmark(name="tpch", title="TPC-H", questions=22, scale="0.1", small="0.01"),
        Benchmark(name="tpcds", title="TPC-DS", questions=99, scale="200000", small="20000"),
        Benchmark(name="clickbench", title="ClickBench", questions=43, scale="1000000", small="20000"),
    )
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """A folder with texts and data; `small` says of which of the two scales."""

    folder: Path
    small: bool = False

    def text(self, benchmark: Benchmark, number: int) -> str:
        return (self.folder / "texts" / benchmark.name / f"q{number:02}.sql").read_text()

    def data(self, benchmark: Benchmark) -> Path:
        return self.folder / "data" / f"{benchmark.name}-{self.scale(benchmark)}"

    def scale(self, benchmark: Benchmark) -> str:
        return benchmark.small if self.small else benchmark.scale

    def prepare(self, benchmark: Benchmark) -> None:
        """Make what is missing for a set of questions."""
        scale = self.scale(benchmark)
        make = {"tpch": _tpch, "tpcds": _retail, "clickbench": _hits}[benchmark.name]
        _once(self.folder / "wheels", "Getting wheels from the package index", _install)
        _once(self.folder / "texts", "Writing the texts of the questions", self._texts)
        _once(self.data(benchmark), f"Making the data of {benchmark.title} at {scale}", lambda to: make(to, scale))

    def _texts(self, to: Path) -> None:
        wheels = self.folder / "wheels"
        subprocess.run([sys.executable, HERE / "tpc.py", to], check=True, env={**os.environ, "PYTHONPATH": str(wheels)})
        (to / "clickbench").mkdir()
        for number in range(1, BENCHMARKS["clickbench"].questions + 1):
            shutil.copy(wheels / CLICKBENCH / f"q{number}.sql", to / "clickbench" / f"q{number:02}.sql")


def _install(to: Path) -> None:
    """Install the wheels into a folder that nothing else imports from."""
    run = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"]
    subprocess.run([*run, to, *WHEELS], check=True)


def _once(to: Path, what: str, make: Callable[[Path], None]) -> None:
    """Make a folder under another name first, so that half of one is never taken for all of it."""
    if to.exists():
        return
    print(f"{what} …", file=sys.stderr)
    part = to.with_name(f"{to.name}.{os.getpid()}.part")
    part.mkdir(parents=True)
    try:
        make(part)
        part.rename(to)
    except OSError:
        if not to.exists():  # else another process was faster
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _tpch(to: Path, scale: str) -> None:
    beside = Path(sys.executable).with_name("tpchgen-cli")
    program = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if program is None:
        raise SystemExit("there is no tpchgen-cli: pip install -e '.[bench]'")
    subprocess.run([program, "parquet", "-s", scale, "-o", to], check=True, capture_output=True)


def _retail(to: Path, scale: str) -> None:
    subprocess.run([sys.executable, HERE / "retail_sales.py", to, scale], check=True, capture_output=True)


def _hits(to: Path, scale: str) -> None:
    subprocess.run([sys.executable, HERE / "hits.py", to, scale], check=True, capture_output=True)
