"""Text files in which one person's lines hold anything: every other record must be read as if they were not there."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.files import open_path
from support.campaign.oracle import Found

Open = Callable[[Path], DuckDBSource]
PIECES = [b'"', b'"', b'""', b",", b",", b"x", b"7", b"\r", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b" ", b"'", b"\\",
          b'\\"', b"\t", b";", b"5'11\"", b"\x1a", b"\xc3", b"\x85", b"\xe2\x80\xa8", b"x" * 3000]  # fmt: skip
PLAIN = [
    b"1,ann,3",
    b"2,bob,4",
    b'3,"c, d",5',
    b'4,"say ""so""",6',
    b"5,,7",
    b"6,'x',",
    b"7,\xc3\xa9,8",
    b"8,a b,9",
    b'9,"",1',
]


def opened(path: Path) -> DuckDBSource:
    return open_path(path, None)


def rows(path: Path, lines: list[bytes], way: Open) -> Counter[tuple[str | None, ...]]:
    """All records that are read from these lines."""
    path.write_bytes(b"\n".join([b"id,name,n", *lines]) + b"\n")
    source = way(path)
    try:
        return Counter(source.connection.execute(f"SELECT * FROM {source.place(path.stem)}").fetchall())
    finally:
        source.connection.close()


def line(dice: random.Random) -> bytes:
    """One line of one person."""
    if dice.random() < 0.3:
        return b"99," + b"".join(dice.choices(PIECES, k=dice.randint(1, 3))) + b",5"
    return b"".join(dice.choices(PIECES, k=dice.randint(1, 12)))


def examine(dice: random.Random, path: Path, way: Open = opened) -> int:
    """Put a few lines of one person among those of others; returns how many records they became."""
    before = rows(path, PLAIN, way)
    hostile = [line(dice) for _ in range(dice.randint(1, 4))]
    lines = list(PLAIN)
    for each in hostile:
        lines.insert(dice.randint(0, len(lines)), each)
    after = rows(path, lines, way)
    if sum(before.values()) != len(PLAIN) or before - after:
        raise Found(f"lines of others are read otherwise: {dict(before - after)}, because of {hostile} in {lines}")
    if sum((after - before).values()) > len(hostile):
        raise Found(f"{len(hostile)} lines became {sum((after - before).values())} records: {hostile}")
    return sum((after - before).values())


def swallowing(path: Path) -> DuckDBSource:
    """A reader that lets a quote run on over the lines of others, as many do: a defect."""
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        records = list(csv.reader(line.replace("\0", "") for line in file))
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(each for each in records if len(each) == len(records[0]))
    return opened(path)
