"""Quantiles, modes and top-k: what is chosen, and what a choice costs."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "a quantile priced as if everybody had one row",
        [
            Edit(
                "discreet.mechanisms.quantiles.many:Quantiles._rate",
                "choice.share / (2 * self.records * most)",
                "choice.share / (2 * most)",
            )
        ],
        ["test_quantiles.py::test_the_loss_is_nearly_reached"],
    ),
    Mutant(
        "every level of the tree has all of ε",
        [
            Edit(
                "discreet.mechanisms.quantiles.many:_Choice.with_share",
                "side.with_share(room - share)",
                "side.with_share(room)",
            )
        ],
        ["test_quantiles.py::test_shares_add_up_to_one_on_every_way_down"],
    ),
    Mutant(
        "who is replaced leaves one group only",
        [
            Edit(
                "discreet.mechanisms.quantiles.many:Quantiles._rate",
                "if choice is self._root and not self.grouped else 2 * most",
                "if choice is self._root else most",
            )
        ],
        ["test_quantiles.py::test_who_moves_from_one_group_to_another_is_seen_in_both"],
    ),
    Mutant(
        "the records at a cut are on both sides of it",
        [
            Edit(
                "discreet.mechanisms.quantiles.grid_choice:GridRange.before",
                "end = np.minimum(self.start + self.width, point)",
                "end = self.start + self.width",
            )
        ],
        [
            "test_quantiles.py::test_quantiles_of_many_ties_are_those_of_the_records",
            "test_quantiles.py::test_no_unit_does_more_than_the_loss_says",
        ],
    ),
    Mutant(
        "a mode priced as if everybody had one row",
        [
            Edit(
                "discreet.plan.measures.mode:Mode.mechanism",
                "sensitivity=setting.caps.most_rows, monotone",
                "sensitivity=1, monotone",
            )
        ],
        ["test_chosen.py::test_no_person_moves_more_counts_than_were_paid_for"],
    ),
    Mutant(
        "a choice among sums priced as if everybody had one row",
        [
            Edit(
                "discreet.plan.measures.top_k:TopK.most",
                "return self.score.reach(alone).l1",
                "return min(self.score.reach(alone).l1, Fraction(1))",
            )
        ],
        ["test_top.py::test_no_person_moves_a_score_further_than_was_paid_for"],
    ),
    Mutant(
        "scores that fall for some are said to grow for all",
        [
            Edit(
                "discreet.plan.measures.top_k:TopK.together",
                "(not self.score.summed or self.score.low >= 0)",
                "True",
            )
        ],
        ["test_top.py::test_no_person_moves_a_score_further_than_was_paid_for"],
    ),
    Mutant(
        "who is replaced moves all scores one way",
        [
            Edit(
                "discreet.plan.measures.top_k:TopK.together",
                "return setting.neighbours.monotone and (",
                "return bool(",
            ),
            Edit("discreet.plan.measures.top_k:TopK.mechanism", "            neighbours=setting.neighbours,\n", ""),
        ],
        ["test_top.py::test_no_person_moves_a_score_further_than_was_paid_for"],
    ),
    Mutant(
        "every choice has all of ε",
        [
            Edit(
                "discreet.plan.measures.top_k:TopK.law",
                "(price * Fraction(1, self.k)).exponential()",
                "price.exponential()",
            )
        ],
        ["test_top.py::test_it_says_how_it_was_chosen_and_how_wrong_that_can_be"],
    ),
    Mutant(
        "k choices at the price of one",
        [
            Edit(
                "discreet.mechanisms.selection.top_k:TopKRanking.loss",
                "        return self._top.loss",
                "        return self.choose.loss",
            )
        ],
        ["test_contract.py::test_the_contract[Places]"],
    ),
    Mutant(
        "the true first ones",
        [
            Edit(
                "discreet.mechanisms.selection.top_k:TopKRanking.release",
                "enumerate(self._top.release(sign * scores[0], coins))",
                "enumerate((-sign * scores[0]).argsort()[: self.k].tolist())",
            )
        ],
        ["test_contract.py::test_the_contract[Places]"],
    ),
    Mutant(
        "the number that keys were chosen by is shown",
        [
            Edit(
                "discreet.plan.compile.alternatives:top_k_of",
                "any(each is None or released_names(each) for each in shown)",
                "None in shown",
            )
        ],
        ["test_fixtures.py"],
    ),
    Mutant(
        "two ends at the price of one",
        [
            Edit(
                "discreet.mechanisms.quantiles.interval:QuantileIntervalMechanism.loss",
                "        return 2 * self._one.loss",
                "        return self._one.loss",
            )
        ],
        ["test_contract.py::test_the_contract[Edges]"],
    ),
    Mutant(
        "each end has all of ε",
        [
            Edit(
                "discreet.mechanisms.quantiles.interval:QuantileIntervalMechanism._one",
                "epsilon=self.epsilon / 2, at",
                "epsilon=self.epsilon, at",
            ),
            Edit(
                "discreet.mechanisms.quantiles.interval:QuantileIntervalMechanism.loss",
                "        return 2 * self._one.loss",
                "        return self._one.loss",
            ),
        ],
        ["test_contract.py::test_the_contract[Edges]"],
    ),
    Mutant(
        "ends that aim at the quantile itself",
        [
            Edit(
                "discreet.mechanisms.quantiles.interval:QuantileIntervalMechanism._aims",
                "yield part.with_more(0, self.shift), aim",
                "yield part, aim",
            ),
            Edit(
                "discreet.mechanisms.quantiles.interval:QuantileIntervalMechanism._aims",
                "yield part.with_more(self.last, self.shift), aim + self.shift",
                "yield part, aim",
            ),
        ],
        ["test_edges.py::test_answers_hold_them_too"],
    ),
    Mutant(
        "a bound of other rows will do",
        [
            Edit(
                "discreet.procedures.auto_bounds:bounds_to_use",
                "same = each.measures == bound.measures and replace(bound, laws=each.laws) == each",
                "same = isinstance(each.measures[0], UpperBound)",
            ),
            Edit("discreet.plan.outline:ABOUT", '"ceilings/1": ("of", "least", "first")', '"ceilings/1": ("of",)'),
            Edit("discreet.procedures.auto_bounds:_subject", "measure.of, measure.least, measure.first", "measure.of"),
        ],
        ["test_automatic.py::test_a_bound_of_other_rows_is_another"],
    ),
    Mutant(
        "campaign: the second word of a region in 64 bits",
        [
            Edit(
                "discreet.engines.sql.histograms:_coded",
                "{dialect.cast(each, 'hugeint')} * {1 << n * CODE_WORD}",
                "{each} * {1 << n * CODE_WORD}",
            )
        ],
        [
            "test_campaign_limits.py::test_any_number_of_conditions[64-False]",
            "test_campaign_limits.py::test_any_number_of_conditions[127-False]",
        ],
    ),
]
