"""Facts: the statements of entries. The state of a ledger is the fold of its facts.

    opened     the ledger began
    dataset    a data set is kept here: its neighbour relation, its unit, and the families that it belongs to
    protects   the unit of each table of a data set: a column, none (public), or every row is a unit
    version    the data were seen in a state that was new, and this is its name
    cap        a data set, an analyst or a family may spend so much
    charge     an analyst bought a mechanism
    again      a charge whose answer was never kept is being answered now, at no further cost
    kept       the answer to a charge, by its digest; the first one kept is the only one ever shown
    failed     an engine failed on a charge, and how many more failures there may be before the data set stops
    resumed    the owner looked at the failures of a data set, and it answers again
    lost       the owner went on without entries that are gone; every budget of then counts as spent

The list is closed and versioned (`FORMAT`). Fields are text, whole numbers, lists of text and null, so that reading an
entry runs nothing that it names.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from discreet.core.loss import Budget, Loss
from discreet.core.record import rational, text_of
from discreet.errors import Broken

if TYPE_CHECKING:
    from discreet.ledger.balances import State


class Auditor(Protocol):
    """Verifies an entry at its place in the history."""

    def recompute(self, charge: Charge) -> None:
        """Refuse a cost that is not that of its mechanism, or that no budget had room for."""

    def goes_on(self, of: int) -> None:
        """Refuse an entry that continues a charge which could not be answered any more."""

    def answers(self, of: int) -> None:
        """Refuse a kept answer that does not match its digest, or whose charge could not be answered any more."""

    def fails(self, of: int, dataset: str) -> None:
        """Refuse the failure of a charge for other data."""


__all__ = [
    "FORMAT",
    "KINDS",
    "Account",
    "Cap",
    "Charge",
    "Dataset",
    "Fact",
    "Failed",
    "Kept",
    "Lost",
    "Opened",
    "Price",
    "Protects",
    "Resumed",
    "Retry",
    "Version",
    "fact_of",
]

FORMAT = 2  # 1 had neither `protects` nor `version`, and is read as well
FORMATS = (1, FORMAT)
Account = tuple[str, str, str]  # ("dataset", name, ""), ("analyst", data set, name) or ("family", name, "")
KINDS = ("dataset", "family", "analyst")
Price = tuple[str | None, str, str]  # pure, rho, event
LABEL = re.compile("v[0-9a-f]{32}")  # the name of a version
FINGERPRINT = re.compile("[0-9a-f]{32}")  # format 1 had this in its place: a hash of the data, which must stay secret
_text = json.JSONEncoder().encode


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A statement of an entry: one event."""

    WORD: ClassVar[str]

    @property
    def name(self) -> str | None:
        """The unique name by which the entry can be found, or None."""
        return None

    @property
    def shown(self) -> Fact:
        """The fact for readers of a history: itself, unless part of it must stay secret."""
        return self

    billed: ClassVar[bool] = False  # True if a history of purchases shows it

    @property
    def price_text(self) -> str:
        """The cost, in words."""
        return "nothing"

    @property
    def prices(self) -> tuple[str | None, str | None, str | None]:
        """The cost as pure ε, ρ and the probability of an event, as they are written; None where unknown."""
        return "0", "0", "0"

    @property
    def buyer(self) -> str:
        """The analyst who was answered; empty if there is none."""
        return ""

    def accounts(self, state: State) -> Iterator[Account]:
        """Yield the accounts that are charged."""
        return iter(())

    def mechanism_for(self, dataset: str) -> str | None:
        """Return the text of the mechanism that was charged to `dataset`; None if there is none."""
        return None

    def apply(self, state: State) -> None:
        """Change the state. Some facts do not."""

    def audit(self, auditor: Auditor) -> None:
        """Let `auditor` verify what replaying alone does not. Some facts need no more than that."""


@dataclass(frozen=True, kw_only=True)
class Opened(Fact):
    """The ledger began."""

    WORD: ClassVar[str] = "opened"
    identity: str
    format: int

    def apply(self, state: State) -> None:
        if self.format not in FORMATS:
            raise Broken(f"this ledger has format {self.format}; this version of discreet reads up to {FORMAT}.")
        if not re.fullmatch("[0-9a-f]{32}", self.identity):
            raise ValueError("no identity")
        state.open(self.identity)


@dataclass(frozen=True, kw_only=True)
class Dataset(Fact):
    """A data set is kept here. Families can be joined later and bring along what was spent before."""

    WORD: ClassVar[str] = "dataset"
    dataset: str
    neighbours: str
    unit: str
    families: tuple[str, ...]

    def apply(self, state: State) -> None:
        state.add_dataset(self)


@dataclass(frozen=True, kw_only=True)
class Protects(Fact):
    """The unit of each table of a data set, from this entry on: of all tables that there are or were.

    A charge is about these units. What was charged under an earlier record stays charged; see `Ledger.amend` for what a
    sum over two records says.
    """

    WORD: ClassVar[str] = "protects"
    dataset: str
    tables: tuple[str, ...]
    whose: tuple[str, ...]

    def apply(self, state: State) -> None:
        found = dict(zip(self.tables, self.whose, strict=True))
        if len(found) < len(self.tables) or self.dataset not in state.datasets:
            raise ValueError("no tables")
        state.protect(self.dataset, found)


@dataclass(frozen=True, kw_only=True)
class Version(Fact):
    """A state of the data was seen for the first time, and has the name `label` from this entry on.

    Given    `tag` is HMAC-SHA256 of the data set and a fingerprint of the data under a key that only the ledger has.
    Promise  without the key, neither `label` nor `tag` says anything about a row.
    Because  `label` is random, and a hash under an unknown key cannot be told from random (HMAC is a pseudorandom
             function): a guess of the data cannot be checked against it. Only a change of state is visible, and that
             depends on what the owner does, not on what the rows are.
    """

    WORD: ClassVar[str] = "version"
    dataset: str
    label: str
    tag: str

    @property
    def name(self) -> str:
        return f"version {self.tag}"

    def apply(self, state: State) -> None:
        if not LABEL.fullmatch(self.label) or not re.fullmatch("[0-9a-f]{64}", self.tag):
            raise ValueError("no name of a version")
        if self.dataset not in state.datasets:
            raise ValueError("no data set of this name")
        state.name_version(self.tag, self.label)


@dataclass(frozen=True, kw_only=True)
class Cap(Fact):
    """An account may spend this budget, from this entry on."""

    WORD: ClassVar[str] = "cap"
    account: Account
    epsilon: str
    delta: str | None
    events: str | None

    @classmethod
    def of(cls, account: Account, budget: Budget) -> Cap:
        delta, events = (None if part is None else text_of(part) for part in (budget.delta, budget.events))
        return cls(account=account, epsilon=text_of(budget.epsilon), delta=delta, events=events)

    @property
    def budget(self) -> Budget:
        """The budget, as a value."""
        delta, events = (None if part is None else rational(part) for part in (self.delta, self.events))
        return Budget(epsilon=rational(self.epsilon), delta=delta, events=events)

    def apply(self, state: State) -> None:
        kind, first, second = self.account
        if kind not in KINDS or bool(second) != (kind == "analyst"):
            raise ValueError("no account")
        state.set_cap((kind, first, second), self.budget)


@dataclass(frozen=True, kw_only=True)
class Charge(Fact):
    """An analyst bought a mechanism. The cost is written beside it, so that replaying need not compute it from laws."""

    WORD: ClassVar[str] = "charge"
    billed: ClassVar[bool] = True
    dataset: str
    version: str
    analyst: str
    key: str | None
    mechanism: str
    pure: str | None
    rho: str
    event: str

    @staticmethod
    @lru_cache(1024)
    def name_of(dataset: str, version: str, key: str) -> str:
        """Return the name of the charge for this question on this version of this data set."""
        return "charge " + hashlib.sha256(_text([dataset, version, key]).encode()).hexdigest()[:32]

    @property
    def shown(self) -> Charge:
        """The charge without a fingerprint of the data, which charges of format 1 have in place of a version."""
        return replace(self, version="") if FINGERPRINT.fullmatch(self.version) else self

    def asks_the_same(self, other: Charge) -> bool:
        """Return True if both charges are for the same data set, version and key."""
        return (self.dataset, self.version, self.key) == (other.dataset, other.version, other.key)

    @property
    def name(self) -> str | None:
        return None if self.key is None else self.name_of(self.dataset, self.version, self.key)

    @property
    def cost(self) -> Loss:
        """The cost as a loss: the part that a budget counts."""
        return _loss(self.pure, self.rho, self.event)

    @property
    def price_text(self) -> str:
        return str(self.cost)

    @property
    def prices(self) -> Price:
        return self.pure, self.rho, self.event

    @property
    def buyer(self) -> str:
        return self.analyst

    def mechanism_for(self, dataset: str) -> str | None:
        return self.mechanism if self.dataset == dataset else None

    def accounts(self, state: State) -> Iterator[Account]:
        yield ("dataset", self.dataset, "")
        yield ("analyst", self.dataset, self.analyst)
        for family in state.families(self.dataset):
            yield ("family", family, "")

    def apply(self, state: State) -> None:
        state.charge(self.accounts(state), self.cost, named=self.key is not None)

    def audit(self, auditor: Auditor) -> None:
        auditor.recompute(self)

    @staticmethod
    def price(loss: Loss) -> Price:
        """Return the part of a loss that a budget counts, as it is written."""
        return None if loss.pure is None else text_of(loss.pure), text_of(loss.rho), text_of(loss.event)


@lru_cache(4096)
def _loss(pure: str | None, rho: str, event: str) -> Loss:
    return Loss(pure=None if pure is None else rational(pure), rho=rational(rho), event=rational(event))


@dataclass(frozen=True, kw_only=True)
class Retry(Fact):
    """A charge whose answer was never kept is being answered once more."""

    WORD: ClassVar[str] = "again"
    billed: ClassVar[bool] = True
    of: int
    analyst: str

    @property
    def price_text(self) -> str:
        return f"nothing: entry {self.of} again"

    @property
    def buyer(self) -> str:
        return self.analyst

    def apply(self, state: State) -> None:
        state.begin_again(self.of)

    def audit(self, auditor: Auditor) -> None:
        auditor.goes_on(self.of)


@dataclass(frozen=True, kw_only=True)
class Kept(Fact):
    """The answer to a charge was kept, with this digest and size."""

    WORD: ClassVar[str] = "kept"
    of: int
    sha256: str
    size: int

    @staticmethod
    def name_of(charge: int) -> str:
        """Return the name of the answer to this charge."""
        return f"answer {charge}"

    @property
    def name(self) -> str:
        return self.name_of(self.of)

    def apply(self, state: State) -> None:
        state.keep(self.of)

    def audit(self, auditor: Auditor) -> None:
        auditor.answers(self.of)


@dataclass(frozen=True, kw_only=True)
class Failed(Fact):
    """An engine failed on a charge. Its message is not recorded: it may quote personal data, and auditors read this.

    `left` more failures are allowed within a day before the data set stops; at 0 it has stopped. The number is recorded
    so that all processes that share the ledger agree, whatever their catalogues say.
    """

    WORD: ClassVar[str] = "failed"
    dataset: str
    of: int
    analyst: str
    left: int

    def apply(self, state: State) -> None:
        if self.left < 0 or self.dataset not in state.datasets:
            raise ValueError("no failure")
        state.fail(self.dataset, self.of, self.left)

    def audit(self, auditor: Auditor) -> None:
        auditor.fails(self.of, self.dataset)


@dataclass(frozen=True, kw_only=True)
class Resumed(Fact):
    """The owner looked at every failure of a data set before this entry, and the data set answers again."""

    WORD: ClassVar[str] = "resumed"
    dataset: str

    def apply(self, state: State) -> None:
        state.resume(self.dataset)


@dataclass(frozen=True, kw_only=True)
class Lost(Fact):
    """The owner accepted the loss of entries: a machine saw entry `last` with `hash`, which is not before this one.

    Where the mark of that machine was damaged, `last` is 0 and `hash` is empty. See `State.lose` for the effect.
    """

    WORD: ClassVar[str] = "lost"
    billed: ClassVar[bool] = True
    last: int
    hash: str

    @property
    def price_text(self) -> str:
        return "all of every budget: entries before this one were lost" + (f" (up to {self.last})" if self.last else "")

    @property
    def prices(self) -> tuple[None, None, None]:
        return None, None, None

    def apply(self, state: State) -> None:
        if not (self.last > 0 and re.fullmatch("[0-9a-f]{64}", self.hash)) and (self.last, self.hash) != (0, ""):
            raise ValueError("no loss")
        state.lose()


_TYPES: dict[Any, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "str | None": (str, type(None)),
    "Account": (list,),
    "tuple[str, ...]": (list,),
}
_WORDS = {
    kind.WORD: (kind, {field.name: _TYPES[field.type] for field in fields(kind)})
    for kind in (Opened, Dataset, Protects, Version, Cap, Charge, Retry, Kept, Failed, Resumed, Lost)
}


def fact_of(word: str, said: dict[str, Any]) -> Fact:
    """Return the fact with this word and these fields; raise ValueError for anything else."""
    kind, types = _WORDS.get(word, (Fact, {}))
    if kind is Fact or said.keys() != types.keys():
        raise ValueError(f"no fact of format {FORMAT}")
    for name, value in said.items():
        if type(value) not in types[name]:
            raise ValueError(f"no fact of format {FORMAT}")
        if type(value) is list:
            if not all(type(part) is str for part in value):
                raise ValueError(f"no fact of format {FORMAT}")
            said[name] = tuple(value)
    return kind(**said)
