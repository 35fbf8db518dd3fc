"""Failures that tell something: an engine that fails, takes long, or is asked again."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "refund on error",
        [
            Edit(
                "discreet.ledger.ledger:Ledger.answer",
                "            said = problem.said if",
                (
                    "\n"
                    "            self._journal.turn(lambda turn: turn.state.spent.clear())\n"
                    "            said = problem.said if"
                ),
            )
        ],
        ["test_threats.py::test_02_if_an_engine_fails_all_the_same"],
    ),
    Mutant(
        "the engine's own words",
        [
            Edit(
                "discreet.ledger.ledger:Ledger._fail",
                ("        self._notes.add(entry, said)\n        raise Broken(FAILED)"),
                ("        self._notes.add(entry, said)\n        raise Broken(said)"),
            )
        ],
        ["test_threats.py::test_02_what_the_engine_said_is_gone"],
    ),
    Mutant(
        "breaker: only the question that failed waits",
        [
            Edit(
                "discreet.ledger.balances:State.admit_running",
                "        if dataset in self.stopped:\n",
                "        if dataset in self.stopped and not self.failures:\n",
            )
        ],
        ["test_breaker.py::test_one_failure_stops_all_new_questions_until_the_owner_resumes"],
    ),
    Mutant(
        "breaker: what is under way goes on",
        [Edit("discreet.ledger.transactions:keep", "        journal.state.admit_running(receipt.dataset)\n", "")],
        ["test_breaker.py::test_questions_under_way_when_it_stops_are_all_told_the_same"],
    ),
    Mutant(
        "breaker: time is no failure",
        [
            Edit(
                "discreet.engines.duckdb.snapshot:DuckDBSnapshot.aggregate",
                "        if self.closed.is_set():\n",
                '        if self.closed.is_set() or "Timeout" in said:\n',
            )
        ],
        ["test_breaker.py::test_memory_and_time_are_failures"],
    ),
    Mutant(
        "breaker: a release that fails is tried again",
        [
            Edit(
                "discreet.ledger.ledger:Ledger.answer",
                "        except Interrupted:\n",
                "        except (Interrupted, TypeError):\n",
            )
        ],
        ["test_breaker.py::test_whatever_happens_after_the_data_are_open_is_a_failure"],
    ),
    Mutant(
        "breaker: giving up is a failure",
        [
            Edit(
                "discreet.engines.duckdb.snapshot:_beside",
                '            raise TimeoutError("it took too long")\n',
                (
                    '            raise TimeoutError("it took too long")\n'
                    "    except KeyboardInterrupt:\n"
                    "        raise TimeoutError from None\n"
                ),
            )
        ],
        ["test_breaker.py::test_ctrl_c_in_the_middle_of_a_question"],
    ),
    Mutant(
        "breaker: begun again without end",
        [
            Edit(
                "discreet.ledger.balances:State.begin_again",
                "        self.begun.setdefault(charge, []).append(self.link.seq + 1)",
                "        self.begun[charge] = [self.link.seq + 1]",
            )
        ],
        ["test_breaker.py::test_a_question_is_begun_again_so_often_and_no_more"],
    ),
    Mutant(
        "breaker: resuming gives the failures of the day back",
        [
            Edit(
                "discreet.ledger.balances:State.resume",
                "        self.failures.pop(dataset, None)",
                "        self.failures.pop(dataset, None), self.failed_at.pop(dataset, None)",
            )
        ],
        ["test_breaker.py::test_resuming_gives_no_failure_of_the_day_back"],
    ),
    Mutant(
        "breaker: failures of all days count",
        [Edit("discreet.ledger.balances:State.failures_of_a_day", "< DAY", "< 1000 * DAY")],
        ["test_breaker.py::test_failures_of_other_days_do_not_count"],
    ),
    Mutant(
        "breaker: as many failures as were shown are resumed",
        [
            Edit(
                "discreet.ledger.transactions:resume",
                "    if not failed <= seen:\n",
                "    if len(failed) > len(seen):\n",
            )
        ],
        ["test_breaker.py::test_a_failure_that_took_the_place_of_one_that_was_seen_is_not_resumed"],
    ),
    Mutant(
        "breaker: plans are tried on the data",
        [
            Edit("discreet.engines.duckdb.snapshot:_check", "cursor = source.empty()", "cursor = source.cursor()"),
        ],
        ["test_breaker.py::test_a_plan_is_checked_without_the_data"],
    ),
    Mutant(
        "the newest data for a question about older ones",
        [
            Edit(
                "discreet.curator.session:Session._look",
                "paid, exact = snapshot.aggregate(",
                "paid, exact = self._curator.engine.snapshot().aggregate(",
            )
        ],
        ["test_breaker.py::test_data_that_are_replaced_under_a_paid_question"],
    ),
    Mutant(
        "what changed while it was read is told",
        [
            Edit(
                "discreet.engines.duckdb.connection:DuckDBSource.is_unchanged",
                ("        try:\n            return set(self._places)"),
                ("        try:\n            return True or set(self._places)"),
            )
        ],
        [
            "test_breaker.py::test_data_that_are_replaced_under_a_paid_question",
            "test_breaker.py::test_data_that_change_hide_whether_the_engine_failed",
        ],
    ),
    Mutant(
        "of several, what fits is bought",
        [Edit("discreet.ledger.transactions:charge", "        spent = spent + cost\n", "        spent = cost\n")],
        ["test_breaker.py::test_spending_for_several_takes_what_fits"],
    ),
    Mutant(
        "a plan that was not tried",
        [
            Edit(
                "discreet.curator.session:_runs",
                "        snapshot.check(plan)\n",
                "        pass\n",
            )
        ],
        ["test_breaker.py::test_the_plan_that_is_run_was_checked"],
    ),
    Mutant(
        "strangers see plans",
        [
            Edit(
                "discreet.ledger.ledger:Ledger.admit",
                "        self._journal.look(lambda turn: turn.state.admit_analyst(dataset, analyst))",
                "        self._journal.look(lambda turn: analyst and turn.state.admit_analyst(dataset, analyst))",
            )
        ],
        ["test_breaker.py::test_strangers_hear_nothing_else"],
    ),
]
