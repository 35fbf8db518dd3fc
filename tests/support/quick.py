"""`pytest --quick`: the first case of each test function, without those on record as slow. `make quick` runs it.

`slow.txt` names the functions whose first case takes longer than SLOW seconds; `pytest --record-slow` runs the first
case of all and writes it anew; together with `--quick` it adds those that are slow now, such as the next one to need a
slow fixture. A function goes by its name and that of its file, so files may move; a new one is quick. Files that look
at the source rather than run it are in WHOLE: all of their cases are quick.

`pytest --slice 2/5`: every fifth test, from the second on, so that a long run can be shared out. `make soak SLICE=2/5`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

SLOW = 0.3
WHOLE = ("test_layers.py::", "test_mutants.py::")
RECORD = Path(__file__).parents[1] / "slow.txt"
_seconds: Counter[str] = Counter()


def function(test: str) -> str:
    """The file and the function of a test, without folders and parameters."""
    file, _, name = test.partition("[")[0].partition("::")
    return f"{Path(file).name}::{name}"


def chosen(tests: Sequence[str], slow: Iterable[str]) -> list[bool]:
    """For each test whether it is the first case of a function that is not slow."""
    names = [function(test) for test in tests]
    firsts = {name: n for n, name in reversed(list(enumerate(names)))}
    left_out = frozenset(slow)
    return [name.startswith(WHOLE) or (firsts[name] == n and name not in left_out) for n, name in enumerate(names)]


def recorded() -> list[str]:
    """The functions on record as slow."""
    return RECORD.read_text().split()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="one case of each test function that is not slow")
    parser.addoption("--record-slow", action="store_true", help="one case of each, and write down which are slow")
    parser.addoption("--slice", default="1/1", metavar="K/N", help="every N-th test, from the K-th on")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    first, every = map(int, config.option.slice.split("/"))
    fates = [n % every == first - 1 for n in range(len(items))]
    if config.option.quick or config.option.record_slow:
        fates = chosen([item.nodeid for item in items], recorded() if config.option.quick else [])
    if all(fates):
        return
    config.hook.pytest_deselected(items=[item for item, kept in zip(items, fates, strict=True) if not kept])
    items[:] = [item for item, kept in zip(items, fates, strict=True) if kept]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[function(report.nodeid)] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    option = session.config.option
    if option.record_slow and not hasattr(session.config, "workerinput"):  # once for all processes
        slow = {name for name, seconds in _seconds.items() if seconds > SLOW and not name.startswith(WHOLE)}
        slow.update(recorded() if option.quick else [])
        RECORD.write_text("".join(f"{name}\n" for name in sorted(slow)))
