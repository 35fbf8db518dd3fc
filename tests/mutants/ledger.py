"""The ledger: what is charged, when, and what is answered from it again."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "a plan is paid for without a certificate",
        [Edit("discreet.ledger.transactions:_believed", "if not certified:", "if certified is None:")],
        ["test_curator.py::test_a_plan_is_paid_for_by_its_certificate_alone"],
    ),
    Mutant(
        "a certificate says what a plan costs",
        [
            Edit(
                "discreet.ledger.ledger:Ledger._offer",
                "if offered.loss is not None and Charge.price(offered.loss) != (pure, rho, event):",
                "if offered is None:",
            )
        ],
        ["test_curator.py::test_a_plan_is_paid_for_by_its_certificate_alone"],
    ),
    Mutant(
        "plans that are put together need no certificate",
        [
            Edit(
                "discreet.core.mechanism:_Compound.needs_certificate",
                "return any(part.needs_certificate for part in self.parts)",
                "return False",
            )
        ],
        ["test_curator.py::test_a_plan_is_paid_for_by_its_certificate_alone"],
    ),
    Mutant(
        "a plan is run on other data than it was checked for",
        [
            Edit(
                "discreet.engines.duckdb.snapshot:DuckDBSnapshot.aggregate",
                "if certificate.facts != self.catalogue.facts:",
                "if certificate.facts is None:",
            )
        ],
        ["test_curator.py::test_a_plan_is_run_on_the_data_that_it_was_checked_for"],
    ),
    Mutant(
        "the index of what was paid for misses what another process bought",
        [
            Edit(
                "discreet.curator.history:History.past",
                "entries = self._ledger.after(last := self._last)",
                "entries = self._ledger.after(last) if (last := self._last) == self._first else []",
            )
        ],
        ["test_history.py::test_what_others_paid_for_is_found"],
    ),
    Mutant(
        "the index of what was paid for does not tell the states of the data apart",
        [
            Edit(
                "discreet.curator.history:History._take",
                "self._shelves.setdefault(fact.version, PaidPlans())",
                "self._shelves.setdefault('', PaidPlans())",
            ),
            Edit(
                "discreet.curator.history:History.past",
                "self._shelves.get(version, PaidPlans())",
                "self._shelves.get('', PaidPlans())",
            ),
            Edit(
                "discreet.curator.history:History._plan",
                "(fact.dataset, fact.version) != (self._dataset, version)",
                "fact.dataset != self._dataset",
            ),
        ],
        ["test_history.py::test_what_was_paid_for_of_other_data_is_not_found"],
    ),
    Mutant(
        "the index of what was paid for begins with the first state of the data that is asked about",
        [
            Edit(
                "discreet.curator.history:History._reach",
                "if not self._versions or first.seq < self._first.seq:",
                "if not self._versions:",
            )
        ],
        ["test_history.py::test_an_earlier_state_of_the_data_is_known_once_it_is_asked_about"],
    ),
    Mutant(
        "an answer follows from one that was never kept",
        [Edit("discreet.curator.history:History.kept", "return charge in self._kept", "return True")],
        ["test_history.py::test_nothing_follows_from_what_is_not_kept"],
    ),
    Mutant(
        "a better bound makes an old question a new one",
        [
            Edit(
                "discreet.procedures.auto_bounds:ask_bounded",
                "    for bounds in options:\n",
                "    for bounds in options[-1:]:\n",
            )
        ],
        ["test_automatic.py::test_the_same_question_keeps_the_bounds_it_was_asked_with"],
    ),
    Mutant(
        "noise cached across questions: the key ignores the filter",
        [
            Edit(
                "discreet.plan.plan:Plan.key",
                "hashlib.sha256(write(self).encode())",
                "hashlib.sha256(write(__import__('dataclasses').replace(self, where=None)).encode())",
            )
        ],
        ["test_threats_spending.py::test_12_another_question_is_never_answered_from_memory"],
    ),
    Mutant(
        "noise cached across questions: the ledger does not compare",
        [
            Edit(
                "discreet.plan.plan:Plan.key",
                "hashlib.sha256(write(self).encode())",
                "hashlib.sha256(write(__import__('dataclasses').replace(self, where=None)).encode())",
            ),
            Edit(
                "discreet.ledger.transactions:_the_same",
                ".asks_the_same(fact) or before.mechanism != fact.mechanism:",
                ".asks_the_same(fact):",
            ),
        ],
        ["test_threats_spending.py::test_12_another_question_is_never_answered_from_memory"],
    ),
    Mutant(
        "check, then charge",
        [
            Edit("discreet.ledger.transactions:_first", "                state.admit(fact, spent)\n", ""),
            Edit(
                "discreet.ledger.ledger:Ledger._spend",
                "        return self._journal.turn(lambda turn: transactions.charge(turn, choices))",
                (
                    "        fact = choices[0][0].charge\n"
                    "        self._journal.turn(lambda turn: turn.find(fact.name or '') or turn.state.admit(fact))\n"
                    "        return self._journal.turn(lambda turn: transactions.charge(turn, choices))"
                ),
            ),
        ],
        ["test_threats_spending.py::test_09_to_check_and_to_charge_is_one_thing"],
    ),
    Mutant(
        "new data, old answer",
        [
            Edit(
                "discreet.engines.duckdb.snapshot:DuckDBSnapshot.version",
                "return self.named(self.state)",
                'return ""',
            )
        ],
        [
            "test_threats_spending.py::test_12_new_data_are_charged_again",
            "test_threats_spending.py::test_12_new_data_under_an_open_curator",
        ],
    ),
    Mutant(
        "version: a hash of the data",
        [
            Edit(
                "discreet.ledger.transactions:version",
                'known = f"v{os.urandom(16).hex()}"',
                'known = f"v{hashlib.sha256(said).hexdigest()[:32]}"',
            )
        ],
        ["test_versions.py::test_whatever_an_analyst_can_reach_is_the_same_byte_by_byte_on_neighbours"],
    ),
    Mutant(
        "version: a hash of the data in what is remarked",
        [
            Edit(
                "discreet.engines.duckdb.snapshot:DuckDBSnapshot.remarks",
                "        return () if said is None else (said,)\n",
                (
                    "        state = self.source.version()[:4]  # said of no row, or so it seems\n"
                    "        return (state,) if said is None else (said, state)\n"
                ),
            )
        ],
        ["test_versions.py::test_whatever_an_analyst_can_reach_is_the_same_byte_by_byte_on_neighbours"],
    ),
    Mutant(
        "version: all ledgers have one key",
        [
            Edit(
                "discreet.ledger.stores.store:Store.key",
                "            found = os.urandom(KEY)\n",
                "            found = bytes(KEY)\n",
            )
        ],
        ["test_versions.py::test_no_two_ledgers_have_a_tag_in_common"],
    ),
    Mutant(
        "version: two processes give two names",
        [
            Edit(
                "discreet.ledger.transactions:version",
                "    known = journal.state.versions.get(tag)\n",
                "    known = None\n",
            ),
            Edit(
                "discreet.ledger.facts:Version.name", 'return f"version {self.tag}"', 'return f"version {self.label}"'
            ),
            Edit(
                "discreet.ledger.balances:State.name_version",
                "if tag in self.versions or label in self.named:",
                "if label in self.named:",
            ),
        ],
        ["test_versions.py::test_the_same_data_keep_their_name_and_other_data_get_another"],
    ),
    Mutant(
        "version: the hashes of old ledgers are shown",
        [Edit("discreet.ledger.ledger:Ledger.__iter__", "yield state.follow(row).shown", "yield state.follow(row)")],
        ["test_versions.py::test_a_ledger_of_format_1_is_read_and_its_fingerprints_are_shown_to_nobody"],
    ),
    Mutant(
        "ledger: everybody can read it",
        [Edit("discreet.ledger.stores.store:OWNER", "OWNER = 0o600", "OWNER = 0o644")],
        ["test_versions.py::test_all_files_beside_the_data_are_their_owners_alone_whatever_the_umask"],
    ),
    Mutant(
        "ledger: everybody can read its log",
        [
            Edit(
                "discreet.ledger.stores.sqlite:SQLite._tighten",
                'for end in ("", "-wal", "-shm", "-journal"):',
                'for end in ("",):',
            )
        ],
        ["test_versions.py::test_a_ledger_that_others_could_read_is_tightened_when_it_is_opened"],
    ),
    Mutant(
        "shown, not kept",
        [
            Edit(
                "discreet.ledger.ledger:Ledger.answer",
                "return self._journal.turn(lambda turn: transactions.keep(turn, receipt, answer))",
                (
                    "self._journal.turn(lambda turn: transactions.keep(turn, receipt, answer))\n"
                    "            return answer"
                ),
            )
        ],
        ["test_ledger_answers.py::test_what_was_paid_and_never_answered_is_answered_at_no_further_cost_and_once"],
    ),
    Mutant(
        "the same question is paid again",
        [
            Edit(
                "discreet.curator.session:Session._buy",
                "plan = next(each for each in plans if each.key == receipt.key)",
                "plan = plans[0]",
            ),
            Edit(
                "discreet.curator.session:Session._buy",
                "[(certified.get(plan.key, plan), plan.key) for",
                "[(certified.get(plan.key, plan), None) for",
            ),
        ],
        ["test_threats_spending.py::test_12_the_same_bytes_for_nothing"],
    ),
    Mutant(
        "looked at before it is paid",
        [
            Edit(
                "discreet.curator.session:Session._buy",
                "        paid = [[(certified",
                (
                    "        snapshot.source.cursor().execute(f'SELECT count(*) FROM \"{choices[0][0].table}\"')\n"
                    "        paid = [[(certified"
                ),
            )
        ],
        ["test_threats_spending.py::test_09_the_charge_is_durable_before_a_row_is_read"],
    ),
    Mutant(
        "a stranger hears what was asked before",
        [
            Edit(
                "discreet.curator.session:Session.run",
                "        self._curator.ledger.admit(self.analyst)  # before anything else is said\n",
                "",
            )
        ],
        ["test_shown.py::test_who_has_no_budget_does_not_hear_what_was_asked"],
    ),
    Mutant(
        "two copies of a ledger look at the mark at once",
        [
            Edit(
                "discreet.ledger.high_water_mark:Mark._grasp",
                "fcntl.flock(self._descriptor, fcntl.LOCK_EX)",
                "fcntl.flock(self._descriptor, fcntl.LOCK_SH)",
            ),
            Edit("discreet.ledger.high_water_mark:Mark._write_slot", "if last.seq >= link.seq:", "if False:"),
        ],
        ["test_copies.py::test_two_copies_do_not_both_go_on_at_once"],
    ),
    Mutant(
        "a mark that was replaced is written to for as long as a process lives",
        [
            Edit(
                "discreet.ledger.high_water_mark:Mark._in_place",
                "return os.path.samestat(os.fstat(self._descriptor), there)",
                "return there is not None",
            )
        ],
        ["test_ledger_marks.py::test_a_mark_that_was_replaced_rises_again"],
    ),
    Mutant(
        "a mark that is replaced after the commit is not looked for",
        [
            Edit(
                "discreet.ledger.high_water_mark:Mark.raise_to",
                "            if self._in_place():\n                break\n",
                "            break\n",
            )
        ],
        ["test_ledger_marks.py::test_a_mark_that_is_replaced_between_commit_and_mark_rises_all_the_same"],
    ),
    Mutant(
        "a slot of a mark is believed without its checksum",
        [
            Edit(
                "discreet.ledger.high_water_mark:_link",
                "return link if _slot(link) == slot else None",
                "return link",
            )
        ],
        ["test_ledger_marks.py::test_a_slot_counts_only_where_its_checksum_does"],
    ),
    Mutant(
        "a mark that says nothing is a new one",
        [
            Edit(
                "discreet.ledger.high_water_mark:Mark._last",
                "        if not self._links:\n            raise",
                "        if not self._links:\n            return START\n            raise",
            )
        ],
        ["test_ledger_marks.py::test_a_mark_that_lost_its_slots_is_damaged_and_not_new"],
    ),
    Mutant(
        "what is shown from entries beyond the mark is not remembered",
        [
            Edit(
                "discreet.ledger.journal:Journal._look_at_mark",
                "if not self._reads and seen != state.link:",
                "if not self._reads and seen == START:",
            )
        ],
        ["test_ledger_marks.py::test_what_is_shown_is_remembered"],
    ),
    Mutant(
        "what was lost is forgotten",
        [
            Edit(
                "discreet.ledger.balances:State.lose",
                "_plus(self._most[account], self._brought.get(account))",
                "(ZERO, ZERO)",
            )
        ],
        ["test_lost_entries.py::test_what_is_lost_counts_as_spent_in_full"],
    ),
    Mutant(
        "a question that was answered in what was lost is answered again",
        [Edit("discreet.ledger.balances:State.admit_unanswered", "if charge < self.lost:", "if False:")],
        ["test_lost_entries.py::test_a_question_that_may_have_been_answered_is_not_answered_again"],
    ),
    Mutant(
        "a data set that was lost begins anew",
        [Edit("discreet.ledger.transactions:declare", "if known is None and state.lost:", "if False:")],
        ["test_lost_entries.py::test_families_analysts_and_other_data_sets_count_as_spent_too"],
    ),
    Mutant(
        "a family does not hear what a data set may have lost",
        [
            Edit(
                "discreet.ledger.balances:State.add_dataset",
                "if before is not None or self.lost:",
                "if False:",
            )
        ],
        ["test_lost_entries.py::test_families_analysts_and_other_data_sets_count_as_spent_too"],
    ),
    Mutant(
        "a loss is accepted though somebody went on meanwhile",
        [
            Edit(
                "discreet.ledger.journal:Journal._accept",
                "if self._seen(mark, self.state.identity) != missing.seen:",
                "if False:",
            )
        ],
        ["test_lost_entries.py::test_a_loss_is_not_accepted_where_somebody_went_on_meanwhile"],
    ),
    Mutant(
        "who writes does not look at the mark",
        [
            Edit(
                "discreet.ledger.journal:Journal._commit",
                "            if before is not None:\n",
                "            if False:\n",
            ),
            Edit("discreet.ledger.high_water_mark:Mark._write_slot", "if last.seq >= link.seq:", "if False:"),
        ],
        ["test_copies.py::test_two_copies_of_a_ledger_do_not_both_go_on"],
    ),
    Mutant(
        "a checkpoint is believed without its code",
        [
            Edit(
                "discreet.ledger.checkpoint:read", "if not hmac.compare_digest(code, _code(key, text)):", "if not code:"
            )
        ],
        ["test_checkpoint.py::test_a_damaged_or_forged_one_counts_as_none[sqlite-forged]"],
    ),
    Mutant(
        "the code of a checkpoint has no key",
        [Edit("discreet.ledger.checkpoint:_code", "hmac.new(key,", 'hmac.new(b"",')],
        ["test_checkpoint.py::test_a_damaged_or_forged_one_counts_as_none[sqlite-forged]"],
    ),
    Mutant(
        "a checkpoint of another fold is gone on from",
        [
            Edit(
                "discreet.ledger.checkpoint:read",
                "State.read(written) if fold == FOLD else None",
                "State.read(written)",
            )
        ],
        ["test_checkpoint.py::test_one_of_another_fold_counts_as_none"],
    ),
    Mutant(
        "a checkpoint is gone on from where the ledger says something else",
        [
            Edit(
                "discreet.ledger.journal:Journal._resume",
                "            if state is not None:\n                self._entry(state, state.link.seq)\n",
                "",
            )
        ],
        ["test_checkpoint.py::test_one_that_is_ahead_of_its_ledger_gives_nothing_back"],
    ),
    Mutant(
        "the entry of a checkpoint is looked for by its number alone",
        [
            Edit(
                "discreet.ledger.journal:Journal._entry",
                "        if last != end:\n",
                "        if last.seq != end.seq:\n",
            )
        ],
        [
            "test_checkpoint.py::test_one_of_another_copy_counts_as_none",
            "test_checkpoint.py::test_what_was_changed_before_it_changes_no_balance_and_is_found_when_it_is_read",
        ],
    ),
    Mutant(
        "an entry before a checkpoint is not bound to it",
        [
            Edit(
                "discreet.ledger.entry:bind",
                """ or f'"previous":"{last.hash}"' not in body:""",
                ":",
            )
        ],
        ["test_checkpoint.py::test_a_question_is_not_free_because_somebody_wrote_it_into_the_past"],
    ),
    Mutant(
        "an answer that is not found was never kept",
        [Edit("discreet.ledger.balances:State.admit_again", "if charge not in self.unanswered:", "if False:")],
        ["test_checkpoint.py::test_a_question_is_not_answered_twice_because_its_answer_was_hidden"],
    ),
    Mutant(
        "a checkpoint forgets what was spent since entries were lost",
        [Edit("discreet.ledger.balances:State.read", '_tallies(said["since"])', "{}")],
        ["test_checkpoint.py::test_a_state_that_was_written_down_goes_on_as_if_it_never_was"],
    ),
    Mutant(
        "a checkpoint forgets that an account has no pure bound",
        [
            Edit(
                "discreet.ledger.balances:AccountBalance.read",
                "None if pure is None else Sum.read(pure)",
                "Sum.read(pure or [0, 1])",
            )
        ],
        ["test_checkpoint.py::test_a_state_that_was_written_down_goes_on_as_if_it_never_was"],
    ),
    Mutant(
        "a ledger that was opened from a checkpoint is not held against the mark",
        [
            Edit(
                "discreet.ledger.journal:Journal._fold",
                "seen = self._remembered(state) if state.identity else START",
                "seen: Link | None = START",
            )
        ],
        ["test_checkpoint.py::test_an_old_copy_is_refused_whatever_its_checkpoint"],
    ),
    Mutant(
        "verifying does not look at the file",
        [Edit("discreet.ledger.ledger:Ledger.verify", "        self._journal.look(lambda turn: turn.examine())\n", "")],
        ["test_checkpoint.py::test_a_damaged_index_is_found_by_verifying"],
    ),
    Mutant(
        "verifying believes a checkpoint",
        [
            Edit(
                "discreet.ledger.transactions:_agree",
                "if used.written != replayed.written:",
                "if used.link != replayed.link:",
            )
        ],
        ["test_checkpoint.py::test_who_has_the_key_and_the_marks_is_found_by_verifying"],
    ),
    Mutant(
        "resume is about every data set",
        [
            Edit(
                "discreet.ledger.balances:State.waits",
                "since = self.resumed.get(dataset, 0)",
                "since = max(self.resumed.values(), default=0)",
            )
        ],
        ["test_copies.py::test_resume_lets_no_other_data_set_begin_again"],
    ),
    Mutant(
        "campaign: two letters of the data in the name of a version",
        [
            Edit(
                "discreet.ledger.transactions:version",
                'known = f"v{os.urandom(16).hex()}"',
                'known = f"v{os.urandom(15).hex()}{fingerprint[:2]}"',
            )
        ],
        ["test_campaign_owner.py::test_neighbours_look_the_same"],
    ),
    Mutant(
        "campaign: whoever has a name is answered after a failure",
        [
            Edit(
                "discreet.ledger.balances:State.admit",
                ("        self.admit_running(charge.dataset)\n        for account"),
                ("        if not charge.analyst:\n            self.admit_running(charge.dataset)\n        for account"),
            )
        ],
        ["test_campaign_owner.py::test_after_a_failure_all_hear_the_same"],
    ),
    Mutant(
        "campaign: a budget is looked at before a failure",
        [
            Edit(
                "discreet.ledger.balances:State.admit",
                ("        self.admit_running(charge.dataset)\n        for account"),
                "        for account",
            ),
            Edit(
                "discreet.ledger.balances:State.admit",
                (
                    '                instead=f"ask for a smaller ε or a wider margin: {left} is left" if '
                    "left.epsilon else nothing,\n"
                    "            )\n"
                ),
                (
                    '                instead=f"ask for a smaller ε or a wider margin: {left} is left" if '
                    "left.epsilon else nothing,\n"
                    "            )\n"
                    "        self.admit_running(charge.dataset)\n"
                ),
            ),
        ],
        ["test_campaign_owner.py::test_after_a_failure_all_hear_the_same"],
    ),
    Mutant(
        "campaign: strangers have several explained",
        [
            Edit(
                "discreet.curator.session:Session.context",
                "        self._curator.ledger.admit(self.analyst)  # before anything else is said\n",
                "",
            )
        ],
        ["test_campaign_owner.py::test_after_a_failure_all_hear_the_same"],
    ),
    Mutant(
        "campaign: one unit on record is as good as another",
        [
            Edit(
                "discreet.ledger.protection:_compare",
                "before is not None and before != whose",
                "before is not None and before.split()[0] != whose.split()[0]",
            )
        ],
        ["test_campaign_owner.py::test_a_catalogue_that_says_something_else"],
    ),
    Mutant(
        "campaign: what was asked is remembered without its decimals",
        [
            Edit(
                "discreet.curator.curator:Curator.worked",
                "key = (sql, Parameters",
                'key = (sql.replace(".0", ""), Parameters',
            )
        ],
        ["test_campaign_limits.py::test_what_was_asked_before_decides_nothing"],
    ),
    Mutant(
        "campaign: of several plans the last that can be run",
        [
            Edit(
                "discreet.curator.session:Session._buy",
                "for each in purchase.plans if",
                "for each in purchase.plans[::-1] if",
            )
        ],
        ["test_campaign.py::test_what_is_explained_is_what_is_run"],
    ),
    Mutant(
        "campaign: a mark that is gone is where it was",
        [
            Edit(
                "discreet.ledger.high_water_mark:Mark._in_place",
                "        except OSError:\n            return False\n",
                "        except OSError:\n            return True\n",
            )
        ],
        ["test_campaign_owner.py::test_whatever_is_done_with_the_files_of_a_ledger"],
    ),
]
