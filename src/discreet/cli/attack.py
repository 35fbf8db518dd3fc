"""`discreet attack`: attack the privacy of one unit, on naive servers and on this curator; and show what ε means."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from discreet.cli.reporting import add_outputs, check_outputs, deliver
from discreet.cli.terminal import counting
from discreet.errors import NotUnderstood
from discreet.lab.report import Finding, Report

__all__ = ["add"]

MORE = """\
attacks   reconstruct   everybody's secret bit from counts of many: seven defences, a naive server, this curator
          difference    all less all but one
          average       the same question again and again
          tracker       round a rule against small sets
          class         is Alice among the thirty students?
          membership    who is behind published means
meaning   game          how often the best guess about one person is wrong; the trade-off curve
          bayes         beliefs about Alice after a study with her and without
          shame         additive privacy, and why it is not private
          replicability how often two studies of one population agree
          all           every one of these, one after the other

Naive servers are started for the attack, on this machine. With --url a server of yours is attacked: it takes
{"sql": …} by POST and gives {"rows": [[…], …]}; people are those whose --key is 0 … N-1.
"""
SERVER = {"table": "people", "key": "id", "secret": "secret = 1", "noise": "none", "truth": None}


def add(commands: Any) -> None:
    """Add the command to the command line."""
    attack = commands.add_parser(
        "attack",
        help="try to learn about one person; what ε means",
        epilog=MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    attack.add_argument("what", metavar="WHAT", choices=(*PARTS, "all"), help="an attack or a meaning, see below")
    attack.add_argument("--epsilon", metavar="ε", help="what the curator promises in all; default: 1")
    attack.add_argument("--delta", metavar="δ", help="for game (default 1e-6) and shame (default 0.01)")
    attack.add_argument("--people", type=int, metavar="N", help="how many people; default: as suits the attack")
    attack.add_argument("--queries", type=int, metavar="M", help="questions to reconstruct from; default: 4 for each")
    attack.add_argument("--runs", type=int, metavar="R", help="how often to try; default: as suits the attack")
    attack.add_argument("--url", help="for reconstruct: a server to attack, of --people N")
    attack.add_argument("--table", help="its table; default: people")
    attack.add_argument("--key", help="the column that tells people apart; default: id")
    attack.add_argument("--secret", metavar="CONDITION", help="what to find out; default: secret = 1")
    attack.add_argument("--noise", metavar="KIND", help="what it is thought to add: none, bounded, laplace, gross, …")
    attack.add_argument("--truth", metavar="FILE", help="the bits, if you know them: a line of 0 or 1 for each person")
    add_outputs(attack)
    attack.set_defaults(run=_attack)


def _attack(options: argparse.Namespace) -> None:
    check_outputs(options)
    if options.url is not None:
        deliver(_outside(options), options)
        return
    given = [name for name in SERVER if getattr(options, name) is not None]
    if given:
        raise NotUnderstood(f"--{given[0]} is about a server.", code="wrong-option", instead="add --url http://…")
    parts = list(PARTS) if options.what == "all" else [options.what]
    _check(options, parts)
    found = []
    with counting("attacking", "parts") as tell:
        for i, each in enumerate(parts):
            tell(i, len(parts))
            found.append(PARTS[each][0](options))
    report = reduce(Report.__add__, found)
    if options.what == "all":
        report = Report(title="Attacks, and what ε means", findings=report.findings)
    deliver(report, options)


def _check(options: argparse.Namespace, parts: list[str]) -> None:
    """Refuse options that no part reads, or that not all parts can take, before anything is tried."""
    _whole(options)
    read = {option for each in parts for option in PARTS[each][1]}
    if len(parts) > 1:
        read -= {"people", "queries"}  # no number suits them all
    for option in ("epsilon", "delta", "people", "queries", "runs"):
        if getattr(options, option) is not None and option not in read:
            known = ", ".join(f"--{each}" for each in sorted(read))
            raise NotUnderstood(
                f"attack {options.what} does not read --{option}.", code="wrong-option", instead=f"it reads {known}"
            )


def _whole(options: argparse.Namespace) -> None:
    for option in ("people", "queries", "runs"):
        if (given := getattr(options, option)) is not None and given < 1:
            raise NotUnderstood(
                f"--{option} is a whole number of at least one.", code="wrong-option", instead=f"--{option} 100"
            )


def _outside(options: argparse.Namespace) -> Report:
    from discreet.lab.attacks.targets import People, Web  # noqa: PLC0415
    from discreet.lab.reports import reconstruction  # noqa: PLC0415

    if options.what != "reconstruct" or options.people is None:
        raise NotUnderstood(
            "a server is attacked by reconstruction, and the attacker knows how many people there are.",
            code="wrong-option",
            instead="discreet attack reconstruct --url http://… --people 100",
        )
    _whole(options)
    ignored = [each for each in ("epsilon", "delta", "runs") if getattr(options, each) is not None]
    if ignored:
        raise NotUnderstood(
            f"with --url, --{ignored[0]} says nothing.", code="wrong-option", instead=f"leave --{ignored[0]} out"
        )
    server = {name: getattr(options, name) or default for name, default in SERVER.items()}
    noise, truth = str(server.pop("noise")), server.pop("truth")
    target = People(host=Web(options.url), n=options.people, **{name: str(each) for name, each in server.items()})
    bits = None if truth is None else _bits(str(truth))
    with counting("asking", "questions") as tell:
        return reconstruction.outside(target, m=options.queries, noise=noise, truth=bits, progress=tell)


def _bits(path: str) -> list[int]:
    try:
        words = Path(path).read_text().split()
    except OSError as problem:
        raise NotUnderstood(
            f"the truth cannot be read: {problem.strerror}.", code="cannot-read", instead="name a file of bits"
        ) from None
    if not words or any(word not in ("0", "1") for word in words):
        raise NotUnderstood(
            "the truth is a line of 0 or 1 for each person.", code="wrong-option", instead="name such a file"
        )
    return [int(word) for word in words]


# ── each part ────────────────────────────────────────────────────────────────────────────────────────────────────


def _given(options: argparse.Namespace, **names: str) -> dict[str, Any]:
    """Return the options that were given, under the parameter names of a function."""
    return {name: value for name, option in names.items() if (value := getattr(options, option)) is not None}


def _one(finding: Finding) -> Report:
    return Report(title="Attacks on one person", findings=(finding,))


def _reconstruct(options: argparse.Namespace) -> Report:
    from discreet.lab.reports import reconstruction  # noqa: PLC0415

    given = _given(options, epsilon="epsilon", n="people", m="queries", runs="runs")
    with counting("reconstructing", "parts") as tell:
        return reconstruction.report(**given, progress=tell)


def _difference(options: argparse.Namespace) -> Report:
    from discreet.lab.reports import membership  # noqa: PLC0415

    return _one(membership.differencing(**_given(options, epsilon="epsilon", runs="runs")))


def _average(options: argparse.Namespace) -> Report:
    from discreet.lab.reports import membership  # noqa: PLC0415

    return _one(membership.averaging(**_given(options, epsilon="epsilon", runs="runs")))


def _tracker(options: argparse.Namespace) -> Report:
    from discreet.lab.reports import membership  # noqa: PLC0415

    return _one(membership.tracking(**_given(options, epsilon="epsilon", runs="runs")))


def _class(options: argparse.Namespace) -> Report:
    from discreet.lab.reports import membership  # noqa: PLC0415

    return _one(membership.class_average(**_given(options, epsilon="epsilon", curators="runs")))


def _membership(options: argparse.Namespace) -> Report:
    from discreet.lab.reports import membership  # noqa: PLC0415

    return _one(membership.tracing(**_given(options, epsilon="epsilon", members="people")))


def _game(options: argparse.Namespace) -> Report:
    from discreet.lab.meaning import game  # noqa: PLC0415

    return game.report(**_given(options, epsilon="epsilon", delta="delta", rounds="runs"))


def _bayes(options: argparse.Namespace) -> Report:
    from discreet.lab.meaning import bayes  # noqa: PLC0415

    return bayes.report(**_given(options, epsilon="epsilon", people="people"))


def _shame(options: argparse.Namespace) -> Report:
    from discreet.lab.meaning import name_and_shame  # noqa: PLC0415

    return name_and_shame.report(**_given(options, delta="delta", people="people", runs="runs"))


def _replicability(options: argparse.Namespace) -> Report:
    from discreet.lab.meaning import replicability  # noqa: PLC0415

    return replicability.report(**_given(options, n="people", trials="runs"))


PARTS: Mapping[str, tuple[Callable[[argparse.Namespace], Report], tuple[str, ...]]] = {  # and the options it reads
    "reconstruct": (_reconstruct, ("epsilon", "people", "queries", "runs")),
    "difference": (_difference, ("epsilon", "runs")),
    "average": (_average, ("epsilon", "runs")),
    "tracker": (_tracker, ("epsilon", "runs")),
    "class": (_class, ("epsilon", "runs")),
    "membership": (_membership, ("epsilon", "people")),
    "game": (_game, ("epsilon", "delta", "runs")),
    "bayes": (_bayes, ("epsilon", "people")),
    "shame": (_shame, ("delta", "people", "runs")),
    "replicability": (_replicability, ("people", "runs")),
}
