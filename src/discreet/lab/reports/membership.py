"""Report the attacks on one person, tried on naive servers and on this curator, each as a finding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, positive_integer, price
from discreet.core.loss import Budget
from discreet.core.text import show
from discreet.curator.curator import open as open_curator
from discreet.errors import NotUnderstood
from discreet.lab.attacks import membership, trials
from discreet.lab.attacks.naive_server import Naive
from discreet.lab.attacks.targets import Curated, People, Web, number_of
from discreet.lab.meaning import game
from discreet.lab.proportions import share
from discreet.lab.report import Finding, Picture, ReportTable, Series
from discreet.lab.sampling import uniform

__all__ = ["Traced", "averaging", "class_average", "differencing", "tracing", "tracking"]

SIZE = 40  # people in small databases
Attack = Callable[[People, int], float]


@dataclass(frozen=True, kw_only=True)
class Tried:
    """The number of right guesses of one person's bit, on a naive server over HTTP and on this curator."""

    runs: int
    naive: int
    curator: int
    refused: int

    @property
    def facts(self) -> dict[str, float]:
        """The shares of right guesses, for programs."""
        return {"naive": self.naive / self.runs, "curator": self.curator / self.runs}

    def rows(self, name: str, allowed: float) -> tuple[tuple[object, ...], ...]:
        """Return two rows of a table."""
        naive = "refused" if self.refused == self.runs else _measured(self.naive, self.runs)
        curator = _measured(self.curator, self.runs)
        return (name, "naive server", naive, "–"), (name, "discreet", curator, f"{allowed:.3f}")


def _measured(count: int, of: int) -> str:
    low, high = share(count, of)
    return f"{count / of:.3f} ({low:.3f} to {high:.3f})"


def _try(attack: Attack, questions: int, epsilon: Fraction, runs: int, coins: Coins, *, smallest: int = 0) -> Tried:
    """Try one attack on the bit of one person `runs` times, each time on fresh data."""
    naive = curated = refused = 0
    for _ in range(runs):
        secret = trials.fair_bits(SIZE, coins)
        person = membership.some(1, SIZE, coins)[0]
        with Naive(trials.people_table(secret), smallest=smallest) as server:
            told = attack(People(host=Web(server.url), n=SIZE), person)
        refused += math.isnan(told)
        naive += not math.isnan(told) and (told > 0.5) == secret[person]
        with trials.curator_of(secret, epsilon=epsilon) as curator:
            told = attack(trials.people_behind(curator, SIZE, epsilon / questions), person)
        curated += bool((told > 0.5) == secret[person])
    return Tried(runs=runs, naive=naive, curator=curated, refused=refused)


def _table(tried: dict[str, Tried], epsilon: Fraction) -> ReportTable:
    allowed = 1 - game.error(epsilon=epsilon)
    rows = tuple(row for name, each in tried.items() for row in each.rows(name, allowed))
    return ReportTable(heads=("attack", "on", "right (95 %)", "allowed"), rows=rows, right="allowed")


def differencing(*, epsilon: Number = 1, runs: int = 20, coins: Coins = SYSTEM) -> Finding:
    """Report the difference of two harmless counts."""
    e, times = price(epsilon, "epsilon"), positive_integer(runs, "runs")
    tried = {
        "all less all but one": _try(membership.difference, 2, e, times, coins),
        "the one, directly": _try(membership.direct, 1, e, times, coins),
    }
    naive = tried["all less all but one"].naive
    return Finding(
        title="Differencing",
        text=f"COUNT of all with the secret, less COUNT of all but one person, of {SIZE}: exact answers tell the bit "
        f"for sure. Under a total of ε = {show(e)} the two answers are noisier than one, and asking directly is the "
        "best.",
        verdict=f"exact server: {naive} of {times} told",
        tables=(_table(tried, e),),
        facts={name: each.facts for name, each in tried.items()},
    )


def tracking(*, epsilon: Number = 1, runs: int = 10, coins: Coins = SYSTEM) -> Finding:
    """Report a server that refuses small sets, and the tracker that circumvents it."""
    e, times = price(epsilon, "epsilon"), positive_integer(runs, "runs")
    tried = {
        "directly": _try(membership.direct, 1, e, times, coins, smallest=5),
        "by tracker": _try(membership.tracker, 4, e, times, coins, smallest=5),
    }
    naive = tried["by tracker"].naive
    return Finding(
        title="Trackers",
        text="The naive server refuses every count below 5 or above all but 5 people. A tracker asks for four large "
        "sets instead, and adds and subtracts. Limits on the size of sets protect nobody; this curator has none, and "
        "answers everything with noise.",
        verdict=f"refusing small sets: {naive} of {times} told",
        tables=(_table(tried, e),),
        facts={name: each.facts for name, each in tried.items()},
    )


def averaging(*, epsilon: Number = 1, noise: float = 5, runs: int = 5, coins: Coins = SYSTEM) -> Finding:
    """Report the average of repeated answers."""
    e, rounds = price(epsilon, "epsilon"), positive_integer(runs, "runs")
    secret = trials.fair_bits(SIZE, coins)
    many, few = (1, 4, 16, 64), (1, 4, 16)

    def error(ask: Callable[[int], float], times: int) -> float:
        return math.sqrt(np.mean([(ask(times) - secret[0]) ** 2 for _ in range(rounds)]))

    def naive(sticky: bool, reword: bool) -> Callable[[int], float]:
        def run(times: int) -> float:
            with Naive(trials.people_table(secret), noise=noise, sticky=sticky) as server:
                return membership.average(People(host=server, n=SIZE), 0, times=times, reword=reword)

        return run

    def curated(times: int) -> float:
        with trials.curator_of(secret, epsilon=e) as curator:
            return membership.average(trials.people_behind(curator, SIZE, e / times), 0, times=times, reword=True)

    lines: dict[str, tuple[Sequence[int], Callable[[int], float]]] = {
        f"fresh noise ±{noise:g}": (many, naive(False, False)),
        "sticky noise, the same words": (many, naive(True, False)),
        "sticky noise, other words": (many, naive(True, True)),
        f"discreet, total ε = {show(e)}": (few, curated),
    }
    errors = {name: [error(ask, k) for k in counts] for name, (counts, ask) in lines.items()}
    rows = tuple(
        (name, *(f"{each:.2f}" for each in found), *([""] * (len(many) - len(found)))) for name, found in errors.items()
    )
    picture = Picture(
        title="Error of the mean of many answers about one person",
        x="questions", y="root mean square error", log="xy",
        series=tuple(
            Series(name=name, x=tuple(map(float, lines[name][0])), y=tuple(max(each, 1e-3) for each in found))
            for name, found in errors.items()
        ),
        levels=(("enough to tell the bit", 0.5),),
    )  # fmt: skip
    return Finding(
        title="Averaging",
        text="Fresh noise averages away. Noise that sticks to the words of a question does not, until the question "
        f"is put in other words. Under a total of ε = {show(e)} more questions share the same ε, so their mean gets "
        "worse; and the same question again gets the same answer for nothing.",
        verdict="only a limit on the total holds",
        tables=(
            ReportTable(
                heads=("root mean square error, questions:", *map(str, many)), rows=rows, right=",".join(map(str, many))
            ),
        ),
        pictures=(picture,),
        facts=errors,
    )


SCORES = {True: np.array([90] + [50] * 29), False: np.array([50] * 30)}  # with Alice, and without her


def _shown(enrolled: bool, coins: Coins) -> bool:
    """Return True if five exact averages show Alice."""
    return max(membership.classroom(lambda who: float(SCORES[enrolled][who].mean()), coins=coins)) > 55


def _guessed(enrolled: bool, epsilon: Fraction, coins: Coins) -> bool:
    """Return True if five averages from this curator, at a total of ε, look like Alice."""
    import pyarrow as pa  # noqa: PLC0415

    frame = pa.table({"id": np.arange(30), "score": SCORES[enrolled]})
    columns = {"id": {"min": 0, "max": 29, "step": 1}, "score": {"min": 0, "max": 100, "step": 1}}
    with open_curator(frame, columns=columns, budget=Budget(epsilon=epsilon), neighbours="replace") as curator:
        host = Curated(curator, epsilon=epsilon / 5)

        def ask(who: Sequence[int]) -> float:
            return number_of(host, f"SELECT AVG(score) FROM data WHERE id IN ({', '.join(map(str, who))})")

        return float(np.mean(membership.classroom(ask, coins=coins))) > 52


def class_average(*, epsilon: Number = 1, runs: int = 2000, curators: int = 20, coins: Coins = SYSTEM) -> Finding:
    """Report Alice and the thirty students: five averages of three random students each, exact and from this
    curator.
    """
    e, times = price(epsilon, "epsilon"), positive_integer(runs, "runs")
    shown = {enrolled: sum(_shown(enrolled, coins) for _ in range(times)) for enrolled in SCORES}
    right = sum(
        _guessed(turn % 2 == 0, e, coins) == (turn % 2 == 0) for turn in range(positive_integer(curators, "curators"))
    )
    foretold, allowed = membership.caught(), 1 - game.error(epsilon=e)
    return Finding(
        title="Is Alice in the class?",
        text="Alice always has 90, everybody else 50. Five times the average of three random students of thirty: if "
        f"one is above 55 she is enrolled, for sure. That happens with probability {100 * float(foretold):.2f} %. "
        f"From this curator, at a total of ε = {show(e)} for the five, no answer makes anybody sure: whatever is "
        f"seen is at most e^ε = {math.exp(float(e)):.3g} times as likely with her as without.",
        verdict=f"exact: {100 * float(foretold):.2f} % caught for sure",
        good=False,
        tables=(
            ReportTable(
                heads=("answers", "tried", "measured (95 %)", "foretold"),
                rows=(
                    ("exact, enrolled: shown", f"{times:,}", _measured(shown[True], times), f"{float(foretold):.4f}"),
                    ("exact, not enrolled: shown", f"{times:,}", _measured(shown[False], times), "0"),
                    ("discreet: guessed right", curators,
                     _measured(right, curators), f"at most {allowed:.3f}"),
                ),
                right="tried",
            ),
        ),
        facts={"foretold": foretold, "exact": shown[True] / times, "false": shown[False] / times,
               "discreet": right / curators},
    )  # fmt: skip


# ── who is in the data ───────────────────────────────────────────────────────────────────────────────────────────

MIN_MEMBERS = 20  # members; fewer are too few for a share
HELD_OUT = 1000  # strangers by whom the threshold is set
ALARMS = 0.05


@dataclass(frozen=True, kw_only=True)
class Traced:
    """The scores of members, of as many strangers, and of held-out strangers."""

    members: membership.Real
    strangers: membership.Real
    held_out: membership.Real

    @property
    def roc(self) -> membership.Roc:
        """The ROC curve: the test at every threshold."""
        return membership.roc(self.members, self.strangers)

    @property
    def counted(self) -> tuple[int, int]:
        """The number of members, and of strangers, above the score that 5 % of the held-out strangers exceed."""
        cut = np.sort(self.held_out)[-int(ALARMS * len(self.held_out)) - 1]
        return int((self.members > cut).sum()), int((self.strangers > cut).sum())

    def outcome(self, what: str, epsilon: Fraction | None = None) -> trials.Outcome:
        """Return how often, of pairs of a member and a stranger, the member had the higher score.

        Given    both were drawn alike, and ε (if one is given) is promised for the replacement of one record.
        Promise  the verdict accuses a curator that keeps that promise with probability at most 1/1000.
        Because  which of a pair is in the data is a fair coin, and the release is ε-private in each of these coins. So
                 of n guesses as many are right, at most, as n coins of chance e^ε/(1 + e^ε) show (Steinke, Nasr,
                 Jagielski 2023, Theorem 3.1), although they are all made from one release. A tie counts as wrong.
        """
        right, n = int((self.members > self.strangers).sum()), len(self.members)
        ceiling = None if epsilon is None else 1 - game.error(epsilon=epsilon)
        return trials.Outcome(what=what, right=right, bits=n, chance=0.5, ceiling=ceiling)


def tracing(*, epsilon: Number = 1, members: int = 50, columns: int = 400, coins: Coins = SYSTEM) -> Finding:
    """Report membership inference from published means: exact means reveal members, those of this curator do not."""
    e, n, d = price(epsilon, "epsilon"), positive_integer(members, "people"), positive_integer(columns, "columns")
    if n < MIN_MEMBERS:
        raise NotUnderstood(
            f"{n} people are too few to tell a share.", code="wrong-argument", instead=f"people={MIN_MEMBERS}, at least"
        )
    p = 0.2 + 0.6 * uniform(d, coins)
    inside, outside, held = ((uniform(k * d, coins).reshape(k, d) < p).astype(np.int64) for k in (n, n, HELD_OUT))
    found = {
        name: Traced(**{
            group: membership.trace(records, told, p)
            for group, records in (("members", inside), ("strangers", outside), ("held_out", held))
        })
        for name, told in _published(inside, e).items()
    }  # fmt: skip
    ours = f"discreet, total ε = {show(e)}"
    outcomes = {name: each.outcome(name, e if name == ours else None) for name, each in found.items()}
    exact, most = found["exact means"].counted[0], 1 - game.tradeoff(epsilon=e).missed(ALARMS)
    return Finding(
        title=f"Who is in the data? {n} people, {d} published means",
        text="The attacker has a record and the population's means, and asks whether the published means lean "
        "towards that record. Every mean is harmless; together they tell who took part. The threshold is set on "
        f"{HELD_OUT:,} other strangers. This curator protects what a record says: a stranger's in its place changes "
        "no answer's chance by more than a factor e^ε. Pairs of a member and a stranger judge that: "
        f"{outcomes[ours].verdict}.",
        verdict=f"exact means find {100 * exact / n:.0f} % at 5 % false alarms",
        good=None if outcomes[ours].good else False,
        tables=(_found(found, most), ReportTable(heads=("published", "pairs right (95 %)", *trials.Outcome.HEADS[2:]),
                                           rows=tuple(each.row() for each in outcomes.values()),
                                           right="foretold,allowed,chance", title="The member of each pair")),
        pictures=(_drawn(found, e),),
        facts={
            name: {"area": each.roc.area, "found": each.counted[0] / n, "alarms": each.counted[1] / n,
                   "pairs": outcomes[name].fraction, "verdict": outcomes[name].verdict}
            for name, each in found.items()
        } | {"allowed": most},
    )  # fmt: skip


def _published(inside: membership.Real, epsilon: Fraction) -> dict[str, membership.Real]:
    """Return the means of all columns, from an exact server and from this curator."""
    import pyarrow as pa  # noqa: PLC0415

    n, d = inside.shape
    names = [f"c{i}" for i in range(d)]
    frame = pa.table({name: inside[:, i] for i, name in enumerate(names)})
    with Naive(frame) as server:
        exact = membership.means(Web(server.url), names, table="people", size=n)
    declared = {name: {"min": 0, "max": 1, "step": 1} for name in names}
    with open_curator(frame, columns=declared, budget=Budget(epsilon=epsilon), neighbours="replace") as curator:
        host = Curated(curator, epsilon=epsilon / -(-d // 100))
        noisy = membership.means(host, names, table="data", size=n)
    return {"exact means": exact, f"discreet, total ε = {show(epsilon)}": noisy}


def _found(found: dict[str, Traced], most: float) -> ReportTable:
    rows = tuple(
        (name, f"{each.roc.area:.3f}", *(_measured(count, len(each.members)) for count in each.counted))
        for name, each in found.items()
    )
    return ReportTable(
        heads=("published", "area under the curve", "members found (95 %)", "strangers accused (95 %)"),
        rows=(*rows, ("the most that ε allows", "", f"{most:.3f}", f"{ALARMS:.3f}"),
              ("chance", "0.500", f"{ALARMS:.3f}", f"{ALARMS:.3f}")),
        right="area under the curve",
    )  # fmt: skip


def _drawn(found: dict[str, Traced], epsilon: Fraction) -> Picture:
    limit = game.tradeoff(epsilon=epsilon).series("")
    series = [
        Series(name=name, x=tuple(each.roc.alarms.tolist()), y=tuple(each.roc.hits.tolist()), kind="step")
        for name, each in found.items()
    ]
    series.append(Series(name="the most that ε allows", x=limit.x, y=tuple(1 - y for y in limit.y), kind="dashed"))
    return Picture(
        title="Members found against strangers accused", x="false alarms", y="members found",
        series=tuple(series), square=True,
    )  # fmt: skip
