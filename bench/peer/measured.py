"""Seconds and peak memory of what a peer does, as one line of JSON. Runs in the peer's own environment."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

GROUPS = 1000
GROUPS_PER_UNIT = 3
ROWS_PER_GROUP = 4  # of one unit; so 12 rows in all
LOW, HIGH = 0, 100
ROUNDS = 2

Works = dict[str, Callable[[], object]]


def asked() -> tuple[str, bool]:
    """The Parquet file, and whether people are to be protected, or single rows."""
    return sys.argv[1], sys.argv[2] == "groups"


def report(works: Works) -> None:
    """The best seconds of each, or why it failed; and the most memory that this process and its children held."""
    seconds: dict[str, float | str] = {}
    for name, work in works.items():
        try:
            times = []
            for _ in range(ROUNDS):
                start = time.perf_counter()
                work()
                times.append(time.perf_counter() - start)
                if times[0] > 20:  # long enough to be seen at once
                    break
            seconds[name] = min(times)
        except Exception as problem:  # a peer that fails is a line of the table
            seconds[name] = f"{type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}"[:80]
    print(json.dumps({"seconds": seconds, "peak": _peak()}), flush=True)


def _peak() -> float:
    """Megabytes, as the kernel has counted them."""
    parents, most = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            said = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
        except OSError:
            continue
        parents[int(folder.name)] = int(said["PPid"])
        most[int(folder.name)] = int(said.get("VmHWM", "0 kB").split()[0]) / 1024
    own, more = {os.getpid()}, True
    while more:
        found = {child for child, parent in parents.items() if parent in own} - own
        own, more = own | found, bool(found)
    return sum(most[each] for each in own)
