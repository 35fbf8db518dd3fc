"""Random questions about the clinic of `fixtures.py`: most of them SQL, some of them answerable, some of them noise.

`question(n)` is always the same text for the same n.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from support.fixtures import blocks

COLUMNS = {  # by what they hold; the unit and some columns that nobody declared are among them
    "people": {
        "number": ["age", "height", "weight", "income", "born", "score", '"größe"'],
        "text": ["sex", "zip"],
        "truth": ["smoker"],
    },
    "visits": {
        "number": ["age", "storey", "cost", "fever", "balance", "fee", "code", "minutes", "patient_id"],
        "text": ["sex", "ward", "nurse"],
        "truth": ["night", "urgent"],
    },
    "stays": {"number": ["days", '"Person Nr"'], "text": ["kind"], "truth": ["days > 3"]},
    "labs": {"number": ["level", "patient_id"], "text": ["test"], "truth": ["level > 0"]},
    "trips": {"number": ["line", "rider"], "text": ["place"], "truth": ["line = 3"]},
    "wards": {"number": ["1"], "text": ["ward"], "truth": ["TRUE"]},
    "tours": {
        "number": ["price", "n", "guest"],
        "text": ["zone", "grade", "note"],
        "truth": ["n > 2"],
        "moment": ["day", "born", "holiday", "paid", "seen"],
    },
    "patients": {"number": ["born", "patient_id"], "text": ["zip"], "truth": ["born > 1950"]},
    "bills": {"number": ["patient_id", "bill"], "text": ["'x'"], "truth": ["paid"]},
    "lines": {"number": ["amount", "bill"], "text": ["item"], "truth": ["amount > 3"]},
}
TABLES = ["people"] * 10 + ["visits"] * 12 + ["tours"] * 10 + ["labs", "trips", "patients", "bills", "lines"] * 3
TABLES += ["stays", "wards"]
UNITS = ("patient_id", "rider", "guest", '"Person Nr"')
NUMBERS = [
    "0",
    "1",
    "-1",
    "2",
    "10",
    "65",
    "0.5",
    "-0.0",
    "1e3",
    "1e-30",
    "1e30",
    "99999999999999999999",
    "NULL",
    "9223372036854775807",
    "-9223372036854775808",
    "3.14159265358979",
    ".5",
    "5.",
]
MOMENTS = [
    "DATE '2024-01-31'",
    "DATE '0001-01-01'",
    "DATE '9999-12-31'",
    "TIMESTAMP '2024-02-29 23:59:59.999999'",
    "'2024-06-01'",
    "CAST('2024-03-03 10:00' AS TIMESTAMP)",
    "NULL",
]
SPANS = ["1 DAY", "'90' DAY", "1 MONTH", "1000 YEAR", "-3 WEEK", "'1 year 2 days'", "90 MINUTE", "5000 YEAR", "'x'"]
DATE_PARTS = ["year", "month", "day", "dow", "isodow", "doy", "week", "quarter", "yearweek", "hour", "second", "epoch"]
SPREADS = ["year", "quarter", "month", "week", "day", "hour", "minute", "century"]
STRANGE = ["1_000", "0x1F", "1e400", "9" * 50, "E'\\n'", "$$x$$"]
TEXTS = [
    "''",
    "'F'",
    "'it''s'",
    "'%'",
    "'_'",
    "'W0'",
    "'nan'",
    "'inf'",
    "'12'",
    "'ünï'",
    "'🏥'",
    "'a\\b'",
    "'--'",
    "';'",
    "NULL",
    "'\x7f'",
    "'\u202e'",
]
ODD = [
    "\0",
    "\ud800",
    "'",
    '"',
    "`",
    "(",
    ")",
    ";",
    "--",
    "/*",
    "*/",
    "\\",
    "\n",
    "\t",
    "\r",
    "é",
    "𝔘",
    "\u202e",
    "%",
    "?",
    "$1",
    ":x",
    "::INT",
    "[1]",
    "{",
    "}",
    "->",
    "|>",
    "~",
    "@",
    "#",
    "!",
    "^",
    "&",
    "|",
    "<<",
    "..",
    "9" * 70,
    " OVER ()",
    " FILTER (WHERE TRUE)",
    " DISTINCT ",
    " ALL ",
    " NULL ",
    " *",
    ", ",
    "=",
    " AS x",
    " COLLATE x",
    " UNION SELECT 1",
    " LIMIT 1",
    " SELECT ",
    " FROM people ",
    "COUNT(*)",
    "released",
    "k0",
    "a0",
    '"\x01row"',
    "\x01row",
    "u",
    "h",
    "$salt",
    "LATERAL ",
    "ESCAPE 'x'",
]


@dataclass
class Writer:
    """Writes one question."""

    dice: random.Random
    table: str  # whose columns are named
    wild: float  # how often something of the wrong kind stands somewhere
    beside: bool = False  # whether other tables stand beside it

    def pick(self, *choices: str) -> str:
        return self.dice.choice(choices)

    def many(self, low: int, high: int) -> range:
        return range(self.dice.randint(low, high))

    def some(self, kind: str, deep: int) -> str:
        if self.dice.random() < self.wild:
            kind = self.pick("number", "text", "truth", "moment")
        kinds = {"number": self.number, "text": self.text, "truth": self.truth, "moment": self.moment}
        return kinds[kind](deep)

    def column(self, kind: str) -> str:
        names = COLUMNS[self.table][kind]
        name = self.dice.choice(
            names if self.wild or len(names) == 1 else [each for each in names if each not in UNITS]
        )
        return self.own(name) if self.dice.random() < (0.97 if self.beside else 0.05) else name

    def own(self, name: str) -> str:
        """A column with the name of its table."""
        return f"{self.table}.{name}" if name.replace('"', "").isidentifier() else name

    def moment(self, deep: int) -> str:
        """A date or a timestamp."""
        if deep <= 0 or self.dice.random() < 0.4:
            there = "moment" in COLUMNS[self.table] and self.dice.random() < 0.8
            return self.column("moment") if there else self.dice.choice(MOMENTS)
        n, a = deep - 1, self.some("moment", deep - 1)
        return self.pick(
            f"{a} {self.pick('+', '-')} INTERVAL {self.dice.choice(SPANS)}",
            f"{a} {self.pick('+', '-')} {self.some('number', n)}",
            f"CAST({a} AS {self.pick('DATE', 'TIMESTAMP')})",
            f"CAST({self.some('text', n)} AS DATE)",
            f"DATE_TRUNC('{self.dice.choice(SPREADS)}', {a})",
            f"LAST_DAY({a})",
            f"{self.pick('LEAST', 'GREATEST', 'COALESCE', 'NULLIF')}({a}, {self.some('moment', n)})",
            f"CASE WHEN {self.some('truth', n)} THEN {a} ELSE {self.some('moment', n)} END",
        )

    def number(self, deep: int) -> str:
        if deep <= 0 or self.dice.random() < 0.3:
            return self.column("number") if self.dice.random() < 0.7 else self.dice.choice(NUMBERS)
        n, a, b = deep - 1, self.some("number", deep - 1), self.some("number", deep - 1)
        if self.dice.random() < (0.4 if self.table == "tours" else 0.05):
            return self.part(n)
        return self.pick(
            f"{a} {self.pick('+', '-', '*', '/', '%', '**', '//')} {b}",
            f"({a})",
            f"-{a}",
            f"ABS({a})",
            f"SIGN({a})",
            f"FLOOR({a})",
            f"CEIL({a})",
            f"FLOOR({a} / 10) * 10",
            f"ROUND({a})",
            f"ROUND({a}, {self.pick('1', '-1', '0', '15', '-15', b)})",
            f"SQRT({a})",
            f"LN({a})",
            f"EXP({a})",
            f"POWER({a}, {self.pick('2', '0.5', '-1', '16', b)})",
            f"LEAST({a}, {b})",
            f"GREATEST({a}, {b})",
            f"LEAST(GREATEST({a}, -5), 50)",
            f"COALESCE({a}, {b})",
            f"NULLIF({a}, {b})",
            f"CASE WHEN {self.some('truth', n)} THEN {a} ELSE {b} END",
            f"CASE {a} WHEN {b} THEN {a} END",
            f"IF({self.some('truth', n)}, {a}, {b})",
            f"CAST({self.some(self.pick('number', 'text', 'truth'), n)} AS {self.pick('INT', 'DOUBLE', 'BIGINT')})",
            f"LENGTH({self.some('text', n)})",
            f"TRY_CAST({self.some('text', n)} AS DOUBLE)",
        )

    def part(self, n: int) -> str:
        """A number of a date or of a text."""
        moment, text = self.some("moment", n), self.some("text", n)
        return self.pick(
            f"EXTRACT({self.dice.choice(DATE_PARTS)} FROM {moment})",
            f"{self.pick('YEAR', 'MONTH', 'DAY', 'ISODOW', 'HOUR')}({moment})",
            f"DATE_DIFF('{self.dice.choice(SPREADS)}', {moment}, {self.some('moment', n)})",
            f"{moment} - {self.some('moment', n)}",
            f"STRPOS({text}, {self.dice.choice(TEXTS)})",
            f"WIDTH_BUCKET({self.some('number', n)}, 0, 50, {self.pick('5', '1', '0')})",
            f"{self.pick('TRUNC', 'LOG10', 'LOG2', 'SIGN')}({self.some('number', n)})",
        )

    def text(self, deep: int) -> str:
        if deep <= 0 or self.dice.random() < 0.4:
            return self.column("text") if self.dice.random() < 0.7 else self.dice.choice(TEXTS)
        n, a = deep - 1, self.some("text", deep - 1)
        return self.pick(
            f"LOWER({a})",
            f"UPPER({a})",
            f"{self.pick('TRIM', 'LTRIM', 'RTRIM', 'REVERSE')}({a})",
            f"{self.pick('LEFT', 'RIGHT')}({a}, {self.pick('1', '0', '3', '-1')})",
            f"REPLACE({a}, {self.dice.choice(TEXTS)}, 'xy')",
            f"SPLIT_PART({a}, '-', {self.pick('1', '2', '0')})",
            f"{self.pick('LPAD', 'RPAD')}({a}, {self.pick('2', '9', '5000')}, {self.pick('0', 'ab')!r})",
            f"{self.pick('MONTHNAME', 'DAYNAME')}({self.some('moment', n)})",
            f"SUBSTRING({a}, {self.pick('1', '0', '2', '9999', '-1')}, {self.pick('1', '3', '0')})",
            f"SUBSTRING({a}, 2)",
            f"CONCAT({a}, {self.some('text', n)})",
            f"{a} || {self.some('text', n)}",
            f"COALESCE({a}, {self.some('text', n)})",
            f"NULLIF({a}, {self.some('text', n)})",
            f"CASE WHEN {self.some('truth', n)} THEN {a} ELSE {self.some('text', n)} END",
            f"CAST({self.some(self.pick('number', 'truth', 'text'), n)} AS TEXT)",
        )

    def truth(self, deep: int) -> str:
        if deep <= 0 or self.dice.random() < 0.2:
            return self.column("truth") if self.dice.random() < 0.8 else self.pick("TRUE", "FALSE", "NULL")
        n, kind = deep - 1, self.pick("number", "text", "moment" if self.table == "tours" else "number")
        a, b = self.some(kind, n), self.some(kind, n)
        pool = {"number": NUMBERS, "text": TEXTS, "moment": MOMENTS}[kind]
        few = ", ".join(self.dice.choice(pool) for _ in self.many(1, 4))
        pattern = self.pick("'%'", "'a_%'", "'\\'", "'%'''", "''", "'%%%%%%%%%%%%x'")
        return self.pick(
            f"{a} {self.pick('=', '<>', '<', '<=', '>', '>=', '!=', '==')} {b}",
            f"{a} IS {self.pick('', 'NOT ')}NULL",
            f"{a} {self.pick('', 'NOT ')}IN ({few})",
            f"{a} {self.pick('', 'NOT ')}BETWEEN {b} AND {self.some(kind, n)}",
            f"{self.some('text', n)} {self.pick('', 'NOT ')}{self.pick('LIKE', 'ILIKE')} {pattern}",
            f"NOT {self.some('truth', n)}",
            f"{self.pick('STARTS_WITH', 'CONTAINS', 'ENDS_WITH')}({self.some('text', n)}, {self.dice.choice(TEXTS)})",
            f"({self.some('truth', n)} {self.pick('AND', 'OR')} {self.some('truth', n)})",
            f"{self.some('truth', n)} IS {self.pick('TRUE', 'NOT FALSE', 'NULL')}",
            f"CAST({a} AS BOOLEAN)",
        )

    def bounded(self) -> str:
        """Something that can be summed, more often than not."""
        known = {
            "people": ["age", "height", "weight", "score"],
            "visits": ["age", "cost", "fever", "balance", "minutes"],
            "tours": ["price", "n", "day - DATE '2024-01-01'", "MONTH(born)"],
        }
        column = self.dice.choice(known.get(self.table, COLUMNS[self.table]["number"]))
        column = self.own(column) if self.beside else column
        return self.pick(
            column,
            column,
            f"{column} * 2",
            f"CASE WHEN {self.some('truth', 1)} THEN {column} END",
            f"LEAST(GREATEST({self.some('number', 2)}, -10), 100)",
            self.some("truth", 2),
            self.some("number", 2),
        )

    def aggregate(self) -> str:
        unit = {"stays": '"Person Nr"', "trips": "rider", "tours": "guest"}.get(self.table, "patient_id")
        return self.pick(
            "COUNT(*)",
            "COUNT(*)",
            f"SUM({self.bounded()})",
            f"AVG({self.bounded()})",
            f"SUM({self.bounded()})",
            f"COUNT({self.some(self.pick('number', 'text', 'truth'), 2)})",
            "COUNT(1)",
            f"{self.pick('COUNT(*)', 'SUM(1)')} FILTER (WHERE {self.some('truth', 1)})",
            f"{self.pick('VAR_SAMP', 'STDDEV', 'VAR_POP', 'STDDEV_POP')}({self.bounded()})",
            f"{self.pick('CORR', 'COVAR_SAMP', 'REGR_SLOPE')}({self.bounded()}, {self.bounded()})",
            f"COUNT(DISTINCT {self.some(self.pick('number', 'text', 'truth'), 2)})",
            f"COUNT(DISTINCT {self.own(unit) if self.beside else unit})"
            if self.table != "people" or self.wild
            else "COUNT(zip)",
            f"MAX({self.some('number', 1)})" if self.wild else "COUNT(1)",
        )

    def key(self) -> str:
        declared = {
            "people": ["sex", "smoker", '"größe"', "FLOOR(age / 10)", "zip", "born"],
            "visits": ["sex", "ward", "storey", "night", "nurse", "code"],
            "tours": ["day", "holiday", "born", "DATE_TRUNC('month', day)", "MONTH(born)", "LEFT(grade, 1)", "zone"],
        }
        plain = self.dice.choice(declared.get(self.table, COLUMNS[self.table]["text"]))
        plain = self.own(plain) if self.beside else plain
        odd = self.some(self.pick("number", "text", "truth"), 2)
        return self.pick(plain, plain, odd, f"FLOOR({self.some('number', 1)})", self.some("text", 1))

    def above(self, names: list[str], deep: int = 2) -> str:
        """An expression over numbers of the answer: kinds fit by chance only."""
        if deep <= 0 or self.dice.random() < 0.4:
            return self.dice.choice(names)
        a, b = self.above(names, deep - 1), self.above(names, deep - 1)
        if not self.wild:
            number = self.dice.choice(NUMBERS)
            return self.pick(
                f"{a} {self.pick('+', '-', '*', '/', '%')} {self.pick(b, number)}",
                f"-{a}",
                f"ABS({a})",
                f"SQRT({a})",
                f"LN({a})",
                f"EXP({a})",
                f"POWER({a}, 2)",
                f"ROUND({a}, 1)",
                f"FLOOR({a})",
                f"CAST({a} AS INT)",
                f"COALESCE({a}, {b})",
                f"NULLIF({a}, 0)",
                f"GREATEST({a}, 0)",
                f"CASE WHEN {a} > {number} THEN {a} ELSE {b} END",
            )
        other = self.dice.choice(NUMBERS + TEXTS + STRANGE)
        return self.pick(
            f"{a} {self.pick('+', '-', '*', '/', '%', '=', '<', '||', 'AND')} {self.pick(b, other)}",
            f"-{a}",
            f"ABS({a})",
            f"SQRT({a})",
            f"LN({a})",
            f"EXP({a})",
            f"POWER({a}, {self.pick(b, '2', '99')})",
            f"ROUND({a}, {self.pick('1', '-3', b)})",
            f"SIGN({a})",
            f"CAST({a} AS {self.pick('INT', 'DOUBLE', 'TEXT', 'BOOLEAN', 'TINYINT')})",
            f"COALESCE({a}, {self.pick(b, other)})",
            f"NULLIF({a}, {self.pick(b, other)})",
            f"CASE WHEN {a} > {self.pick(b, other)} THEN {a} ELSE {self.pick(b, other)} END",
            f"{a} IN ({b}, {other})",
            f"{a} BETWEEN {b} AND {other}",
            f"LENGTH({a})",
            f"LOWER({a})",
            f"SUBSTRING({a}, {b})",
            f"{a} LIKE '%1%'",
            f"LEAST({a}, {b})",
            f"GREATEST({a}, {other})",
            f"CONCAT({a}, {b})",
            f"TRIM({a})",
            f"NOT {a}",
            f"{a} IS NULL",
            f"IF({a}, {b}, {other})",
            f"CASE {a} WHEN {other} THEN {b} END",
        )

    def window(self, names: list[str]) -> str:
        a, b = self.dice.choice(names), self.above(names, 1)
        frame = self.pick(
            "",
            "",
            " ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING",
            " ROWS UNBOUNDED PRECEDING",
            " ROWS BETWEEN 2 FOLLOWING AND 1 PRECEDING",
        )
        over = f"({self.pick('', f'PARTITION BY {a} ')}ORDER BY {b}{self.pick('', ' DESC', ' NULLS FIRST')}{frame})"
        call = self.pick(
            "ROW_NUMBER()",
            "RANK()",
            "DENSE_RANK()",
            "PERCENT_RANK()",
            "CUME_DIST()",
            "COUNT(*)",
            f"SUM({a})",
            f"NTILE({self.pick('3', '0', a)})",
            f"AVG({b})",
            f"MIN({a})",
            f"LAG({a})",
            f"LEAD({a}, {self.pick('1', '-1', b)}, 0)",
            f"LAG({a}, 1, {self.dice.choice(TEXTS)})",
            f"FIRST_VALUE({a})",
            f"LAST_VALUE({b})",
        )
        return f"{call} OVER {self.pick(over, over, '()')}"

    def select(self) -> str:
        source = self.after()
        self.beside = " JOIN " in source or ", " in source.partition("(")[0]
        keys = [self.key() for _ in self.many(0, 2)]
        numbers = [self.aggregate() for _ in self.many(0 if keys and self.wild else 1, 3)]
        named = [(key, f"g{i}") for i, key in enumerate(keys)] + [(each, f"n{i}") for i, each in enumerate(numbers)]
        names = [name for _, name in named]
        both = [each for pair in named for each in pair if self.wild or pair[1].startswith("n")] or names
        items = [f"{what} AS {name}" if self.dice.random() < 0.9 else what for what, name in named]
        items += [f"{self.above(both)} AS x{i}" for i in self.many(0, 1) if numbers or self.wild]
        items += [f"{self.window(both)} AS w{i}" for i in self.many(0, 1) if self.dice.random() < 0.4]
        text = f"SELECT {self.pick(*[''] * 8, 'DISTINCT ')}{', '.join(items)} FROM {source}"
        conditions = [self.some("truth", 2)] if self.dice.random() < 0.5 else []
        conditions += [self.test()] if self.dice.random() < 0.15 else []
        text += f" WHERE {' AND '.join(conditions)}" if conditions else ""
        if keys:
            way = self.pick("keys", "names", "numbers", "all")
            by = {
                "keys": keys,
                "names": names[: len(keys)],
                "numbers": [str(i + 1) for i in range(len(keys))],
                "all": ["ALL"],
            }
            text += f" GROUP BY {', '.join(by[way])}"
        if self.dice.random() < 0.2:
            text += f" HAVING {self.above(both)} > {self.above(both)}"
        if self.dice.random() < 0.1:
            text += f" QUALIFY {self.window(both)} > 1"
        return text + self.tail(both)

    def after(self) -> str:
        """What stands after FROM: the table, mostly; or others beside it, or a SELECT or a UNION under its name."""
        if self.dice.random() < 0.6:
            return self.table
        unit = {"stays": '"Person Nr"', "trips": "rider", "lines": "bill"}.get(self.table, "patient_id")
        every = [
            name for names in COLUMNS[self.table].values() for name in names if name.replace('"', "").isidentifier()
        ]
        columns = ", ".join(dict.fromkeys([*every, unit] if self.table != "people" or self.wild else every))
        folded = [
            f"{self.pick('MAX', 'MIN', 'SUM', 'AVG', 'COUNT')}({each}) AS {each}" for each in every if each != unit
        ]
        part = f"SELECT {columns} FROM {self.table}"
        other = self.pick("patients", "labs", "visits", "bills", self.table)
        public = self.pick("towns AS o ON zip = o.zip", "wards AS o ON ward = o.ward", "towns AS o USING (zip)",
                           "towns AS o ON age = o.people", "regions AS o ON item = o.region")  # fmt: skip
        return self.pick(
            f"{self.table} {self.pick('', 'LEFT ')}JOIN {other} AS o ON {self.table}.{unit} = o.{unit}",
            f"{self.table} JOIN {other} AS o USING ({unit})",
            f"{self.table}, {other} AS o WHERE {self.table}.{unit} = o.{unit} AND TRUE" if self.wild else self.table,
            f"{self.table} {self.pick('', 'LEFT ')}JOIN {public}",
            f"({part} WHERE {self.some('truth', 1)}) AS {self.table}",
            f"({part} UNION ALL {part} WHERE {self.some('truth', 1)}) AS {self.table}",
            f"(SELECT {', '.join([unit, *folded])} FROM {self.table} GROUP BY {unit}) AS {self.table}",
            f"(SELECT {columns} FROM {self.table} JOIN {other} AS o USING ({unit})) AS {self.table}",
        )

    def test(self) -> str:
        """A condition that another table decides."""
        unit = {"stays": '"Person Nr"', "trips": "rider", "lines": "bill"}.get(self.table, "patient_id")
        other = self.pick("patients", "labs", "visits", "bills", "lines")
        return self.pick(
            f"{self.pick('', 'NOT ')}EXISTS (SELECT * FROM {other} AS e WHERE e.{unit} = {self.table}.{unit})",
            f"{self.pick('', 'NOT ')}EXISTS (SELECT 1 FROM towns WHERE towns.zip = {self.some('text', 1)})",
            f"{unit} IN (SELECT {unit} FROM {other})",
            f"{self.some('text', 1)} IN (SELECT {self.pick('zip', 'town', 'region')} FROM towns WHERE people > 5)",
            f"{unit} IN (SELECT {unit} FROM {other} GROUP BY {unit} HAVING COUNT(*) > 1)",
        )

    def tail(self, names: list[str]) -> str:
        text = ""
        if self.dice.random() < 0.3:
            strange = self.pick("2", "-1", "NULL") if self.wild else "1"
            by = self.pick(self.above(names), "1", self.dice.choice(names), strange)
            text += f" ORDER BY {by}{self.pick('', ' DESC')}"
        if self.dice.random() < 0.15:
            text += f" LIMIT {self.pick('0', '1', '5', self.pick('999999999', '-1', '1.5'))}"
        return text + (f" OFFSET {self.pick('0', '1', '1000')}" if self.dice.random() < 0.05 else "")

    def outer(self) -> str:
        """A SELECT around it, or several."""
        inner = self.select()
        if self.dice.random() < 0.7:
            return inner
        names = ["g0", "n0", "n1", "x0", "w0", "t.n0", '"n0"', "*"] if self.wild else ["n0"]
        folded = self.dice.random() < 0.4
        each, every = self.above(names), self.above(names)
        what = (
            self.pick(f"SUM({each})", f"MAX({each}), COUNT(*)", f"AVG(DISTINCT {each})")
            if folded
            else (self.pick("*", each, self.window(names)))
        )
        rest = (
            self.pick("", f" HAVING COUNT(*) > {len(every)}", f" GROUP BY {every}") if folded else f" WHERE {every} > 1"
        )
        if self.dice.random() < 0.5:
            name = self.pick("t", self.table, "released")
            return f"WITH {name} AS ({inner}) SELECT {what} FROM {name}{rest}{self.tail(names)}"
        return f"SELECT {what} FROM ({inner}) AS t{rest}{self.tail(names)}"


def question(number: int) -> str:
    """The question of this number."""
    dice = random.Random(number)
    kind = dice.random()
    if kind < 0.7:
        return Writer(dice, dice.choice(TABLES), dice.choice([0.0, 0.0, 0.0, 0.02, 0.1])).outer()
    text = dice.choice(KNOWN) if kind < 0.95 else Writer(dice, dice.choice(TABLES), 0.0).outer()
    for _ in range(dice.choice([1, 1, 2, 3, 8])):
        text = mutated(text, dice)
    return text


KNOWN = [each.sql for each in blocks() if len(each.sql) < 500]


def mutated(text: str, dice: random.Random) -> str:
    """The text with something done to it."""
    at = dice.randrange(len(text) + 1)
    to = min(len(text), at + dice.choice([1, 1, 2, 5, 20]))
    way = dice.randrange(7)
    if way == 0:
        return text[:at] + text[to:]
    if way == 1:
        return text[:at] + dice.choice(ODD) + text[at:]
    if way == 2:
        return text[:at] + dice.choice(ODD) + text[to:]
    if way == 3:
        return text[:to] + text[at:to] * dice.choice([1, 1, 30]) + text[to:]
    if way == 4:
        return (
            text[:at]
            + chr(dice.choice([dice.randrange(128), dice.randrange(0x3000), dice.randrange(0x10FFFF)]))
            + text[to:]
        )
    words = text.split(" ")
    i, j = dice.randrange(len(words)), dice.randrange(len(words))
    if way == 5:
        words[i], words[j] = words[j], words[i]
    else:
        words[i] = dice.choice(dice.choice(KNOWN).split(" "))
    return " ".join(words)
