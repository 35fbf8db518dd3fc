"""Random questions of constructs that `questions.py` does not write, under names that are drawn as they are there.

Answers beside answers, public tables that multiply rows or give groups, NULL as a group, QUALIFY, correlated
subqueries, MAX_BY and its like, regular expressions, formats of dates, decimals, tuples, IS DISTINCT FROM, moments of a
third and a fourth power.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

from support.campaign.questions import HARSH, NUMERIC, Question, Rel, Writer
from support.campaign.worlds import World

PATTERNS = ["'^[a-z]'", "'(.)(.?)'", "'[^x]+$'", "'\\d+|x'", "'\\bx'", "'(?:1|a){1,3}'"]
FORMATS = ["'%Y-%m'", "'%a %d'", "'%j'", "'%H:%M %p'", "'%B %%'"]
PICKED = ("MAX_BY", "MIN_BY")


class Constructs(Writer):
    """Writes one question with the newer constructs."""

    # ── of one row ───────────────────────────────────────────────────────────────────────────────────────────

    def made(self, rels: list[Rel]) -> tuple[str, str]:
        if self.chance(0.4):
            return super().made(rels)
        rel = self.dice.choice(rels)
        name = self.dice.choice(list(rel.kinds))
        what, kind = self.ref(rels, rel, name), rel.kinds[name]
        if kind in ("number", "real", "loose"):
            return self.pick(
                (f"CAST({what} AS DECIMAL({self.pick('4, 1', '18, 3', '9, 0')}))", "loose"),
                (f"NULLIF({what}, 5)", kind),
                (f"CASE WHEN {what} > 2 THEN 1 WHEN {what} < 1 THEN 0 END", "number"),
                (f"{what} IS DISTINCT FROM {self.dice.choice(HARSH)}", "flag"), (f"1 / {what}", "loose"),
            )  # fmt: skip
        if kind in ("text", "key"):
            pattern = self.dice.choice(PATTERNS)
            return self.pick(
                (f"REGEXP_EXTRACT({what}, {pattern})", "text"), (f"REGEXP_REPLACE({what}, {pattern}, 'y')", "text"),
                (f"REGEXP_MATCHES({what}, {pattern})", "flag"), (f"NULLIF({what}, 'x')", kind),
                (f"{what} IS NOT DISTINCT FROM 'x'", "flag"), (f"CAST({what} AS DECIMAL(6, 2))", "loose"),
            )  # fmt: skip
        if kind == "day":
            return f"STRFTIME({what}, {self.dice.choice(FORMATS)})", "text"
        return f"CASE WHEN {what} THEN 'x' END", "key"

    def condition(self, rels: list[Rel], every: list[Rel] | None = None) -> str:
        if every is not None or self.chance(0.5):
            return super().condition(rels, every)
        rel = self.dice.choice(rels)
        a, b = (self.dice.choice(list(rel.kinds)) for _ in range(2))
        one, two = self.ref(rels, rel, a), self.ref(rels, rel, b)
        if rel.kinds[a] in ("text", "key"):
            return self.pick(
                f"{one} ~ {self.dice.choice(PATTERNS)}", f"{one} IS DISTINCT FROM 'x'",
                f"({one}, 1) IN (('x', 1), ('1', 1))", f"{one} > ''",
            )  # fmt: skip
        if rel.kinds[a] == rel.kinds[b] and rel.kinds[a] in NUMERIC:
            return self.pick(
                f"({one}, {two}) = (5, 5)", f"{one} IS NOT DISTINCT FROM {two}", f"({one}, {two}) < (3, 4)"
            )
        if rel.owner == "unit" and len(rels) == 1 and rel.unit is not None and rel.kinds[a] in NUMERIC:
            return self.correlated(rel, a)
        return super().condition(rels, every)

    def correlated(self, rel: Rel, name: str) -> str:
        """A comparison with what the rows of the same unit have."""
        other = self.base(self.pick("visits", "labs"), [rel.alias])
        if other is None or other.unit is None or rel.unit is None:
            return super().condition([rel])
        number = other.some(self.dice, *NUMERIC)
        mine = f"{self.quoted(rel.alias)}.{self.quoted(rel.unit)}"
        theirs = f"{self.quoted(other.alias)}.{self.quoted(other.unit)}"
        what = self.pick(f"{self.pick('AVG', 'MAX', 'SUM')}({self.ref([other], other, number or '')})", "COUNT(*)")
        own = f"{self.quoted(rel.alias)}.{self.quoted(name)}"
        return f"{own} {self.pick('<', '>=')} (SELECT {what} FROM {other.text} WHERE {theirs} = {mine})"

    # ── of one unit ──────────────────────────────────────────────────────────────────────────────────────────

    def rows(self, deep: int, taken: Iterable[str]) -> Rel | None:
        found = super().rows(deep, taken)
        if found is None or found.unit is None or found.text[-1] == ")" or self.chance(0.5):
            return found
        return self.qualified(found)

    def qualified(self, rel: Rel) -> Rel:
        """Some rows of each unit, by a window over them."""
        alias = self.fresh([])
        window = self.window([rel], self.ref([rel], rel, rel.unit or ""))
        test = self.pick(f"{window} IS NOT NULL", f"ROW_NUMBER() {window[window.index('OVER') :]} <= 2")
        text = f"(SELECT * FROM {rel.text} QUALIFY {test}) AS {self.quoted(alias)}"
        return Rel(text, alias, rel.kinds, rel.unit, plain=False, bait=rel.bait)

    def within(self, rels: list[Rel]) -> tuple[str, str]:
        if self.chance(0.5):
            return super().within(rels)
        rel = self.dice.choice(rels)
        name, by = (self.dice.choice(list(rel.kinds)) for _ in range(2))
        what, order = self.ref(rels, rel, name), self.ref(rels, rel, by)
        return self.pick(
            f"{self.dice.choice(PICKED)}({what}, {order})", f"ANY_VALUE({what})", f"FIRST({what} ORDER BY {order})",
            f"LAST({what} ORDER BY {order} DESC)",
        ), rel.kinds[name]  # fmt: skip

    # ── public tables ────────────────────────────────────────────────────────────────────────────────────────

    def on(self, every: list[Rel], rels: list[Rel], other: Rel) -> str | None:
        if other.owner != "public" or self.chance(0.4):
            return super().on(every, rels, other)
        rel = self.dice.choice(rels)
        kinds = self.pick(("text", "key"), ("key",), ("number", "loose"), ("number",))
        mine, theirs = rel.some(self.dice, *kinds), other.some(self.dice, *kinds)
        if mine is None or theirs is None:
            return None
        a, b = self.ref(every, rel, mine), self.ref(every, other, theirs)
        sign = self.pick("=", "=", "=", "<", ">=", "IS NOT DISTINCT FROM")
        more = f" AND {super().condition([other], every)}" if self.chance(0.4) else ""
        return f"{a} {sign} {b}{more}"

    def joined(self, deep: int, *, row: bool = False) -> tuple[list[Rel], str]:
        rels, where = super().joined(deep, row=row)
        if where or not self.chance(0.5):
            return rels, where
        other = self.base(self.pick("towns", "codes"), [each.alias for each in rels])
        on = None if other is None else self.on([*rels, other], rels, other)
        if other is not None and on is not None and not any(each.text.startswith(",") for each in rels):
            way = self.pick("JOIN", "LEFT JOIN")
            rels.append(replace(other, text=f" {way} {other.text} ON {on}", plain=False))
        return rels, where

    # ── answers ──────────────────────────────────────────────────────────────────────────────────────────────

    def aggregate(self, rels: list[Rel], unit: str | None) -> str:
        rel = self.dice.choice(rels)
        number = rel.some(self.dice, *NUMERIC)
        if number is None or self.chance(0.8):
            return super().aggregate(rels, unit)
        return f"{self.pick('SKEWNESS', 'KURTOSIS')}({self.ref(rels, rel, number)})"

    def key(self, rels: list[Rel]) -> str:
        public = [each for each in rels if each.owner == "public"]
        if public and self.chance(0.6):
            rel = self.dice.choice(public)
            what = self.ref(rels, rel, self.dice.choice(list(rel.kinds)))
            return self.pick(what, what, f"NULLIF({what}, {what})", f"COALESCE({what}, {what})")
        return self.made(rels)[0] if self.chance(0.3) else super().key(rels)

    def whole(self) -> Question:
        """One question, or several beside each other."""
        first = self.question()
        if self.chance(0.6) or first.sql.startswith("WITH") or "LIMIT" in first.sql:
            return Question(first.sql, first.row, focus="constructs")
        self.held, self.hidden = {}, set()
        one = self.counting()
        return Question(self.pick(
            f"SELECT * FROM ({first.sql}) AS aa, ({one}) AS bb",
            f"SELECT aa.*, ({one}) AS more FROM ({first.sql}) AS aa",
            f"SELECT COUNT(*) FROM ({first.sql}) AS aa WHERE EXISTS (SELECT * FROM ({one}) AS bb WHERE n > 3)",
            f"SELECT n FROM ({one}) AS aa UNION ALL SELECT COUNT(*) FROM ({first.sql}) AS bb",
            f"SELECT n FROM ({one}) AS aa EXCEPT SELECT 3 FROM ({first.sql}) AS bb",
        ), first.row, focus="constructs")  # fmt: skip

    def counting(self) -> str:
        rels, where = self.joined(1)
        return f"SELECT COUNT(*) AS n FROM {self.after(rels)}{where}"


def constructs(dice: random.Random, world: World) -> Question:
    """A question of newer constructs about a world."""
    return Constructs(dice, world, focus=dice.choice(["", "", "joins", "counts", "names"])).whole()
