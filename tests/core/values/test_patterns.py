"""Regular expressions mean here what DuckDB means by them; those of which that is not sure are not read."""

from __future__ import annotations

import random

import duckdb
import pytest

from discreet.core.values.patterns import (
    MAX_FOLLOWED,
    MAX_STEPS,
    extracted,
    matches,
    read_pattern,
    references,
    replaced,
)

LETTERS = "ab/. -_\nA9é\t🏥\v\x00"
CLASSES = ["a", "b-z", "0-9", r"\d", r"\s", r"\w", "é", r"\-", r"\.", "/", "_", "\n", "é-ü"]
TIMES = ["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?", "??", "{1,2}?", "{0,2}"]
PATTERNS = 250


def drawn(chance: random.Random, depth: int = 0) -> str:
    """A pattern, perhaps of those that are not read."""

    def atom() -> str:
        which = chance.randrange(12)
        if which < 4:
            letter = chance.choice(LETTERS)
            return "\\" + letter if letter == "." else letter
        if which == 4:
            return "."
        if which == 5:
            return chance.choice([r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\b"])
        if which == 6:
            listed = "".join(chance.choice(CLASSES) for _ in range(chance.randrange(1, 4)))
            return f"[{chance.choice(['', '^'])}{listed}]"
        if which == 7:
            return chance.choice("^$")
        return chance.choice("ab") if depth > 2 else f"({chance.choice(['', '?:'])}{drawn(chance, depth + 1)})"

    def sequence() -> str:
        parts = [
            atom() + (chance.choice(TIMES) if chance.random() < 0.35 else "") for _ in range(chance.randrange(1, 4))
        ]
        return "".join(parts)

    return "|".join(sequence() for _ in range(chance.choice([1, 1, 1, 2, 3])))


def test_random_patterns_mean_what_duckdb_means() -> None:
    chance, connection = random.Random(11), duckdb.connect()
    texts = ["".join(chance.choice(LETTERS) for _ in range(chance.randrange(9))) for _ in range(40)] + ["", "aab/ab."]
    connection.execute("CREATE TABLE t (i INT, s VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(texts)))
    read = 0
    while read < PATTERNS:
        pattern = drawn(chance)
        try:
            found = read_pattern(pattern)
        except ValueError:
            continue
        read += 1
        group = chance.randrange(found.groups + 1)
        put, every = chance.choice(["", r"<\0>", "x", rf"[\{group}]", r"\\y"]), "g" if found.least else ""
        rows = connection.execute(
            f"SELECT regexp_matches(s, $p), regexp_extract(s, $p, {group}), regexp_replace(s, $p, $q), "
            f"regexp_replace(s, $p, $q, '{every or 'c'}') FROM t ORDER BY i",
            {"p": pattern, "q": put},
        ).fetchall()
        for text, row in zip(texts, rows, strict=True):
            mine = matches(text, pattern), extracted(text, pattern, group), replaced(text, pattern, put)
            assert (*mine, replaced(text, pattern, put, every)) == row, (pattern, put, text)


def test_a_pattern_with_many_ways_is_followed_in_few_steps() -> None:
    assert not matches("a" * 1000, "(a|a)+b")
    assert extracted("x" * 1000, "(x+)+") == "x" * 1000


@pytest.mark.parametrize(
    "pattern",
    ["", "a|", "()", "(a*)*", "(a|b?)+", "a**", "a{2}{3}", "a{0}", "a{3,2}", "a{101}", "a{x}", "(a", "a)", "[a", "[]",
     "[z-a]", "[[:alpha:]]", "(?i)a", "(?P<n>a)", r"\pL", r"\A", r"\1", r"\Qa", "*a", "^*", r"\b+", "a\\", "[a-\\d]",
     "(" * 11 + "a" + ")" * 11, "(.{50}){100}", "." * (MAX_STEPS // 10 + 1)],
)  # fmt: skip
def test_what_is_not_sure_is_not_read(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_pattern(pattern)


def test_what_is_put_names_groups() -> None:
    assert references(r"a\1\\") == ["a", 1, "\\"]
    for wrong in ("\\", r"\a"):
        with pytest.raises(ValueError, match="stands before"):
            references(wrong)


@pytest.mark.parametrize(
    "pattern",
    [
        "a[ab]{9}c",
        "(?:a|b)*a[ab]{9}",
        "[ab]{9}a[ab]*",
        "(?:.|\n)a.{9}",
        "\\w[a-z]{1,60}x[a-z]{1,60}y",
        "x(a|[ab]{9}a(b|a)+)",
    ],
)
def test_patterns_of_many_states_are_not_read(pattern: str) -> None:
    """Engines follow each way of them for each letter: 20 milliseconds for one text, in place of 20 microseconds. The
    states of some are many from left to right, and of others only from right to left.
    """
    with pytest.raises(ValueError, match=r"too (many ways|long)"):
        read_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["a" * 200, "[a-z]{1,50}", r"^https?://([^/]+)/", r"^\\w+@(\\w+\\.)+[a-z]{2,3}$", "a[ab]{6}c", "foo.{0,8}bar",
     "^[A-Z]{1,2}[0-9][A-Z0-9]? [0-9][A-Z]{2}$", "(foo|bar|baz|qux|hello|world)+"],
)  # fmt: skip
def test_patterns_of_few_states_are(pattern: str) -> None:
    assert 0 < read_pattern(pattern).followed <= MAX_FOLLOWED
