"""discreet beside its peers: COUNT, SUM and MEAN of rows, and COUNT and SUM of people's rows in declared groups.

    python bench/peers.py [rows] [--envs FOLDER] [--only NAME …]

The data are those of `curator.py`, and the contribution bounds are equal: 12 rows of one person, in 3 groups. Each
peer is installed into an environment of its own (what they need conflicts) and runs in a process of its own, which
measures the best of two rounds and its peak memory; starting up and opening the data is not counted. A peer that would
take more than a minute gets a tenth of the rows, and discreet is then measured on these, too. One that cannot be
installed, or fails, is a line that says so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curator import data
from discreet.core.text import table

HERE = Path(__file__).resolve().parent / "peer"
PEERS = {
    "opendp": ("OpenDP (Polars)", "opendp[polars]"),
    "smartnoise": ("SmartNoise SQL", "smartnoise-sql", "duckdb<2"),  # it orders by what a later one calls volatile
    "pipelinedp": ("PipelineDP (local)", "pipeline-dp", "pyarrow"),
    "tumult": ("Tumult Analytics", "tmlt.analytics"),
    "qrlew": ("Qrlew", "pyqrlew", "duckdb", "sqlalchemy"),
}  # what they are called, and what is installed
CASES = {"rows": ("COUNT", "SUM", "MEAN"), "groups": ("groups",)}
TITLES = {"groups": "COUNT, SUM by group of people"}
MOST_SECONDS = 60.0
PATIENCE = 900.0  # seconds after which a process has failed
GOAL = 10

Measured = dict[str, Any]


def environment(name: str, folder: Path) -> Path | str:
    """The Python of a peer's environment, made when it is not there; or why there is none."""
    place = folder / name
    python = place / "bin" / "python"
    if (place / "ready").exists():
        return python
    print(f"Installing {PEERS[name][1]} …", file=sys.stderr)
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True, capture_output=True)
        install: list[str | Path] = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            *PEERS[name][1:],
        ]
        subprocess.run(install, check=True, capture_output=True, timeout=PATIENCE)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return "it could not be installed"
    (place / "ready").touch()
    return python


def process(python: Path | str, name: str, path: Path, *case: str) -> Measured:
    """What a script measures in a process of its own, beside the data it may litter, or why it did not."""
    command = [python, HERE / f"ask_{name}.py", path, *case]
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH" or name == "discreet"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, env=environ, cwd=path.parent, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": "it took too long"}
    last = [each for each in done.stdout.splitlines() if each.startswith('{"seconds"')]
    if not last:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        return {"failed": said[-1][:80]}
    return dict(json.loads(last[-1]))


def slow(tiny: Measured, few: Measured) -> bool:
    """Whether all rows would take too long, going by a hundredth and a tenth of them."""
    before, after = (each.get("seconds", {}) for each in (tiny, few))
    known = [each for each in after if isinstance(after[each], float) and isinstance(before.get(each), float)]
    return not known or any(after[each] + 10 * (after[each] - before[each]) > MOST_SECONDS for each in known)


class Bench:
    """The data in three sizes, and what discreet needs for them."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.sizes = {rows // part: folder / f"{part}.parquet" for part in (100, 10, 1)}
        for size, path in self.sizes.items():
            print(f"Making {size:,} rows …", file=sys.stderr)
            data(path, size)
        self._ours: dict[tuple[str, ...], Measured] = {}

    def ours(self, rows: int, *case: str) -> Measured:
        """discreet, measured once for each size."""
        key = (str(rows), *case)
        if key not in self._ours:
            self._ours[key] = process(sys.executable, "discreet", self.sizes[rows], *case)
        return self._ours[key]

    def theirs(self, python: Path, name: str, case: str) -> tuple[int, Measured]:
        """A peer, on all rows where that is bearable; on how many, and what was measured."""
        tiny, few, many = self.sizes
        first, found = (process(python, name, self.sizes[rows], case) for rows in (tiny, few))
        return (few, found) if slow(first, found) else (many, process(python, name, self.sizes[many], case))

    def lines(self, name: str, envs: Path) -> Iterator[tuple[str, ...]]:
        """The rows of the table about a peer."""
        title, python = PEERS[name][0], environment(name, envs)
        if isinstance(python, str):
            yield title, "", "", python, "", "", "", "", ""
            return
        for case, works in CASES.items():
            print(f"{title}: {case} …", file=sys.stderr)
            rows, found = self.theirs(python, name, case)
            for work in works:
                head = (title, TITLES.get(work, work), f"{rows:,}")
                yield line(head, work, found, self.ours(rows, case))
            if case == "groups":
                head = (title, "    with the index", f"{rows:,}")
                yield line(head, "groups", found, self.ours(rows, case, "indexed"))


def line(head: tuple[str, ...], work: str, theirs: Measured, ours: Measured) -> tuple[str, ...]:
    """A row of the table: seconds and memory side by side, or what went wrong."""
    said, own = (each.get("failed") or each["seconds"][work] for each in (theirs, ours))
    if isinstance(said, str) or isinstance(own, str):
        return *head, said if isinstance(said, str) else f"discreet: {own}", "", "", "", "", ""
    ratio = said / own
    return (
        *head,
        f"{said:.2f} s",
        f"{own:.3f} s",
        f"{ratio:.0f} ×" if ratio >= GOAL else f"{ratio:.1f} ×",
        f"{theirs['peak']:.0f} MB",
        f"{ours['peak']:.0f} MB",
        "" if ratio >= GOAL else f"less than {GOAL} ×",
    )


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    reader.add_argument("rows", nargs="?", type=int, default=10_000_000)
    reader.add_argument("--envs", type=Path, help="where the peers are installed; else they are installed anew")
    reader.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS))
    said = reader.parse_args()
    with tempfile.TemporaryDirectory() as name:
        bench, envs = Bench(Path(name), said.rows), (said.envs or Path(name) / "envs").resolve()
        lines = []
        for found in (each for peer in said.only for each in bench.lines(peer, envs)):
            print("  " + ", ".join(filter(None, found)), file=sys.stderr)
            lines.append(found)
        heads = ["peer", "work", "rows", "its seconds", "discreet", "ratio", "its memory", "discreet's", ""]
        print(table(heads, lines))


if __name__ == "__main__":
    main()
