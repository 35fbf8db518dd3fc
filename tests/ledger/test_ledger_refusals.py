"""What a ledger refuses, before anything is written."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

import discreet as dp
from discreet.ledger.stores.sqlite import SQLite
from support.ledgers import ONE, TENTH, charges, clinic

# ── bad input, refused before anything is written ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "wrong",
    [
        dp.Ledger,
        lambda w: dp.Ledger(w, dataset="clinic"),
        lambda w: dp.Ledger(w, dataset="", budget=ONE),
        lambda w: dp.Ledger(w, dataset=7, budget=ONE),  # type: ignore[arg-type]
        lambda w: dp.Ledger(w, dataset="clinic", budget=3),  # type: ignore[arg-type]
        lambda w: dp.Ledger(w, dataset="clinic", budget=ONE, analysts={"a\nb": ONE}),
        lambda w: dp.Ledger(w, dataset="clinic", budget=ONE, neighbours="both"),  # type: ignore[arg-type]
        lambda w: dp.Ledger(w, budget=ONE),
        lambda w: dp.Ledger(7, dataset="clinic", budget=ONE),  # type: ignore[arg-type]
        lambda w: dp.Ledger("", dataset="clinic", budget=ONE),
        lambda w: dp.Ledger(Path(w).parent / "no" / "where", dataset="clinic", budget=ONE),
        lambda w: dp.Ledger("postgresql://%%%", dataset="clinic", budget=ONE),
        lambda w: dp.Ledger("a\0b", dataset="clinic", budget=ONE),
        lambda w: dp.Ledger(w, dataset="clinic", budget=ONE, analysts=["alice"]),  # type: ignore[arg-type]
        lambda w: dp.Ledger(w, dataset="clinic", budget=ONE, marks=5),  # type: ignore[arg-type]
    ],
)
def test_a_ledger_that_cannot_be_is_refused(tmp_path: Path, wrong: Any) -> None:
    place = tmp_path / "clinic.ledger"
    with pytest.raises(dp.NotUnderstood) as refusal:
        wrong(str(place))
    assert refusal.value.instead
    assert not place.exists()


def test_a_spending_that_cannot_be_is_refused() -> None:
    ledger = clinic(None)
    for wrong in (0.1, None, "laplace", dp.Loss(pure=1)):
        with pytest.raises(dp.NotUnderstood):
            ledger.spend(wrong)  # type: ignore[arg-type]
    with pytest.raises(dp.NotAllowed, match="cannot be written down"):
        ledger.spend(TENTH.then(abs))
    for wrong in ({"analyst": 7}, {"key": ""}, {"key": 7}, {"version": "x" * 2000}, {"analyst": "a\0b"}):
        with pytest.raises(dp.NotUnderstood):
            ledger.spend(TENTH, **wrong)  # type: ignore[arg-type]
    long = Fraction(10**1500 + 1, 10**1500)
    with pytest.raises(dp.NotAllowed, match="digits"):
        ledger.spend(dp.Laplace(epsilon=long, sensitivity=1))
    with pytest.raises(dp.NotAllowed, match="digits"):
        ledger.amend(budget=dp.Budget(epsilon=long))
    assert not charges(ledger)
    receipt = ledger.spend(TENTH)
    for wrong in (None, 7):
        with pytest.raises(dp.NotUnderstood):
            ledger.answer(receipt, wrong)  # type: ignore[arg-type]

    @dataclasses.dataclass(frozen=True)
    class Home(type(TENTH)):  # type: ignore[misc]
        pass

    fields = {field.name: getattr(TENTH, field.name) for field in dataclasses.fields(TENTH)}
    with pytest.raises(dp.NotAllowed, match="cannot be written down"):
        ledger.spend(Home(**fields))
    with pytest.raises(dp.Broken, match="stays spent"):  # the data are open by then, so it is a failure like any other
        ledger.answer(receipt, lambda: receipt.use(TENTH) and "text")  # type: ignore[arg-type, return-value]
    assert ledger.stopped


def test_another_file_is_not_touched(tmp_path: Path) -> None:
    import sqlite3

    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(dp.NotUnderstood, match="other things"):
        clinic(other)
    text = tmp_path / "notes.csv"
    text.write_text("a,b\n1,2\n" * 100)
    with pytest.raises(dp.LedgerCorrupt):
        clinic(text)
    assert text.read_text() == "a,b\n1,2\n" * 100


# ── weaker than durable is refused ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("setting", ["synchronous = NORMAL", "synchronous = OFF", "journal_mode = DELETE"])
def test_sqlite_in_a_weaker_mode_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    """A SQLite that does not take the settings: every PRAGMA of ours on the same subject becomes this one."""
    plain = SQLite.execute

    def weak(self: SQLite, sql: str, *values: Any) -> Any:
        subject = setting.split(maxsplit=1)[0]
        return plain(self, f"PRAGMA {setting}" if sql.startswith(f"PRAGMA {subject} =") else sql, *values)

    monkeypatch.setattr(SQLite, "execute", weak)
    with pytest.raises(dp.Broken, match="durable"):
        clinic(tmp_path / "clinic.ledger")


def test_postgres_tables_that_a_crash_empties_are_refused(database: Any) -> None:
    url = database()
    clinic(url).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE discreet_entries SET UNLOGGED")
    with pytest.raises(dp.Broken, match="permanent"):
        clinic(url)


def test_postgres_that_forgets_is_refused(database: Any) -> None:
    url = database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER DATABASE postgres SET synchronous_commit = off")
    try:
        with pytest.raises(dp.Broken, match="synchronous_commit"):
            clinic(url)
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER DATABASE postgres RESET synchronous_commit")
    clinic(url).spend(TENTH)
