"""`discreet demo`: the first five minutes, on two public data sets, with nothing to configure.

A survey of 6,366 married women (Fair 1978) comes with statsmodels, a panel of 545 men over eight years (Vella and
Verbeek 1998) with linearmodels. The user of the demo plays the owner, so exact numbers may stand beside the private
ones.
"""

from __future__ import annotations

import argparse
import bz2
import csv
import importlib.util
import shlex
import tempfile
import textwrap
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.terminal import say
from discreet.errors import NotUnderstood, Refusal

if TYPE_CHECKING:
    from discreet.curator.curator import Curator

__all__ = ["add"]

WIDEST = 108  # columns of a terminal
DATA = {
    "survey": ("statsmodels", "datasets/fair/fair.csv"),
    "wages": ("linearmodels", "datasets/wage_panel/wage_panel.csv.bz2"),
}
CATALOGUES = {
    "survey": """\
[dataset]
name = "survey"
source = "survey.csv"
budget = { epsilon = "3", delta = "1e-6" }     # for all questions together

[tables.survey]
unit = "row"                                   # one row is one person
columns.rate_marriage = { values = ["1", "2", "3", "4", "5"], required = true }   # everybody has said one
columns.age = { min = 15, max = 60, step = "0.5" }
columns.affairs = { min = 0, max = 60, step = "0.1" }
columns.occupation = { }                       # nothing is promised about it
""",
    "wages": """\
[dataset]
name = "wages"
source = "wages.csv"
budget = { epsilon = "3", delta = "1e-6" }

[tables.wages]
unit = "nr"                                    # one person, eight rows: the person is protected, not the row
rows_per_unit = 8
columns.year = { values = ["1980", "1981", "1982", "1983", "1984", "1985", "1986", "1987"], required = true }
columns.married = { values = ["0", "1"], required = true }
columns.hours = { min = 0, max = 5000, step = 1 }
columns.lwage = { min = 0, max = 4, step = "0.01" }   # the logarithm of the hourly wage
""",
}
RATED = "SELECT rate_marriage, COUNT(*) AS women FROM survey GROUP BY rate_marriage"
UNFAITHFUL = "SELECT COUNT(*) AS women FROM survey WHERE affairs > 0"


def add(commands: Any) -> None:
    """Add the command to the command line."""
    demo = commands.add_parser("demo", help="the first five minutes, on real data, nothing to configure")
    demo.add_argument("--keep", metavar="FOLDER", help="leave data, catalogues and ledgers in a new folder")
    demo.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> None:
    places = {name: _found(*where) for name, where in DATA.items()}
    if options.keep is None:
        with tempfile.TemporaryDirectory() as folder:
            _steps(Path(folder), places)
        say("\nNext: discreet demo --keep FOLDER leaves all this to go on with; discreet init DATA starts with yours.")
        return
    kept = Path(options.keep)
    try:
        kept.mkdir(parents=True)
    except OSError:
        raise NotUnderstood(
            f"{kept} cannot be made, or is there already.", code="cannot-write", instead="name a new folder"
        ) from None
    _steps(kept, places)
    say(f"\nGo on asking: cd {shlex.quote(str(kept))}, and try any of the commands above.")


def _found(package: str, path: str) -> Path:
    """Return the path of a file of an installed package, without importing the package, which would take seconds."""
    spec = importlib.util.find_spec(package)
    for folder in [] if spec is None else spec.submodule_search_locations or []:
        if (Path(folder) / path).is_file():
            return Path(folder) / path
    raise NotUnderstood(
        f"the demo asks about data that come with {package}.",
        code="not-installed",
        instead='pip install "discreet[demo]"',
    )


def _steps(folder: Path, places: Mapping[str, Path]) -> None:
    from discreet.curator.curator import Curator  # noqa: PLC0415

    for name, place in places.items():
        data = place.read_bytes()
        (folder / f"{name}.csv").write_bytes(bz2.decompress(data) if place.suffix == ".bz2" else data)
        (folder / f"{name}.toml").write_text(CATALOGUES[name], "utf-8")
    with Curator.load(folder / "survey.toml", marks=folder / "marks") as survey:
        _survey(survey, _rows(folder / "survey.csv"))
    with Curator.load(folder / "wages.toml", marks=folder / "marks") as wages:
        _wages(wages, _rows(folder / "wages.csv"))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# ── one row is one person ────────────────────────────────────────────────────────────────────────────────────────


def _survey(survey: Curator, rows: list[dict[str, str]]) -> None:
    say(f"A survey of {len(rows):,} married women. survey.toml says what may be asked, and what all of it may cost:\n")
    _show(CATALOGUES["survey"])

    _head("1. Count, by group")
    _ask(survey, RATED, "0.5")
    exact = Counter(row["rate_marriage"] for row in rows)
    _owner(", ".join(f"{rate}: {exact[rate]:,}" for rate in sorted(exact)))
    _say("Each answer has noise, and says how much. Whether any one woman took part hardly changes what is printed.")

    _head("2. An average, and the count beside it for nothing")
    _ask(survey, "SELECT AVG(age) AS age, COUNT(*) AS women FROM survey WHERE affairs > 0", "0.2")
    ages = [float(row["age"]) for row in rows if float(row["affairs"]) > 0]
    _owner(f"{sum(ages) / len(ages):.3f} of {len(ages):,}")

    _head("3. Look at the price before you pay")
    _typed("explain", survey, UNFAITHFUL, "--epsilon 0.05")
    _show(str(survey.explain(UNFAITHFUL, epsilon="0.05")))
    _say("Explaining is free: it sees no data.")

    _head("4. Or say how exact it must be, and pay the least for that")
    _ask(survey, UNFAITHFUL, within="25")
    _owner(f"{len(ages):,}")

    _head("5. The same question again costs nothing, and so does what follows from its numbers")
    _ask(survey, f"{RATED} HAVING COUNT(*) > 1000 ORDER BY women DESC", "0.5")
    _say("The same noise as in 1: asking again and taking the average would not get closer to the truth.")

    _head("6. Groups that nobody listed: only those that many people share are named")
    _ask(survey, "SELECT occupation, COUNT(*) AS women FROM survey GROUP BY occupation ORDER BY women DESC", "0.3")
    exact = Counter(row["occupation"] for row in rows)
    _owner(", ".join(f"{job}: {count:,}" for job, count in exact.most_common()))
    _say("A name that few people share could point at one of them, so it is left out, but for a chance below δ.")


# ── many rows are one person ─────────────────────────────────────────────────────────────────────────────────────


def _wages(wages: Curator, rows: list[dict[str, str]]) -> None:
    people = len({row["nr"] for row in rows})
    say(f"\n\nA panel of wages: {len(rows):,} rows about {people} men, one for each year. wages.toml:\n")
    _show(CATALOGUES["wages"])

    _head("7. Count people, not rows")
    _ask(wages, "SELECT year, COUNT(DISTINCT nr) AS men FROM wages GROUP BY year", "0.8")
    _owner(f"{people} in each year")
    _say("One man is in eight of these numbers, and all eight together hide him. That takes more noise.")

    _head("8. Averages over people with many rows")
    _ask(wages, "SELECT married, AVG(lwage) AS log_wage, COUNT(*) AS rows FROM wages GROUP BY married", "1")
    _owner(", ".join(_mean(rows, married) for married in "01"))
    _ask(wages, "SELECT AVG(best) AS best_year FROM (SELECT nr, MAX(lwage) AS best FROM wages GROUP BY nr)", "0.2")
    best = [max(float(each["lwage"]) for each in found) for found in _by(rows)]
    _owner(f"{sum(best) / len(best):.3f} of {len(best)} men")
    _say("What is first computed within each man is one number of his, and hides like one.")

    _head("9. What cannot be answered is refused, before any data is read and for free, with a way out")
    _ask(wages, "SELECT nr, AVG(lwage) FROM wages GROUP BY nr", "0.5")
    _ask(wages, "SELECT COUNT(*) FROM wages WHERE nr = 13", "0.5")

    _head("10. The budget holds, whatever is asked, by whomever, also after a restart")
    _ask(wages, "SELECT AVG(hours) FROM wages", "2.5")
    say("\n$ discreet ledger wages.toml --verify")
    _show(str(wages.ledger.verify()))
    _say("Every charge was on disk before the data were read. The ledger is a chain: what is changed in it shows.")


def _by(rows: list[dict[str, str]]) -> list[list[dict[str, str]]]:
    """Return the rows of each unit."""
    men: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        men.setdefault(row["nr"], []).append(row)
    return list(men.values())


def _mean(rows: list[dict[str, str]], married: str) -> str:
    found = [float(row["lwage"]) for row in rows if row["married"] == married]
    return f"{married}: {sum(found) / len(found):.3f} of {len(found):,}"


# ── printing ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _ask(curator: Curator, sql: str, epsilon: str | None = None, *, within: str | None = None) -> None:
    """Print the command that asks this, and the answer or the refusal."""
    _typed("ask", curator, sql, f"--epsilon {epsilon}" if within is None else f"--within {within}")
    try:
        _show(str(curator.ask(sql, epsilon=epsilon, within=within)))
    except Refusal as refusal:
        _show(str(refusal))


def _head(text: str) -> None:
    say(f"\n── {text} ".ljust(WIDEST, "─"))


def _typed(command: str, curator: Curator, sql: str, options: str) -> None:
    """Print the command as it would be typed; a shell allows a new line between quotes."""
    line = f'$ discreet {command} {curator.catalogue.name}.toml "{sql}"'
    say("\n" + "\n    ".join(textwrap.wrap(line, WIDEST - len(options) - 5)) + f" {options}")


def _show(text: str) -> None:
    """Print a text indented, with long lines wrapped."""
    for line in text.rstrip().split("\n"):
        margin = "  " + line[: len(line) - len(line.lstrip())]
        lines = [line] if len(line) + 2 <= WIDEST else textwrap.wrap(line.strip(), WIDEST - len(margin) - 2)
        say((margin + f"\n{margin}  ".join([each.strip() for each in lines])).rstrip())


def _owner(text: str) -> None:
    say(f"  [exact, for the owner's eyes only: {text}]")


def _say(text: str) -> None:
    say(f"\n{text}")
