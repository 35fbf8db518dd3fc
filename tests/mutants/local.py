"""The local model: reports, the people who send them, and those who collect them."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "a local ε whose odds are rounded up",
        [
            Edit(
                "discreet.local.odds:odds_of",
                "1 + floor(lambda: ball(epsilon).expm1())",
                "1 + ceiling(lambda: ball(epsilon).expm1())",
            )
        ],
        ["test_local.py::test_the_exact_epsilon_of_every_table_is_what_is_claimed"],
    ),
    Mutant(
        "a local randomizer with the odds of all bits in each",
        [
            Edit(
                "discreet.local.frequency.unary:UnaryEncoding.miss",
                "(self.odds if self.optimised else _root(self.odds))",
                "self.odds",
            )
        ],
        ["test_local.py::test_the_exact_epsilon_of_every_table_is_what_is_claimed"],
    ),
    Mutant(
        "a local lie that can be the truth",
        [
            Edit(
                "discreet.local.frequency.kary:others",
                "uniform_below(k - 1, len(values), coins) + 1",
                "uniform_below(k, len(values), coins) + 1",
            )
        ],
        ["test_local.py::test_supports_of_the_true_value_fit"],
    ),
    Mutant(
        "a local coin that 16 bits decide",
        [Edit("discreet.local.sampling:flips", "_under(Uniform(int(first), 64, coins), chance)", "False")],
        ["test_local_draws.py::test_coins_are_exact_where_the_first_bits_do_not_decide"],
    ),
    Mutant(
        "a local subset that a tie makes too large",
        [
            Edit(
                "discreet.local.frequency.subset:SubsetSelection._randomize",
                "axis=1) != self.size]",
                "axis=1) < self.size]",
            )
        ],
        ["test_local_draws.py::test_ties_of_subsets_are_drawn_again"],
    ),
    Mutant(
        "local coins that depend on the value",
        [
            Edit(
                "discreet.local.frequency.unary:UnaryEncoding._randomize",
                "flips(self.hit, len(values), coins)",
                "flips(self.hit, int(values[0] > 0) + len(values), coins)[: len(values)]",
            )
        ],
        ["test_local_draws.py::test_coins_do_not_depend_on_values"],
    ),
    Mutant(
        "a local report that counts twice",
        [Edit("discreet.local.collection.collector:Collector._take", "good[again] = False", "good[again] = True")],
        ["test_local_collecting.py::test_bad_reports_are_counted_and_change_nothing"],
    ),
    Mutant(
        "a local report to another question that counts",
        [
            Edit(
                "discreet.local.wire:Wire.decode", "outside = known &", ("question &= False\n        outside = known &")
            )
        ],
        ["test_local_collecting.py::test_bad_reports_are_counted_and_change_nothing"],
    ),
    Mutant(
        "a respondent's answer beyond the budget",
        [
            Edit(
                "discreet.local.collection.respondent:Respondent._once",
                "if sum(spent, loss) not in budget:",
                "if loss not in budget:",
            )
        ],
        ["test_local_memo.py"],
    ),
    Mutant(
        "a respondent's report before it is on disk",
        [
            Edit(
                "discreet.local.collection.respondent:Respondent._transaction",
                ('raise\n            db.execute("COMMIT")'),
                ('raise\n            db.execute("ROLLBACK")'),
            )
        ],
        ["test_local_memo.py"],
    ),
    Mutant(
        "a respondent's charge that a power failure undoes",
        [
            Edit(
                "discreet.local.collection.respondent:Respondent._transaction",
                ('):\n            db.execute("PRAGMA synchronous = EXTRA")'),
                ('):\n            db.execute("PRAGMA synchronous = NORMAL")'),
            )
        ],
        ["test_local_memo.py"],
    ),
    Mutant(
        "many reports for the charge of one",
        [
            Edit(
                "discreet.local.collection.respondent:Respondent._once",
                "if report.shape != randomizer.shape():",
                "if report.size == 0:",
            )
        ],
        ["test_local_memo.py"],
    ),
    Mutant(
        "a memo that is made anew every day",
        [
            Edit(
                "discreet.local.collection.respondent:Respondent.again",
                "return memoised.report(int(kept), coins)",
                "return memoised.report(memoised.remember(int(kept), coins), coins)",
            )
        ],
        ["test_local_memo.py"],
    ),
    Mutant(
        "places by distance at twice the calibration",
        [
            Edit(
                "discreet.local.domains.location_methods:Distance.__init__",
                "alpha = epsilon / (2 * (size - 1))",
                "alpha = epsilon / (size - 1)",
            )
        ],
        ["test_local_location.py"],
    ),
    Mutant(
        "a bit of a number told too often",
        [
            Edit(
                "discreet.local.domains.mean:BoundedMean.randomize",
                "told = flips((self.odds - 1) / (self.odds + 1), n, coins)",
                "told = flips(self.odds / (self.odds + 1), n, coins)",
            )
        ],
        ["test_local_mean.py"],
    ),
    Mutant(
        "words hashed, but not randomised",
        [
            Edit(
                "discreet.local.domains.heavy_hitters:HeavyHitters.randomize",
                "bucket = self.response.randomize(_buckets(matrix, codes[:, None]), coins)",
                "bucket = _buckets(matrix, codes[:, None])",
            )
        ],
        ["test_contract.py::test_the_contract[HeavyHitters]"],
    ),
    Mutant(
        "shuffled reports at the wrong edge of what tells them apart",
        [
            Edit(
                "discreet.local.collection.shuffle:_apart",
                "for x in range(first, min(last, clones + 1) + 1):",
                "for x in range(first + 1, min(last + 1, clones + 1) + 1):",
            )
        ],
        ["test_local_shuffle.py"],
    ),
    Mutant(
        "shuffled reports with all others for clones",
        [
            Edit(
                "discreet.local.collection.shuffle:_clones",
                "clone = 1 / e0 if k is None else",
                "clone = arb(0.999) if k is None else",
            )
        ],
        ["test_local_shuffle.py"],
    ),
]
