"""The auditor: bounds on epsilon that accuse the innocent or acquit the guilty."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "an event counted where it was found",
        [
            Edit(
                "discreet.lab.audits.audit:searched",
                "return counted(events, halves[0][1], halves[1][1],",
                "return counted(events, halves[0][0], halves[1][0],",
            )
        ],
        ["test_audit.py::test_the_innocent_are_seldom_accused"],
    ),
    Mutant(
        "each bound of an audit at the whole doubt",
        [Edit("discreet.lab.audits.audit:counted", "sure = 1 - doubt / (4 * len(named))", "sure = 1 - doubt")],
        ["test_audit.py::test_a_bound_is_the_ratio_of_clopper_and_pearsons_ends"],
    ),
    Mutant(
        "a run whose δ is forgotten",
        [Edit("discreet.lab.audits.audit:_chance", "seen + 2 * m * delta * float(moved.max())", "seen")],
        ["test_audit.py::test_one_run_against_the_binomial_law"],
    ),
    Mutant(
        "a replay that does not count coins",
        [
            Edit(
                "discreet.lab.audits.replay:compare",
                '("ended", "draws", "form") if draws else',
                '("ended", "form") if draws else',
            )
        ],
        ["test_audit.py::test_replays_flag"],
    ),
    Mutant(
        "the δ of a single output",
        [
            Edit(
                "discreet.lab.audits.channel:delta",
                "columns = tuple(k for k, each in enumerate(most) if each > 0)",
                "columns = tuple(k for k, each in enumerate(most) if each > 0 and each == max(most))",
            )
        ],
        ["test_channel.py::test_against_every_event"],
    ),
]
