"""The contract that every mechanism keeps, present and future.

A `Case` is a mechanism with two neighbouring secrets, and its law on each as a table of probabilities computed apart
from the mechanism's loss. `check_mechanism` then holds the three readings against each other.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import os
import pickle
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import Loss, Mechanism
from discreet.core.mechanism import Then
from discreet.core.record import read, write
from support.kit import ALARM, Script, misfit, tape

Table = dict[Hashable, float]


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    mechanism: Mechanism
    secret: Any
    neighbour: Any
    table: Callable[[Any], Table]  # outcome -> probability, for a secret
    draws: int = 4000


def outcome(released: Any) -> Hashable:
    if isinstance(released, np.ndarray):
        released = released.tolist()
    return tuple(outcome(part) for part in released) if isinstance(released, (tuple, list)) else released


def shape(secret: Any) -> Any:
    return [shape(part) for part in secret] if isinstance(secret, list) else ()


def sizes(released: Any) -> Any:
    return [sizes(part) for part in released] if isinstance(released, tuple) else ()


def check_mechanism(case: Case) -> None:
    check_value(case.mechanism)
    check_loss_against_law(case)
    check_release_against_law(case)
    check_coins(case)
    check_words(case.mechanism)


def check_value(m: Mechanism) -> None:
    """Born complete, frozen, hashable, equal to its copies, whatever way they travel."""
    assert dataclasses.is_dataclass(m)
    field = dataclasses.fields(m)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(m, field, None)
    rebuilt = type(m)(**{f.name: getattr(m, f.name) for f in dataclasses.fields(m)})
    written = m if isinstance(m, Then) else read(write(m))  # as the ledger has it; a function cannot be on record
    for twin in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m)), rebuilt, written):
        assert twin == m
        assert hash(twin) == hash(m)
        assert twin.loss == m.loss
    assert m.neighbours in ("add-remove", "replace")


def check_loss_against_law(case: Case) -> None:
    """On neighbours, no event is more likely than the loss allows: at every ε, both ways."""
    one, other = case.table(case.secret), case.table(case.neighbour)
    assert math.fsum(one.values()) == pytest.approx(1, abs=1e-9)
    m = case.mechanism
    assert isinstance(m.loss, Loss)
    top = float(m.loss.pure) if m.loss.pure is not None else 4.0
    for epsilon in [top * i / 8 for i in range(9)]:
        for p, q in ((one, other), (other, one)):
            mass = math.fsum(max(0.0, p[k] - math.exp(epsilon) * q.get(k, 0.0)) for k in p)
            at = Fraction(repr(epsilon))
            assert mass <= float(m.curve(at)) + 1e-12
            assert m.curve(at) <= m.loss.delta(at)
    if m.loss.event == 0:  # zCDP: Rényi divergences of a few orders
        for order in (1.5, 2.0, 8.0):
            both = [(p, other[k]) for k, p in one.items() if other.get(k, 0) > 1e-280 and p > 1e-280]
            inner = math.fsum(math.exp(order * math.log(p) + (1 - order) * math.log(q)) for p, q in both)
            assert math.log(inner) / (order - 1) <= float(m.loss.rho) * order + 1e-7


def check_release_against_law(case: Case) -> None:
    """What is released is what the table says; with false-alarm rate ALARM, and a control that is caught."""
    table = case.table(case.secret)
    index = {key: i for i, key in enumerate(sorted(table, key=repr))}
    p = np.zeros(len(index) + 1)
    for key, i in index.items():
        p[i] = table[key]
    draws = case.draws * (10 if os.environ.get("DISCREET_SOAK") else 1)
    seen = [index.get(outcome(case.mechanism.release(case.secret)), len(index)) for _ in range(draws)]
    assert misfit(seen, lambda k: float(p[k])) > ALARM
    lean = p.copy()
    lean[np.argsort(-p)[::2]] *= 1.8  # the control: every other outcome more likely than it is
    lean /= lean.sum()
    assert misfit(seen, lambda k: float(lean[k])) < 1e-6


def check_coins(case: Case) -> None:
    """A pure function of its coins, which takes as many of them whatever the secret, for secrets of one shape.

    How many may depend on what is released, such as the number of keys, which everybody sees.
    """
    for _ in range(20):
        played = tape(1 << 14)
        runs = [Script(played), Script(played), Script(played)]
        again = [outcome(case.mechanism.release(case.secret, coins)) for coins in runs[:2]]
        other = outcome(case.mechanism.release(case.neighbour, runs[2]))
        assert again[0] == again[1]
        assert runs[0].used == runs[1].used > 0
        if (shape(case.secret), sizes(again[0])) == (shape(case.neighbour), sizes(other)):
            assert runs[2].used == runs[0].used


def check_words(m: Mechanism) -> None:
    """Two plain sentences: who is protected and how well, then how wrong it can be."""
    said = m.describe()
    assert said.startswith("Protects each person")
    assert said.endswith(".")
    assert ("added or removed" if m.neighbours == "add-remove" else "replaced") in said
    assert "ε" in said or "ρ" in said
