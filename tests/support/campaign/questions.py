"""Random questions about a world, in which every alias is drawn from the names of units, columns and tables.

`question(dice, world)` writes one. The grammar knows which columns are in scope under which name, so that most
questions can be answered; a refusal is no failure. A few joins are on purpose of people who may not be the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from support.campaign.worlds import CODES, EXTREMES, FORMS, NAMES, PEOPLE, SHAPES, World

Kinds = dict[str, str]  # of each column that can be named: number, real, loose, text, key, flag or day
NUMERIC = ("number", "real")
HARSH = [0, 1, -1, 9, 10, *EXTREMES, *(-each for each in EXTREMES), 10**18, 10**18 + 1]
CONDITIONS: dict[str, list[str]] = {
    "flag": ["{}", "NOT {}", "{} IS NOT NULL"],
    "text": ["{} IN ('1', 'a', '01')", "{} IS NULL", "{} <> '2'", "{} LIKE '%1%'", "LENGTH({}) > 1"],
    "key": ["{} = 'x'", "{} <> 'y'", "{} IS NULL", "{} IN ('x', 'z')"],
    "day": ["{} > DATE '2024-02-01'", "MONTH({}) = 2", "{} IS NULL", "{} - DATE '2024-01-01' < 40"],
    "real": ["{} > 0", "{} < 50.5", "{} IS NULL", "{} * 3 > {c}", "{} <> {c}", "FLOOR({}) = 1"],
    "number": ["{} > 3", "{} <= 5", "{} = {c}", "({} > 7 OR {} IS NULL)", "{} * 2 <> {c}", "{} IN (1, 5, {c})"],
    "loose": ["{} > 3", "{} = {c}", "{} < {c}", "ABS({}) > {c}", "{} + 1 > {}", "{} IN (5, {c}, {c})", "{} IS NULL"],
}


@dataclass(frozen=True)
class Question:
    """A question; `row` where every row is a unit; `plain` where DuckDB itself would count the same for one unit."""

    sql: str
    row: bool = False
    plain: bool = False
    counts: str = ""  # of what kind a plain one is: rows or units
    focus: str = ""  # what it is after


@dataclass
class Rel:
    """What can stand after FROM: its text, its name, its columns, its unit."""

    text: str
    alias: str
    kinds: Kinds
    unit: str | None  # the name of its unit, where that can be named
    owner: str = "unit"  # or row, or public
    role: str = ""  # of a table
    plain: bool = True
    loose_unit: bool = False  # it is named without the table's name only
    bait: str = ""  # a column that has given its name to the unit

    @property
    def names(self) -> list[str]:
        return [*self.kinds, *([self.unit] if self.unit else [])]

    def some(self, dice: random.Random, *kinds: str) -> str | None:
        found = [name for name, kind in self.kinds.items() if kind in kinds]
        return dice.choice(found) if found else None


@dataclass
class Writer:
    """Writes one question about a world."""

    dice: random.Random
    world: World
    held: dict[str, Rel] = field(default_factory=dict)  # what WITH has made, by name
    hidden: set[str] = field(default_factory=set)  # tables that WITH has hidden
    focus: str = ""  # names: what a column is; joins: who meets whom; counts: what DuckDB counts, too

    def pick(self, *choices: Any) -> Any:
        return self.dice.choice(choices)

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    # ── names ────────────────────────────────────────────────────────────────────────────────────────────────

    def fresh(self, taken: Iterable[str]) -> str:
        """A name that nothing else here has: mostly one that something elsewhere has."""
        lower = {each.lower() for each in taken}
        found = [each for each in [*NAMES, *self.world.tables.values()] if each.lower() not in lower]
        name = self.dice.choice(found)
        return name.upper() if self.chance(0.1) and name.isascii() and name.upper().lower() == name.lower() else name

    def again(self, rels: list[Rel], taken: Iterable[str] = ()) -> str:
        """A new name for a column of a SELECT: half of them are names that something has where it comes from."""
        lower = {each.lower() for each in taken}
        inner = [name for rel in rels for name in (*rel.names, rel.alias) if name.lower() not in lower]
        return self.dice.choice(inner) if inner and self.chance(0.5) else self.fresh(taken)

    def written(self, name: str) -> str:
        plain = name.isidentifier() and name.isascii() and name.lower() not in ("key", "rows", "row")
        if self.chance(0.1) and name.isascii():
            name = name.swapcase()
        return name if plain and self.chance(0.7) else f'"{name}"'

    def ref(self, rels: list[Rel], rel: Rel, name: str) -> str:
        """A column as a question names it."""
        if rel.loose_unit and name == rel.unit:
            return self.written(name)
        alone = sum(name.lower() == each.lower() for other in rels for each in other.names) == 1
        bare = alone and self.chance(0.4) and not any(each.loose_unit for each in rels)
        return self.written(name) if bare else f"{self.written(rel.alias)}.{self.written(name)}"

    def unit(self, rels: list[Rel]) -> str | None:
        """The unit of what is joined."""
        for each in rels:
            if each.owner == "unit" and each.unit is not None and not each.text.startswith(" LEFT"):
                if each.loose_unit and len(rels) > 1:
                    continue
                return self.ref(rels, each, each.unit)
        return None

    # ── relations ────────────────────────────────────────────────────────────────────────────────────────────

    def base(self, role: str, taken: Iterable[str]) -> Rel | None:
        """A table, under its own name or under another."""
        name, named = self.world.tables[role], self.world.names[role]
        if name.lower() in self.hidden:
            return None
        kinds = {named[each]: each for each in SHAPES[role] if each not in ("unit", "bill")}
        unit, loose = named.get("unit"), False
        if role == "lines":
            unit, loose = self.world.names["bills"]["unit"], True
            if unit.lower() in {each.lower() for each in named.values()}:
                unit = None
        owner = "unit" if role in PEOPLE else "row" if role == "staff" else "public"
        alias = name if self.chance(0.3) else self.fresh(taken)
        if alias.lower() in {each.lower() for each in taken}:
            alias = self.fresh(taken)
        text = (
            self.written(name) if alias == name else f"{self.written(name)} {self.pick('AS ', '')}{self.quoted(alias)}"
        )
        return Rel(text, alias, kinds, unit, owner, role, loose_unit=loose,
                   plain=role in (*PEOPLE[:-1], "staff") or (role == "towns" and not self.world.twice))  # fmt: skip

    def quoted(self, name: str) -> str:
        """A name where a bare word may be read as something else."""
        return f'"{name}"' if self.chance(0.5) or not name.isidentifier() or not name.isascii() else name

    def relation(self, deep: int, taken: Iterable[str]) -> Rel:
        """Somebody's rows."""
        way = self.dice.random()
        if self.held and way < 0.3:
            name = self.dice.choice(list(self.held))
            alias = self.fresh(taken)
            rel = self.held[name]
            return replace(rel, text=f"{self.written(name)} AS {self.quoted(alias)}", alias=alias)
        found = None
        if deep > 0 and way < (0.95 if self.focus == "names" else 0.75):
            ways = [self.rows, self.rows, self.rows, self.folded, self.united]
            found = self.pick(*ways, *([self.rows] * 6 if self.focus in ("names", "joins") else []))(deep - 1, taken)
        while found is None:
            found = self.base(
                self.pick("visits", "visits", "visits", "labs", "labs", "people", "bills", "lines"), taken
            )
            if found is None and all(self.world.tables[each].lower() in self.hidden for each in PEOPLE):
                return self.relation(0, taken)
        return found

    def rows(self, deep: int, taken: Iterable[str]) -> Rel | None:
        """A SELECT row by row."""
        rels, where = self.joined(deep)
        plain = all(each.plain for each in rels)
        alias, unit = self.fresh(taken), self.unit(rels)
        if len(rels) == 1 and self.chance(0.15):
            only = rels[0]
            if only.role != "lines":
                return Rel(f"(SELECT * FROM {only.text}{where}) AS {self.quoted(alias)}", alias, only.kinds, only.unit,
                           plain=plain, bait=only.bait)  # fmt: skip
        items, kinds, called, bait = [], Kinds(), None, ""
        if unit is not None and self.chance(0.9):
            called = self.again(rels)
            items.append(f"{unit} AS {self.quoted(called or '')}")
        if (
            called is not None and len(rels) == 1 and self.chance(0.8 if self.focus == "names" else 0.4)
        ):  # the unit takes the name of a column
            name, kind = self.pick(*rels[0].kinds.items())
            called = self.pick(name, name, rels[0].alias)
            items[0] = f"{unit} AS {self.quoted(called)}"
            other = self.again(rels, [called])
            kinds[other] = kind
            bait = other
            items.append(f"{self.ref(rels, rels[0], name)} AS {self.quoted(other)}")
        for _ in range(self.dice.randint(1, 3)):
            what, kind = self.made(rels)
            if unit is not None and self.chance(0.12):
                what, kind, plain = self.window(rels, unit), "loose", False  # a choice, where an order is of some rows
            name = self.again(rels, [*kinds, *([called] if called else [])])
            kinds[name] = kind
            items.append(f"{what} AS {self.quoted(name)}")
        self.dice.shuffle(items)
        text = f"(SELECT {', '.join(items)} FROM {self.after(rels)}{where}) AS {self.quoted(alias)}"
        return Rel(text, alias, kinds, called, plain=plain, bait=bait)

    def after(self, rels: list[Rel]) -> str:
        return rels[0].text + "".join(each.text for each in rels[1:])

    def made(self, rels: list[Rel]) -> tuple[str, str]:
        """An expression, with its kind."""
        rel = self.dice.choice(rels)
        name = self.dice.choice(list(rel.kinds))
        what, kind = self.ref(rels, rel, name), rel.kinds[name]
        harsh = self.dice.choice(HARSH)
        if self.chance(0.6):
            return what, kind
        if kind in NUMERIC:
            return self.pick(
                (f"{what} * 2 - 1", kind), (f"-{what}", kind),
                (f"CASE WHEN {self.condition(rels)} THEN {what} END", kind),
                (f"ABS({what})", kind), (f"{what} * 0 + {harsh}", kind), (f"FLOOR({what} / 3)", kind),
                (f"COALESCE({what}, 0)", kind), (f"LEAST({what}, 4)", kind), (f"{what} > 3", "flag"),
            )  # fmt: skip
        if kind == "loose":
            return self.pick(
                (f"{what} + 0", "loose"), (f"ABS({what})", "loose"), (f"LEAST(GREATEST({what}, 0), 9)", "number"),
                (f"CAST({what} AS BIGINT)", "loose"), (f"{what} * 0 + {harsh}", "loose"), (f"{what} % 7", "loose"),
                (f"CAST({what} AS TEXT)", "text"), (f"{what} - {harsh}", "loose"),
            )  # fmt: skip
        if kind in ("text", "key"):
            return self.pick((f"LOWER({what})", "text"), (f"{what} || 'x'", "text"), (f"LEFT({what}, 1)", "text"),
                             (f"COALESCE({what}, 'x')", "text"))  # fmt: skip
        return (f"NOT {what}", "flag") if kind == "flag" else (f"MONTH({what})", "number")

    def window(self, rels: list[Rel], unit: str) -> str:
        """A window over the rows of a unit; sometimes over those that share something else, which is refused."""
        rel = self.dice.choice(rels)
        some = [self.ref(rels, rel, self.dice.choice(list(rel.kinds))) for _ in range(3)]
        number = rel.some(self.dice, *NUMERIC)
        named = "1" if number is None else self.ref(rels, rel, number)
        by = self.pick(unit, unit, unit, f"{unit}, {some[0]}", f"{some[0]}, {unit}", some[0])
        order = self.pick("", f" ORDER BY {some[1]}", f" ORDER BY {some[1]} DESC, {some[2]} NULLS FIRST")
        what = self.pick("ROW_NUMBER()", "RANK()", f"LAG({some[2]})", f"LEAD({named}, 2)", f"FIRST_VALUE({some[1]})",
                         f"LAST_VALUE({named})", "COUNT(*)", f"SUM({named})", f"MAX({some[1]})")  # fmt: skip
        return f"{what} OVER (PARTITION BY {by}{order})"

    def folded(self, deep: int, taken: Iterable[str]) -> Rel | None:
        """What is added up for each unit, perhaps by something more."""
        rels, where = self.joined(deep)
        unit = self.unit(rels)
        if unit is None:
            return None
        alias, called = self.fresh(taken), self.again(rels)
        items, kinds, by = [f"{unit} AS {self.quoted(called)}"], Kinds(), [unit]
        if self.chance(0.4):
            rel = self.dice.choice(rels)
            if (name := rel.some(self.dice, "key", "text", "flag", "loose")) is not None:
                key, named = self.ref(rels, rel, name), self.again(rels, [called])
                items.append(f"{key} AS {self.quoted(named)}")
                kinds[named] = rel.kinds[name]
                by.append(key)
        for _ in range(self.dice.randint(1, 3)):
            what, kind = self.within(rels)
            named = self.again(rels, [called, *kinds])
            items.append(f"{what} AS {self.quoted(named)}")
            kinds[named] = kind
        having = self.pick("", "", "", " HAVING COUNT(*) > 1")
        text = f"(SELECT {', '.join(items)} FROM {self.after(rels)}{where} GROUP BY {', '.join(by)}{having})"
        return Rel(f"{text} AS {self.quoted(alias)}", alias, kinds, called, plain=all(each.plain for each in rels))

    def within(self, rels: list[Rel]) -> tuple[str, str]:
        """An aggregate of one unit's rows."""
        rel = self.dice.choice(rels)
        anything = self.ref(rels, rel, self.dice.choice(list(rel.kinds)))
        many = [("COUNT(*)", "number"), (f"COUNT({anything})", "number"), (f"COUNT(DISTINCT {anything})", "number")]
        if (number := rel.some(self.dice, *NUMERIC)) is not None:
            named = self.ref(rels, rel, number)
            many += [(f"{each}({named})", "real") for each in ("SUM", "AVG", "MIN", "MAX", "SUM")]
        if (loose := rel.some(self.dice, "loose", "text")) is not None:
            many.append((f"{self.pick('MIN', 'MAX')}({self.ref(rels, rel, loose)})", rel.kinds[loose]))
        return self.dice.choice(many)

    def united(self, deep: int, taken: Iterable[str]) -> Rel | None:
        """One after the other: columns by their place, under the names of the first."""
        parts, alias = [], self.fresh(taken)
        names: list[str] = []
        plain = True
        for _ in range(self.dice.randint(2, 3)):
            rel = self.relation(deep if self.chance(0.3) else 0, ())
            unit = self.unit([rel])
            number, text = rel.some(self.dice, *NUMERIC), rel.some(self.dice, "text", "key")
            if unit is None:
                return None
            what = [unit, "1" if number is None else self.ref([rel], rel, number),
                    "'x'" if text is None else self.ref([rel], rel, text)]  # fmt: skip
            called: list[str] = []
            for _ in what:
                called.append(self.again([rel], called))
            names = names or called
            where = f" WHERE {self.condition([rel])}" if self.chance(0.3) else ""
            items = ", ".join(f"{one} AS {self.quoted(name)}" for one, name in zip(what, called, strict=True))
            parts.append(f"SELECT {items} FROM {rel.text}{where}")
            plain = plain and rel.plain
        kinds = {names[1]: "real", names[2]: "text"}
        return Rel(f"({' UNION ALL '.join(parts)}) AS {self.quoted(alias)}", alias, kinds, names[0], plain=plain)

    # ── joins ────────────────────────────────────────────────────────────────────────────────────────────────

    def joined(self, deep: int, *, row: bool = False) -> tuple[list[Rel], str]:
        """Tables side by side, and a filter."""
        first = self.base("staff", ()) if row else None
        rels, conditions = [first or self.relation(deep, ())], list[str]()
        many = {"names": [0, 0, 0, 0, 0, 1], "joins": [0, 1, 1, 2], "counts": [0, 1, 1, 2]}.get(
            self.focus, [0, 0, 0, 1, 1, 2]
        )
        for _ in range(self.dice.choice(many)):
            taken = [each.alias for each in rels]
            public = rels[0].owner == "row" or self.chance(0.35)
            other = self.base(self.pick("towns", "codes"), taken) if public else self.relation(deep - 1, taken)
            if other is None:
                continue
            if (
                other.owner == "unit"
                and not rels[0].loose_unit
                and self.chance(0.35 if self.focus == "joins" else 0.05)
            ):
                found = self.decoy(rels, taken)
                if found is not None:
                    rels.append(
                        replace(found[0], text=f" {self.pick('JOIN', 'LEFT JOIN')} {found[0].text} ON {found[1]}")
                    )
                    continue
            self._join(rels, conditions, other)
        if self.chance(0.9 if self.focus == "counts" else 0.4):
            conditions.append(self.condition(rels))
        if self.chance(0.2):
            conditions.append(self.test(rels))
        conditions = [each for each in conditions if each]
        return rels, f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def _join(self, rels: list[Rel], conditions: list[str], other: Rel) -> None:
        first = rels[0]
        shared = [a for a in first.names for b in other.names if a.lower() == b.lower()]
        same = other.unit is not None and first.unit is not None and first.unit.lower() == other.unit.lower()
        using = same if other.owner == "unit" else any(a in shared for a in first.kinds)
        if len(rels) == 1 and using and not other.loose_unit and not first.loose_unit and self.chance(0.6):
            name = first.unit if other.owner == "unit" else self.dice.choice([a for a in shared if a in first.kinds])
            way = self.pick("JOIN", "LEFT JOIN")
            joined = replace(other, text=f" {way} {other.text} USING ({self.written(name or '')})")
            joined.kinds = {k: v for k, v in other.kinds.items() if k.lower() != (name or "").lower()}
            joined.unit = None if other.unit and other.unit.lower() == (name or "").lower() else other.unit
            if joined.kinds:
                rels.append(joined)
            return
        on = self.on([*rels, other], rels, other)
        if on is None:
            return
        way = self.pick("JOIN", "LEFT JOIN", ",")
        if way == "," and all(each.text.startswith(",") for each in rels[1:]):
            conditions.append(on)
            rels.append(replace(other, text=f", {other.text}"))
        else:
            way = "JOIN" if way == "," else way
            rels.append(replace(other, text=f" {way} {other.text} ON {on}"))

    def decoy(self, rels: list[Rel], taken: Iterable[str]) -> tuple[Rel, str] | None:
        """Somebody's rows beside a constant near somebody's unit, and a join that takes both for the unit."""
        base = self.base(self.pick("visits", "labs", "people"), ())
        if base is None or base.unit is None or rels[0].unit is None:
            return None
        form = FORMS[self.world.form]
        constant = form.literal.format(self.pick(*form.plain, *(each[0] for each in form.hostile)))
        number = base.some(self.dice, "number", "loose")
        assert number is not None
        named = self.ref([base], base, number)
        whole = constant.lstrip("-").isdigit()
        made = self.pick(f"COALESCE({named}, 0) * 0 + {constant}", f"ABS({constant} + {named} * 0)",
                         f"CAST({constant} AS BIGINT)",
                         f"LEAST({constant}, {constant})", constant) if whole else self.pick(
                             constant, f"COALESCE({constant}, {constant})")  # fmt: skip
        unit = self.again([base])
        decoy = self.again([base], [unit])
        more = self.again([base], [unit, decoy])
        alias = self.fresh(taken)
        whose = self.ref([base], base, base.unit)
        text = (f"(SELECT {whose} AS {self.quoted(unit)}, {made} AS {self.quoted(decoy)}, {named} AS"
                f" {self.quoted(more)} FROM {base.text}) AS {self.quoted(alias)}")  # fmt: skip
        rel = Rel(text, alias, {more: base.kinds[number]}, unit, plain=False)
        a, b = f"{self.quoted(alias)}.{self.quoted(decoy)}", f"{self.quoted(alias)}.{self.quoted(unit)}"
        mine = f"{self.quoted(rels[0].alias)}.{self.quoted(rels[0].unit)}"
        return rel, self.pick(f"{mine} = {a} AND {b} = {a}", f"{a} = {mine} AND {a} = {b}", f"{mine} = {a}")

    def on(self, every: list[Rel], rels: list[Rel], other: Rel) -> str | None:
        """What two relations are joined on: the unit, mostly; of public ones anything."""
        rel = self.dice.choice(rels) if other.owner == "public" else rels[0]
        if other.owner == "public":
            kinds = {"towns": ("text", "key"), "codes": ("loose", "number")}[other.role]
            theirs, mine = other.some(self.dice, kinds[0]), rel.some(self.dice, *kinds)
            if theirs is None or mine is None:
                return None
            named, there = self.ref(every, rel, mine), self.ref(every, other, theirs)
            if rel.kinds[mine] in ("loose", "number") and self.chance(0.5):
                code = self.dice.choice([each for each, *_ in CODES if each is not None])
                named = self.pick(
                    f"{named} + 0", f"ABS({named})", f"{named} * 0 + {code}", f"COALESCE({named}, 0) * 0 + {code}"
                )
            return self.pick(f"{named} = {there}", f"{there} = {named}")
        if rel.role == "lines" or other.role == "lines":
            if {rel.role, other.role} > {"lines", "bills"} or rel.role not in ("bills", "lines") or not other.role:
                return None
            if other.role not in ("bills", "lines"):
                return None
            a, b = (
                f"{self.written(each.alias)}.{self.written(self.world.names[each.role]['bill'])}"
                for each in (rel, other)
            )
            return f"{a} = {b}"
        if rel.unit is None or other.unit is None:
            return None
        mine, theirs = self.ref(every, rel, rel.unit), self.ref(every, other, other.unit)
        plain = self.pick(f"{mine} = {theirs}", f"{theirs} = {mine}")
        if self.chance(0.8):
            return plain + (f" AND {self.condition([rel, other], every)}" if self.chance(0.2) else "")
        return self._doubtful(every, (rel, mine), (other, theirs), plain)

    def _doubtful(self, every: list[Rel], one: tuple[Rel, str], two: tuple[Rel, str], plain: str) -> str:
        """A join of people who may not be the same: it must be refused, or be harmless."""
        (rel, mine), (other, theirs) = one, two
        column = other.some(self.dice, "loose", "text", "number")
        third = None if column is None else self.ref(every, other, column)
        form = FORMS[self.world.form]
        constant = form.literal.format(self.pick(*form.plain, *(each[0] for each in form.hostile)))
        return self.pick(
            f"{mine} = {third} AND {theirs} = {third}", f"{mine} = {third}", f"{mine} + 0 = {theirs}",
            f"{mine} = {constant} AND {theirs} = {constant}", f"({plain} OR {self.condition([rel, other], every)})",
            f"CAST({mine} AS TEXT) = CAST({theirs} AS TEXT)", f"{mine} >= {theirs} AND {mine} <= {theirs}",
            f"{mine} IN ({theirs})", f"CAST({mine} AS DOUBLE) = CAST({theirs} AS DOUBLE)", plain, plain,
        ) if third is not None else plain  # fmt: skip

    def test(self, rels: list[Rel]) -> str:
        """EXISTS, NOT EXISTS and IN."""
        rel, taken = rels[0], [each.alias for each in rels]
        public = rel.owner == "row" or self.chance(0.3)
        other = self.base(self.pick("towns", "codes") if public else self.pick("visits", "labs", "people"), taken)
        if other is None:
            return ""
        every = [other, *rels]
        on = self.on(every, [rel], other)
        if on is None:
            return ""
        if other.owner == "unit" and self.chance(0.3) and rel.unit is not None and other.unit is not None:
            where = f" WHERE {self.condition([other])}" if self.chance(0.5) else ""
            mine = self.ref(rels, rel, rel.unit)
            return f"{mine} IN (SELECT {self.ref([other], other, other.unit)} FROM {other.text}{where})"
        more = f" AND {self.condition([other], every)}" if self.chance(0.3) else ""
        return f"{self.pick('', 'NOT ')}EXISTS (SELECT * FROM {other.text} WHERE {on}{more})"

    def condition(self, rels: list[Rel], every: list[Rel] | None = None) -> str:
        rel = self.dice.choice(rels)
        name = self.dice.choice(list(rel.kinds))
        what = self.ref(every or rels, rel, name)
        text = self.dice.choice(CONDITIONS[rel.kinds[name]])
        return text.replace("{c}", str(self.dice.choice(HARSH))).replace("{}", what)

    # ── the question ─────────────────────────────────────────────────────────────────────────────────────────

    def aggregate(self, rels: list[Rel], unit: str | None) -> str:
        rel = self.dice.choice(rels)
        anything = self.ref(rels, rel, self.dice.choice(list(rel.kinds)))
        if self.chance(0.8 if self.focus == "names" else 0.3):  # who, or what, is told from others
            what = self.pick(anything, anything, unit or anything)
            if rel.bait and self.chance(0.6):
                what = self.ref(rels, rel, rel.bait)
            return self.pick(
                f"COUNT(DISTINCT {what})", f"COUNT(DISTINCT {what}) FILTER (WHERE {self.condition(rels)})",
                f"COUNT(DISTINCT {what}) FILTER (WHERE {self.condition(rels)})",
                f"COUNT(DISTINCT CASE WHEN {self.condition(rels)} THEN {what} END)", f"COUNT({what})",
            )  # fmt: skip
        many = ["COUNT(*)", "COUNT(*)", f"COUNT({anything})"]
        if (named := rel.some(self.dice, *NUMERIC)) is not None:
            number = self.ref(rels, rel, named)
            many += [f"{each}({number})" for each in ("SUM", "AVG", "SUM", "VAR_SAMP", "MEDIAN", "MAX", "STDDEV_POP")]
            many += [f"SUM({number} * 2 - 3)", f"QUANTILE({number}, [0.25, 0.9])", f"HISTOGRAM({number}, [1, 3, 5])"]
            if (second := rel.some(self.dice, *NUMERIC)) is not None:
                many += [f"{self.pick('CORR', 'COVAR_SAMP', 'REGR_SLOPE')}({number}, {self.ref(rels, rel, second)})"]
        if (named := rel.some(self.dice, "key")) is not None:
            many += [f"MODE({self.ref(rels, rel, named)})"]
        found = self.dice.choice(many)
        plain = not found.startswith(("HISTOGRAM", "MODE", "QUANTILE"))
        return f"{found} FILTER (WHERE {self.condition(rels)})" if plain and self.chance(0.3) else found

    def key(self, rels: list[Rel]) -> str:
        rel = self.dice.choice(rels)
        name = self.dice.choice([each for each, kind in rel.kinds.items() if rel.role != "codes" or kind != "loose"])
        what = self.ref(rels, rel, name)
        return self.pick(f"FLOOR({what} / 4)", f"{what} > 1", what) if rel.kinds[name] in ("number", "real") else what

    def ctes(self) -> str:
        """WITH: what it makes may be called like a table, which it hides from then on."""
        texts = []
        for _ in range(self.dice.choice([0, 0, 0, 1, 1, 2])):
            name = self.fresh(self.held)
            rel = self.relation(2, ())
            if not rel.text.startswith("("):
                continue
            inner = rel.text[1 : rel.text.rindex(") AS ")]
            texts.append(f"{self.quoted(name)} AS ({inner})")
            self.hidden.add(name.lower())
            self.held[name] = rel
        return f"WITH {', '.join(texts)} " if texts else ""

    def question(self) -> Question:
        """The whole of it."""
        self.focus = self.focus or self.pick("", "", "", "names", "names", "joins", "joins", "counts")
        before = self.ctes()
        row = self.chance(0.12) and self.world.tables["staff"].lower() not in self.hidden
        rels, where = self.joined(self.pick(1, 2) if self.focus else 2, row=row)
        unit = None if rels[0].owner != "unit" else self.unit(rels)
        after = f"FROM {self.after(rels)}{where}"
        row = rels[0].owner == "row"
        if self.chance(1 if self.focus == "counts" else 0.15):  # what DuckDB can count by itself
            counts = "units" if unit is not None and self.chance(0.5) else "rows"
            what = f"COUNT(DISTINCT {unit})" if counts == "units" else "COUNT(*)"
            plain = all(each.plain for each in rels)
            return Question(f"{before}SELECT {what} {after}", row, plain, counts, self.focus)
        keys = [self.key(rels) for _ in range(self.dice.choice([0, 0, 0, 1, 1, 2]))]
        items = [self.aggregate(rels, unit) for _ in range(self.dice.choice([1, 1, 2, 3]))]
        if self.chance(0.15):  # counts, to be planned as one
            items = [f"COUNT(*) FILTER (WHERE {self.condition(rels)})" for _ in range(self.dice.randint(2, 6))]
        called: list[str] = []
        for n, each in enumerate(items):
            if self.chance(0.5) and not each.startswith(("HISTOGRAM", "QUANTILE")):
                called.append(self.fresh(called))
                items[n] = f"{each} AS {self.quoted(called[-1])}"
        if keys and self.chance(0.1):
            return Question(f"{before}SELECT DISTINCT {', '.join(keys)} {after}", row, focus=self.focus)
        text = f"{before}SELECT {', '.join([*keys, *items])} {after}"
        if keys:
            by = ", ".join(keys) if self.chance(0.7) else ", ".join(str(n + 1) for n in range(len(keys)))
            text += f" GROUP BY {self.pick('ROLLUP', 'CUBE')} ({by})" if self.chance(0.08) else f" GROUP BY {by}"
            text += self.pick("", "", "", " HAVING COUNT(*) > 3", f" ORDER BY {len(keys) + 1} DESC LIMIT 2")
        return Question(text, row, focus=self.focus)


def question(dice: random.Random, world: World, focus: str = "") -> Question:
    """A question about a world, perhaps of one kind."""
    return Writer(dice, world, focus=focus).question()
