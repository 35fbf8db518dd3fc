"""Questions of hostile names: that of the unit for something else, those of tables for columns, stars, USING."""

from __future__ import annotations

from support.lineage import table

__all__ = ["BREACHES", "MISNAMED", "PEOPLE", "PLAIN", "SHAPES", "STRANGERS", "TABLES"]

TABLES = [
    table("visits", "pid", rows_per_unit=8, columns={"ward": {}, "age": (0, 120), "sex": ["F", "M"]}),
    table("labs", "pid", rows_per_unit=6, columns={"pid": {}, "ward": {}, "level": (0, 120)}),
    table("bills", "pid", key="bill", rows_per_unit=5, columns={"paid": {}}),
    table("lines", "bill -> bills.bill", rows_per_unit=7, columns={"item": {}, "cost": (0, 120)}),
    table("towns", public=True),
]
PEOPLE = [
    "CREATE TABLE visits AS SELECT i % 9 AS pid, 'w' || i % 4 AS ward, i % 70 AS age, ['F', 'M'][1 + i % 2] AS sex"
    " FROM range(20) t(i)",
    "CREATE TABLE labs AS SELECT i % 9 AS pid, 'w' || i % 5 AS ward, i % 60 AS level FROM range(15) t(i)",
    "CREATE TABLE bills AS SELECT i AS bill, i % 9 AS pid, i % 2 = 0 AS paid FROM range(12) t(i)",
    "CREATE TABLE lines AS SELECT i % 12 AS bill, 'x' || i % 6 AS item, i % 50 AS cost FROM range(25) t(i)",
    "CREATE TABLE towns AS SELECT 'w' || i AS ward, i AS size FROM range(6) t(i)",
]

RENAMED = "SELECT pid AS ward, ward AS w, age FROM visits"
SWAPPED = "SELECT pid AS ward, ward AS pid, age FROM visits"
BREACHES = [  # values of a column that were counted as people
    f"SELECT COUNT(DISTINCT w) FILTER (WHERE age >= 0) FROM ({RENAMED})",
    f"SELECT COUNT(DISTINCT CASE WHEN age >= 0 THEN pid END) FROM ({SWAPPED})",
    f"SELECT COUNT(DISTINCT pid) FILTER (WHERE age >= 0) FROM (SELECT * FROM ({SWAPPED}))",
    f"WITH t AS ({SWAPPED}) SELECT COUNT(DISTINCT t.pid) FILTER (WHERE t.age >= 0) FROM t",
    f"SELECT COUNT(DISTINCT x) FILTER (WHERE age >= 0) FROM (SELECT pid AS x, age, ward AS ward FROM ({SWAPPED}))",
    "SELECT COUNT(DISTINCT ward) FILTER (WHERE c > 0) FROM"
    " (SELECT pid AS k1, ward, COUNT(*) AS c FROM visits GROUP BY pid, ward)",
    "SELECT COUNT(DISTINCT x) FILTER (WHERE level > 1) FROM"
    ' (SELECT v.pid AS "ward of 2", l.ward AS x, level FROM visits v JOIN labs l ON v.pid = l.pid)',
    "SELECT COUNT(DISTINCT x) FILTER (WHERE level > 1) FROM"
    " (SELECT l.pid AS ward, v.ward AS x, level FROM visits v JOIN labs l USING (pid))",
    "SELECT COUNT(DISTINCT i) FILTER (WHERE cost >= 0) FROM"
    " (SELECT b.pid AS item, l.item AS i, cost FROM lines l JOIN bills b ON l.bill = b.bill)",
    f"SELECT sex, COUNT(DISTINCT w) FILTER (WHERE age >= 0) FROM ({RENAMED.replace('age', 'age, sex')}) GROUP BY sex",
]
MISNAMED = [
    "SELECT COUNT(DISTINCT zzz.pid) FROM visits",
    "SELECT COUNT(DISTINCT visits.pid) FROM visits v",
    "SELECT COUNT(DISTINCT labs.pid) FROM visits",
    "SELECT COUNT(DISTINCT v.pid) FROM (SELECT pid, age FROM visits v)",
    "SELECT COUNT(DISTINCT zzz.pid) FILTER (WHERE age > 3) FROM visits",
    "SELECT sex, COUNT(DISTINCT zzz.pid) FROM visits GROUP BY sex",
    "SELECT COUNT(DISTINCT z.pid) FROM visits v JOIN labs l ON v.pid = l.pid",
    "SELECT COUNT(DISTINCT visits.pid) FROM visits v JOIN labs l ON v.pid = l.pid",
    "SELECT COUNT(DISTINCT bills.pid) FROM lines",
    "SELECT COUNT(*) FROM (SELECT zz.* FROM visits v)",
    "SELECT COUNT(*) FROM (SELECT visits.* FROM visits v)",
    "SELECT COUNT(*) FROM (SELECT z.* FROM visits v JOIN labs l ON v.pid = l.pid)",
    "SELECT COUNT(level) FROM (SELECT v.* FROM visits v JOIN labs l ON v.pid = l.pid)",
    "SELECT COUNT(z.*) FROM visits v",
    "SELECT SUM(c) FROM (SELECT zzz.pid, COUNT(*) AS c FROM visits GROUP BY zzz.pid)",
    "SELECT COUNT(*) FROM visits v JOIN labs v ON v.pid = v.pid",
    "SELECT COUNT(DISTINCT v.pid) FROM visits v JOIN labs v USING (pid)",
]
STRANGERS = [  # names that no column of the question's own tables has
    "SELECT COUNT(*) FROM lines WHERE pid = 5",
    'SELECT COUNT(*) FROM lines WHERE "bill of 2" = 5',
    'SELECT COUNT(*) FROM visits v JOIN towns t ON t.ward = "ward of 3"'
    " WHERE EXISTS (SELECT * FROM labs l WHERE l.pid = v.pid)",
    'SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT * FROM labs l WHERE l.pid = v.pid AND "ward of 2" = v.ward)',
    'SELECT COUNT(*) FROM visits v LEFT JOIN lines l ON l.bill = "bill of 3" AND v.pid = "pid of 3"',
    "SELECT COUNT(*) FROM (SELECT pid AS a, pid AS b, age FROM visits)",
    "SELECT COUNT(*) FROM (SELECT pid AS x, ward AS y FROM visits UNION ALL SELECT ward, pid FROM labs)",
    "SELECT COUNT(*) FROM (SELECT pid, ward FROM visits UNION ALL SELECT ward FROM labs)",
    "SELECT COUNT(*) FROM (SELECT ward FROM visits UNION ALL SELECT ward, pid FROM labs)",
    "SELECT COUNT(*) FROM visits a JOIN labs b ON a.pid = b.pid JOIN towns t USING (ward)",
    "WITH t (a, b) AS (SELECT COUNT(*) AS x, SUM(age) AS x FROM visits) SELECT a, b FROM t",
]

INSIDE = "SELECT pid AS {a}, ward AS {b}, age AS {c} FROM visits"
OTHER = "SELECT pid AS {a}, ward AS {b}, level AS {c} FROM labs"
BOTH = "COUNT(DISTINCT {b}) FILTER (WHERE {c} >= 3), COUNT(DISTINCT CASE WHEN {c} >= 3 THEN {a} END)"
MORE = f"{BOTH}, COUNT(DISTINCT {{a}}), COUNT(DISTINCT {{b}}), SUM({{c}})"
ITS = MORE.replace("{a}", "{d}.{a}").replace("{b}", "{d}.{b}").replace("{c}", "{d}.{c}")
SHAPES = {
    "renamed": f"SELECT {MORE} FROM ({INSIDE})",
    "qualified": f"SELECT {ITS} FROM ({INSIDE}) AS {{d}}",
    "with": f"WITH {{d}} AS ({INSIDE}) SELECT {MORE} FROM {{d}}",
    "listed": f"WITH {{d}} ({{a}}, {{b}}, {{c}}) AS (SELECT pid, ward, age FROM visits) SELECT {MORE} FROM {{d}}",
    "star": f"SELECT {MORE} FROM (SELECT * FROM ({INSIDE}))",
    "its star": f"SELECT {MORE} FROM (SELECT {{d}}.* FROM ({INSIDE}) AS {{d}})",
    "turned": f"SELECT {MORE} FROM (SELECT {{c}} AS {{a}}, {{a}} AS {{b}}, {{b}} AS {{c}} FROM"
    " (SELECT pid AS {c}, ward AS {a}, age AS {b} FROM visits))",
    "filtered": f"SELECT {MORE} FROM (SELECT {{c}} AS {{a}}, {{a}} AS {{b}}, {{b}} AS {{c}} FROM"
    " (SELECT pid AS {c}, ward AS {a}, age AS {b} FROM visits WHERE age < 60) WHERE {b} > 1) WHERE {c} > 2",
    "folded": f"SELECT {MORE} FROM (SELECT pid AS {{a}}, ward AS {{b}}, COUNT(*) AS {{c}} FROM visits"
    " GROUP BY visits.pid, visits.ward)".replace("pid AS", "visits.pid AS").replace("ward AS", "visits.ward AS"),
    "folded of renamed": f"SELECT {BOTH} FROM (SELECT {{b}}, {{a}}, MAX({{c}}) AS {{c}} FROM ({INSIDE}) GROUP BY 1, 2)",
    "folded once": f"SELECT SUM({{b}}), COUNT(DISTINCT {{a}}) FILTER (WHERE {{b}} > 1) FROM"
    f" (SELECT {{a}}, COUNT(DISTINCT {{b}}) AS {{b}} FROM ({INSIDE}) GROUP BY {{a}})",
    "joined": f"SELECT {MORE} FROM (SELECT v.pid AS {{a}}, l.ward AS {{b}}, l.level AS {{c}} FROM visits v"
    " JOIN labs l ON v.pid = l.pid)",
    "joined the other way": f"SELECT {MORE} FROM (SELECT l.pid AS {{a}}, v.ward AS {{b}}, l.level AS {{c}}"
    " FROM visits v JOIN labs l USING (pid))",
    "left": f"SELECT {MORE} FROM (SELECT v.pid AS {{a}}, l.ward AS {{b}}, l.level AS {{c}} FROM visits v"
    " LEFT JOIN labs l ON v.pid = l.pid)",
    "sides": "SELECT COUNT(DISTINCT {d}.{b}) FILTER (WHERE {d}.{c} > 3), COUNT(DISTINCT {d}.{a}), COUNT(DISTINCT"
    f" v.pid) FILTER (WHERE {{d}}.{{c}} > 3), SUM(v.age) FROM visits v JOIN ({OTHER}) AS {{d}} ON v.pid = {{d}}.{{a}}",
    "left sides": "SELECT COUNT(DISTINCT {d}.{b}) FILTER (WHERE {d}.{c} > 3), COUNT(DISTINCT {d}.{a}), COUNT(DISTINCT"
    f" v.pid), SUM(v.age) FROM visits v LEFT JOIN ({OTHER}) AS {{d}} ON v.pid = {{d}}.{{a}}",
    "tables": "SELECT COUNT(DISTINCT {b}.ward) FILTER (WHERE {b}.level > 3), COUNT(DISTINCT {a}.pid), COUNT(DISTINCT"
    " {b}.pid), SUM({a}.age) FROM visits AS {a} JOIN labs AS {b} ON {a}.pid = {b}.pid",
    "itself": "SELECT COUNT(DISTINCT {b}.ward) FILTER (WHERE {a}.age > 3), COUNT(DISTINCT {a}.pid), COUNT(DISTINCT"
    " {b}.pid) FROM visits AS {a} JOIN visits AS {b} ON {a}.pid = {b}.pid",
    "exists": f"SELECT {MORE} FROM ({INSIDE}) AS o WHERE EXISTS (SELECT * FROM"
    " (SELECT pid AS {b}, ward AS {c}, level AS {a} FROM labs) AS i WHERE i.{b} = o.{a} AND {a} > o.{c})",
    "not exists": f"SELECT {MORE} FROM ({INSIDE}) AS {{d}} WHERE NOT EXISTS"
    f" (SELECT * FROM ({OTHER}) AS i WHERE i.{{a}} = {{d}}.{{a}} AND {{c}} > 20)",
    "in": f"SELECT {MORE} FROM ({INSIDE}) AS {{d}} WHERE {{d}}.{{a}} IN (SELECT {{b}} FROM"
    " (SELECT ward AS {a}, pid AS {b}, level AS {c} FROM labs) AS {d} WHERE {d}.{c} > 3)",
    "united": f"SELECT {MORE} FROM ({INSIDE} UNION ALL SELECT pid AS {{b}}, ward AS {{c}}, level AS {{a}} FROM labs)",
    "united and joined": f"SELECT {BOTH} FROM ({INSIDE} UNION ALL {OTHER}) AS {{d}} JOIN (SELECT pid AS p, paid FROM"
    " bills) AS x ON x.p = {d}.{a}",
    "through": f"SELECT {MORE} FROM (SELECT b.pid AS {{a}}, l.item AS {{b}}, l.cost AS {{c}} FROM lines l"
    " JOIN bills b ON l.bill = b.bill)",
    "through nobody": "SELECT COUNT(DISTINCT {b}) FILTER (WHERE {c} > 3), SUM({c}) FROM"
    " (SELECT item AS {b}, cost AS {c} FROM lines)",
    "public": f"SELECT {MORE} FROM (SELECT pid AS {{a}}, v.ward AS {{b}}, size AS {{c}} FROM visits v"
    " JOIN towns t ON v.ward = t.ward)",
    "grouped": "SELECT {b}, COUNT(DISTINCT {a}) FILTER (WHERE {c} > 3) AS m, COUNT(DISTINCT {d}) FILTER (WHERE {c} > 3)"
    " AS n FROM (SELECT pid AS {a}, sex AS {b}, age AS {c}, ward AS {d} FROM visits) GROUP BY {b} ORDER BY n",
    "grouped by an alias": "SELECT sex AS {b}, COUNT(DISTINCT pid) AS {c}, COUNT(*) AS {a} FROM visits GROUP BY 1"
    " HAVING {a} > 0 ORDER BY {c}",
}
PLAIN = {"a": "f1", "b": "f2", "c": "f3", "d": "f4"}
