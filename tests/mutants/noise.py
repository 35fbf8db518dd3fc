"""Noise: another scale, another law, or the same draw twice."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "scale × 0.8, of the law on record",
        [
            Edit(
                "discreet.plan.measures.measure:Noised.law",
                "price.law(self._reach(setting))",
                "price.law(self._reach(setting)).scaled(Fraction(4, 5))",
            )
        ],
        ["test_neighbours.py::test_the_price_is_that_of_the_goods"],
    ),
    Mutant(
        "scale × 0.8, when it is drawn",
        [
            Edit(
                "discreet.mechanisms.noise:Noise.release",
                "self.law.draw(steps.size, coins)",
                "(self.law.draw(steps.size, coins) * 4 // 5)",
            )
        ],
        [
            "test_neighbours.py::test_each_number_gets_its_own_noise_from_the_law_on_record",
            "test_threats_spending.py::test_11_the_noise_follows_the_law_on_record",
        ],
    ),
    Mutant(
        "laws in the wrong order",
        [
            Edit(
                "discreet.plan.plan:Plan.measurements",
                "zip(self.measures, self.laws, strict=True)",
                "zip(self.measures, self.laws[::-1], strict=True)",
            )
        ],
        [
            "test_neighbours.py::test_the_price_is_that_of_the_goods",
            "test_neighbours.py::test_each_number_gets_its_own_noise_from_the_law_on_record",
        ],
    ),
    Mutant(
        "the same noise on every measure",
        [
            Edit(
                "discreet.plan.plan:Plan.release",
                "m.release(each, coins) for m",
                "m.release(each, __import__('copy').copy(coins)) for m",
            )
        ],
        [
            "test_neighbours.py::test_each_number_gets_its_own_noise_from_the_law_on_record",
            "test_neighbours.py::test_the_replay",
        ],
    ),
    Mutant(
        "noise of several groups with the margin of one",
        [Edit("discreet.plan.estimates.noise_sums:_counted", "** (many * draws)", "** many")],
        ["test_accuracy.py::test_the_radius_of_few_noises_is_the_least"],
    ),
]
