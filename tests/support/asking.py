"""Random questions about the people of `lineage.py`: joins, SELECTs inside, what is added up per unit, unions, EXISTS.

Most can be answered; a refusal is no failure. `question(dice)` writes one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

Kinds = dict[str, str]  # of each column: number, loose (without bounds), text, key (with declared values) or truth

BASES: dict[str, Kinds] = {
    "visits": {"ward": "key", "note": "text", "zip": "text", "level": "number", "cost": "number", "flag": "truth"},
    "labs": {"gain": "number", "level": "number", "note": "text", "zip": "text"},
    "people": {"born": "number", "zip": "text", "flag": "truth"},
    "bills": {"flag": "truth", "cost": "number"},
    "lines": {"item": "key", "cost": "number"},
    "staff": {"zip": "text", "level": "number", "cost": "number", "ward": "key"},
    "towns": {"zip": "text", "town": "key", "size": "number", "region": "key"},
    "regions": {"region": "key", "tax": "number"},
}
PEOPLE = ["visits", "visits", "labs", "people", "bills", "lines"]


@dataclass
class Rel:
    """What can stand after FROM: its text, its name, its columns, its unit."""

    text: str
    alias: str
    columns: Kinds
    unit: str | None = "who"

    def some(self, dice: random.Random, *kinds: str) -> str | None:
        """A column of one of these kinds."""
        names = [name for name, kind in self.columns.items() if kind in kinds]
        return f"{self.alias}.{dice.choice(names)}" if names else None


@dataclass
class Writer:
    """Writes one question."""

    dice: random.Random
    taken: int = field(default=0)

    def name(self) -> str:
        self.taken += 1
        return f"t{self.taken}"

    def pick(self, *choices: str) -> str:
        return self.dice.choice(choices)

    # ── relations ────────────────────────────────────────────────────────────────────────────────────────────

    def base(self, name: str) -> Rel:
        alias = self.name()
        return Rel(f"{name} AS {alias}", alias, BASES[name], "who" if name in PEOPLE else None)

    def relation(self, deep: int) -> Rel:
        """Somebody's rows."""
        way = self.dice.random()
        if deep <= 0 or way < 0.35:
            return self.base(self.pick(*PEOPLE))
        if way < 0.55:
            return self.rows(deep - 1)
        return self.folded(deep - 1) if way < 0.8 else self.united(deep - 1)

    def rows(self, deep: int) -> Rel:
        """A SELECT row by row."""
        inner, where = self.joined(deep)
        made = self.made(inner, self.dice.randint(1, 3))
        alias, unit = self.name(), self.pick("who", "who", "me")
        if self.dice.random() < 0.25:
            made.append((self.window(inner), "number"))
        items = [f"{self.unit(inner)} AS {unit}", *(f"{what} AS c{n}" for n, (what, _) in enumerate(made))]
        text = f"(SELECT {', '.join(items)} FROM {self.after(inner)}{where}) AS {alias}"
        return Rel(text, alias, {f"c{n}": kind for n, (_, kind) in enumerate(made)}, unit)

    def unit(self, rel: list[Rel]) -> str:
        """The unit of what is joined; a table that another owns has it without a name."""
        first = next(each for each in rel if each.unit is not None)
        return first.unit if first.text.startswith("lines ") else f"{first.alias}.{first.unit}"  # type: ignore[return-value]

    def after(self, rels: list[Rel]) -> str:
        return rels[0].text + "".join(each.text for each in rels[1:])

    def made(self, rels: list[Rel], many: int) -> list[tuple[str, str]]:
        """Expressions, with their kinds."""
        found = []
        for _ in range(many):
            rel = self.dice.choice(rels)
            name = self.dice.choice(list(rel.columns))
            what, kind = f"{rel.alias}.{name}", rel.columns[name]
            if kind == "number":
                what = self.pick(what, what, f"{what} * 2 - 1", f"CASE WHEN {what} > 1 THEN {what} END", f"-{what}")
            found.append((what, kind))
        return found

    def window(self, rels: list[Rel]) -> str:
        """A window over the rows of a unit; seldom over those of several, which is refused."""
        rel = self.dice.choice(rels)
        some = [f"{rel.alias}.{self.dice.choice(list(rel.columns))}" for _ in range(3)]
        number = rel.some(self.dice, "number") or "1"
        unit = self.unit(rels) if self.dice.random() < 0.95 else some[2]
        by = self.pick(unit, unit, f"{unit}, {some[0]}")
        order = self.pick("", f" ORDER BY {some[1]}", f" ORDER BY {some[1]} DESC NULLS FIRST, {number}")
        frame = self.pick("", "", "", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING")
        what = self.pick(
            "ROW_NUMBER()", "RANK()", "DENSE_RANK()", f"LAG({number})", f"LEAD({number}, 2)", f"LAG({number}, 1, 3)",
            f"FIRST_VALUE({number})", f"LAST_VALUE({number})", "COUNT(*)", f"SUM({number})", f"MIN({number})",
        )  # fmt: skip
        placed = what.startswith(("ROW", "RANK", "DENSE", "LAG", "LEAD"))
        return f"{what} OVER (PARTITION BY {by}{order}{'' if placed else frame})"

    def folded(self, deep: int) -> Rel:
        """What is added up for each unit, perhaps by something more."""
        inner, where = self.joined(deep)
        unit, alias = self.unit(inner), self.name()
        keys = [self.key(inner)] if self.dice.random() < 0.4 else []
        items, columns = [f"{unit} AS who"], Kinds()
        for n, (key, kind) in enumerate(keys):
            items.append(f"{key} AS g{n}")
            columns[f"g{n}"] = kind
        for n in range(self.dice.randint(1, 3)):
            what, kind = self.within(inner)
            items.append(f"{what} AS c{n}")
            columns[f"c{n}"] = kind
        by = ", ".join([unit, *(key for key, _ in keys)])
        having = self.pick("", "", " HAVING COUNT(*) > 1", " HAVING c0 IS NOT NULL")
        text = f"(SELECT {', '.join(items)} FROM {self.after(inner)}{where} GROUP BY {by}{having}) AS {alias}"
        return Rel(text, alias, columns)

    def within(self, rels: list[Rel]) -> tuple[str, str]:
        rel = self.dice.choice(rels)
        number, anything = rel.some(self.dice, "number"), f"{rel.alias}.{self.dice.choice(list(rel.columns))}"
        many = [("COUNT(*)", "number"), (f"COUNT({anything})", "number"), (f"COUNT(DISTINCT {anything})", "number")]
        if number is not None:
            many += [(f"{each}({number})", "number") for each in ("SUM", "AVG", "MIN", "MAX", "SUM")]
        text = rel.some(self.dice, "text", "key")
        return self.dice.choice(many + ([(f"MAX({text})", "text")] if text else []))

    def united(self, deep: int) -> Rel:
        """One after the other."""
        parts, alias = [], self.name()
        for _ in range(self.dice.randint(2, 3)):
            rel = (
                self.base(self.pick("visits", "labs", "bills", "visits", "lines"))
                if deep <= 0
                else self.relation(deep - 1)
            )
            number = rel.some(self.dice, "number") or "1"
            text = rel.some(self.dice, "text", "key") or self.pick("'x'", "'q'")
            where = f" WHERE {self.condition([rel])}" if self.dice.random() < 0.4 else ""
            parts.append(f"SELECT {self.unit([rel])} AS who, {number} AS c0, {text} AS c1 FROM {rel.text}{where}")
        return Rel(f"({' UNION ALL '.join(parts)}) AS {alias}", alias, {"c0": "number", "c1": "text"})

    # ── joins ────────────────────────────────────────────────────────────────────────────────────────────────

    def joined(self, deep: int, *, row: bool = False) -> tuple[list[Rel], str]:
        """Tables side by side, and a filter."""
        first = self.base("staff") if row else self.relation(deep)
        rels, conditions = [first], []
        for _ in range(self.dice.choice([0, 0, 1, 1, 2])):
            public = row or self.dice.random() < 0.4
            other = self.base(self.pick("towns", "towns", "regions")) if public else self.relation(deep - 1)
            on = self.on(rels, other, public=public)
            if on is None:
                continue
            way = self.pick("JOIN", "LEFT JOIN", ",")
            if way == "," and all(not each.text.startswith(" ") for each in rels[1:]):
                conditions.append(on)
                rels.append(Rel(f", {other.text}", other.alias, other.columns, other.unit))
            else:
                way = "JOIN" if way == "," else way
                rels.append(Rel(f" {way} {other.text} ON {on}", other.alias, other.columns, other.unit))
        conditions += [self.condition(rels) for _ in range(self.dice.choice([0, 0, 1]))]
        conditions += [self.test(rels[0], row=row) for _ in range(self.dice.choice([0, 0, 0, 1]))]
        return rels, f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def on(self, rels: list[Rel], other: Rel, *, public: bool) -> str | None:
        rel = self.dice.choice(rels) if public else rels[0]
        if public and "zip" in rel.columns and "zip" in other.columns and self.dice.random() < 0.5:
            a, b = f"{rel.alias}.zip", f"{other.alias}.zip"
        elif public or self.dice.random() < 0.06:  # people on something else than the unit: refused
            pairs = [(f"{rel.alias}.{a}", f"{other.alias}.{b}") for a, x in rel.columns.items()
                     for b, y in other.columns.items()
                     if (x == "number") == (y == "number") and "truth" not in (x, y)]  # fmt: skip
            if not pairs:
                return None
            a, b = self.dice.choice(pairs)
        elif other.text.startswith("lines ") or rel.text.startswith("lines "):
            if not (other.text.startswith(("bills ", "lines ")) and rel.text.startswith(("bills ", "lines "))):
                return None
            a, b = f"{rel.alias}.bill", f"{other.alias}.bill"
            if self.dice.random() < 0.3:  # the other column of a key of two
                return f"{a} = {b} AND {rel.alias}.part = {other.alias}.part"
        else:
            a, b = f"{rel.alias}.{rel.unit}", f"{other.alias}.{other.unit}"
        more = f" AND {self.condition([rel, other])}" if self.dice.random() < 0.2 else ""
        return self.pick(f"{a} = {b}", f"{b} = {a}") + more

    def test(self, rel: Rel, *, row: bool) -> str:
        """EXISTS, NOT EXISTS and IN."""
        other = self.base(self.pick("towns", "regions") if row or self.dice.random() < 0.3 else self.pick(*PEOPLE))
        on = self.on([rel], other, public=other.unit is None)
        if on is None:
            return "TRUE"
        if on.count("=") == 1 and " AND " not in on and self.dice.random() < 0.4:
            mine, theirs = sorted(on.split(" = "), key=lambda each: each.startswith(f"{other.alias}."))
            where = f" WHERE {self.condition([other])}" if self.dice.random() < 0.5 else ""
            return f"{mine} IN (SELECT {theirs} FROM {other.text}{where})"
        return f"{self.pick('', 'NOT ')}EXISTS (SELECT * FROM {other.text} WHERE {on})"

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────

    def condition(self, rels: list[Rel]) -> str:
        rel = self.dice.choice(rels)
        name = self.dice.choice(list(rel.columns))
        what, kind = f"{rel.alias}.{name}", rel.columns[name]
        if kind == "truth":
            return self.pick(what, f"NOT {what}", f"{what} IS NOT NULL")
        if kind in ("text", "key"):
            return self.pick(f"{what} IN ('x', '1', 'a')", f"{what} IS NULL", f"{what} <> 'y'")
        return self.pick(f"{what} > 0", f"{what} <= 1", f"{what} IS NOT NULL", f"({what} > 3 OR {what} IS NULL)")

    def key(self, rels: list[Rel]) -> tuple[str, str]:
        rel = self.dice.choice(rels)
        name = self.dice.choice(list(rel.columns))
        what, kind = f"{rel.alias}.{name}", rel.columns[name]
        if kind == "number":
            return self.pick(f"FLOOR({what} / 4)", f"{what} > 1"), "loose"
        return what, kind

    def aggregate(self, rels: list[Rel], unit: str | None) -> str:
        rel = self.dice.choice(rels)
        number, anything = rel.some(self.dice, "number"), f"{rel.alias}.{self.dice.choice(list(rel.columns))}"
        many = ["COUNT(*)", "COUNT(*)", f"COUNT({anything})", f"COUNT(DISTINCT {anything})"]
        many += [f"COUNT(DISTINCT {unit})"] * 2 if unit else []
        if number is not None:
            many += [
                f"SUM({number})",
                f"AVG({number})",
                f"SUM({number} * 2 - 3)",
                f"SUM({number})",
                f"VAR_SAMP({number})",
            ]
            second = self.dice.choice(rels).some(self.dice, "number")
            many += [f"CORR({number}, {second})"] if second and self.dice.random() < 0.3 else []
        return self.dice.choice(many)

    def question(self) -> str:
        row = self.dice.random() < 0.12
        rels, where = self.joined(2, row=row)
        unit = None if row else self.unit(rels)
        keys = [self.key(rels)[0] for _ in range(self.dice.choice([0, 0, 1, 1, 2]))]
        items = keys + [self.aggregate(rels, unit) for _ in range(self.dice.randint(1, 3))]
        if self.dice.random() < (0.2 if keys else 0.5):  # counts, to be planned as one
            items = keys + [f"COUNT(*) FILTER (WHERE {self.condition(rels)})" for _ in range(self.dice.randint(2, 4))]
        text = f"SELECT {', '.join(items)} FROM {self.after(rels)}{where}"
        return text + (f" GROUP BY {', '.join(keys)}" if keys else "")


def question(dice: random.Random) -> str:
    """A question."""
    return Writer(dice).question()
