"""Several questions at once: divided into those that one release answers and the rest, and priced together.

Counts of one table are answered together, from one release; each other question is asked on its own. All of them share
one cost, each release in proportion to the questions it answers. Nothing is spent unless there is room for all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, islice
from typing import Any

from discreet.answers.answer import Answer
from discreet.answers.display import left_text
from discreet.answers.explanation import Explanation, Explanations, PlannedQuestion, place_ranges
from discreet.core import work
from discreet.core.exact import Number
from discreet.core.loss import Loss, Remaining
from discreet.errors import BudgetExceeded, NotAllowed, NotUnderstood
from discreet.kernel.expressions import Apply, Literal, Tree, conjunction
from discreet.plan.compile.alternatives import MAX_PLANNED, other_readings, with_count_batches
from discreet.plan.counts import ALL, counted_conditions
from discreet.plan.draft import Alternative, Draft, Question
from discreet.plan.measures.statistic import Statistic
from discreet.plan.measures.sums import Sums
from discreet.plan.plan import Plan
from discreet.plan.pricing import rho_for
from discreet.plan.reading import Reading
from discreet.plan.regions import regions
from discreet.plan.terms import Terms, read_terms
from discreet.procedures.auto_bounds import wanted_bounds
from discreet.procedures.composed import answer_of, asked_of, check_composed, explanation_of_all, public_rows
from discreet.procedures.procedure import Context, Past, Procedure, Purchase
from discreet.procedures.recall import find_paid, plans_of, recall_plans
from discreet.procedures.single import ask, explain, explanation_of
from discreet.sql.parameters import Parameters, Params
from discreet.sql.query import Select

__all__ = [
    "MAX_QUESTIONS",
    "BatchPlan",
    "BatchQuestion",
    "ask_drafts",
    "ask_many",
    "batch_question",
    "batch_terms",
    "countable_together",
    "divide_batch",
    "explain_drafts",
    "explain_many",
    "over_budget",
    "read_questions",
    "room_for",
]

MAX_QUESTIONS = 1000

FILTERS = (
    "These counts were answered one by one, because which rows of a unit count depends on the question. One SELECT with"
    " one COUNT(*) FILTER (WHERE …) for each would be more accurate."
)

Questions = Sequence[tuple[str, Params]]
Asked = Sequence[tuple[str | Select, Params]]


@dataclass(frozen=True)
class BatchPlan:
    """Several questions, by their places: those that are answered together, and the terms of each other one."""

    batches: tuple[tuple[tuple[int, ...], BatchQuestion], ...]
    singles: Mapping[int, Terms]
    separate_counts: frozenset[int]  # counts that one question would answer better

    @property
    def ways(self) -> tuple[tuple[int, ...], ...]:
        """The places of the questions of each joint release."""
        return tuple(places for places, _ in self.batches)

    def remarks(self, place: int) -> tuple[str, ...]:
        """Return the remarks on an answer."""
        if place in self.separate_counts:
            return (FILTERS,)
        return tuple(
            found.remark
            if not self.singles and len(self.batches) == 1
            else f"Questions {place_ranges(places)}: {found.remark}"
            for places, found in self.batches
            if place in places
        )


def ask_many(asked: Questions, wanted: Terms, context: Context) -> Procedure[list[Answer]]:
    """Answer several questions, for one cost or with every number within a margin; the same again is free.

    All questions but those that need automatic bounds are bought together, all or none.
    """
    questions, steps = _compiled(asked, context)
    drafts, texts = _flat(questions, asked)
    for each in questions:
        check_composed(each, wanted)
    public = [public_rows(each, context) for each in questions]
    parts = yield from ask_drafts(drafts, texts, wanted, context, steps)
    answers, first = list[Answer](), 0
    for each, rows in zip(questions, public, strict=True):
        last = first + len(each.inner)
        answers.append(answer_of(each, parts[first:last], rows, wanted, context))
        first = last
    return answers


def ask_drafts(
    every: Sequence[Draft], asked: Asked, wanted: Terms, context: Context, steps: int = 0
) -> Procedure[list[Answer]]:
    """Answer several questions, each compiled (in `steps`) and as it was asked, for one cost; see `ask_many`."""
    if not every:
        return []
    with work.limited_work(work.MAX_WORK_TOGETHER, together=True):
        work.spend(steps)
        found = divide_batch(every, wanted, context.paid(), context.left())
    answers = dict[int, Answer]()
    drafts = {n: own.check_terms(every[n]) for n, own in found.singles.items()}
    known = [n for n in drafts if not wanted_bounds(drafts[n])]  # automatic bounds are bought first
    wants = [plans_of(drafts[n], found.singles[n], context) for n in known]
    sold = yield [Purchase(plans) for plans in (*(each.plans for _, each in found.batches), *wants)]
    for (places, together), one in zip(found.batches, sold, strict=False):
        for n, draft in zip(places, together.read(one.plan), strict=True):
            answers[n] = Answer.of(draft, one.plan, one.released, one.bill, confidence=wanted.confidence)
    for n, one in zip(known, sold[len(found.batches) :], strict=True):
        answers[n] = Answer.of(drafts[n], one.plan, one.released, one.bill, confidence=wanted.confidence)
    left = sold[-1].bill.left if sold else None
    for n, own in found.singles.items():
        if n not in known:
            answers[n] = yield from ask(*asked[n], own, context)
            left = answers[n].left
    assert left is not None
    after = {n: replace(each, bill=replace(each.bill, left=left)) for n, each in answers.items()}
    return [after[n].remarked(*found.remarks(n)) for n in range(len(after))]


def explain_many(asked: Questions, wanted: Terms, context: Context) -> Explanations:
    """Explain what `ask_many` would cost, and how exact every number would be."""
    questions, steps = _compiled(asked, context)
    for each in questions:
        check_composed(each, wanted)
    parts, found = explain_drafts(_flat(questions, asked)[0], wanted, context, steps)
    told, first = list[Explanation](), 0
    for one in questions:
        last = first + len(one.inner)
        told.append(explanation_of_all(one, parts[first:last], wanted, context))
        first = last
    left = context.left()
    if found is None:
        return Explanations(tuple(told), (), str(left), True)
    beside = tuple(dict.fromkeys(remark for n in sorted(found.separate_counts) for remark in found.remarks(n)))
    plain = all(len(each.inner) == 1 for each in questions)  # else places are not those of the questions
    cost, ways = Explanations.total(parts), found.ways if plain else ()
    return Explanations(tuple(told), ways, left_text(left, cost), cost in left, beside)


def explain_drafts(
    drafts: Sequence[Draft], wanted: Terms, context: Context, steps: int = 0, *, before: Loss = Loss.ZERO
) -> tuple[list[Explanation], BatchPlan | None]:
    """Explain what `ask_drafts` would cost, after `before` was bought.

    Because  each part is bought by the first of its plans that has room beside those before it, in this order.
    """
    if not drafts:
        return [], None
    with work.limited_work(work.MAX_WORK_TOGETHER, together=True):
        work.spend(steps)
        found = divide_batch(drafts, wanted, paid := context.paid(), None)
    each, spent, seen = dict[int, Explanation](), before, set[str]()

    def bought(one: Explanation) -> Explanation:
        nonlocal spent
        if one.origin.key not in seen and one.plan not in paid:
            spent = spent + one.cost.charged
        seen.add(one.origin.key)
        return one

    for places, together in found.batches:
        one = bought(explanation_of(together.draft, together.plans, wanted, context, before=spent))
        for n, draft in zip(places, together.read(one.plan), strict=True):
            each[n] = replace(one, origin=PlannedQuestion(draft.measured(one.plan.measures), one.plan))
    last = {n: bool(wanted_bounds(own.check_terms(drafts[n]))) for n, own in found.singles.items()}
    for n in sorted(found.singles, key=lambda place: last[place]):
        each[n] = bought(explain(drafts[n], found.singles[n], context, before=spent))
    return [each[n] for n in range(len(each))], found


def _compiled(asked: Questions, context: Context) -> tuple[list[Question], int]:
    """Compile several questions, and count the steps that it took; refuse if they are too much work together."""
    found, total = dict[Any, Question](), 0
    with work.limited_work(work.MAX_WORK_TOGETHER, together=True):
        keys = [(each if isinstance(each, str) else None, Parameters.of(given).key) for each, given in asked]
        for key, each in zip(keys, asked, strict=True):
            steps = work.QUESTION
            if key not in found:
                found[key], more = context.worked(*each)
                steps += more
            work.spend(steps)
            total += steps
        return [found[key] for key in keys], total


def _flat(questions: Sequence[Question], asked: Questions) -> tuple[list[Draft], Asked]:
    """Return all drafts that are to be bought, each with what was asked for it."""
    drafts = [draft for each in questions for draft in each.inner]
    texts = [one for each, said in zip(questions, asked, strict=True) for one in asked_of(each, said)]
    return drafts, texts


def read_questions(questions: Iterable[str], params: Params) -> list[tuple[str, Params]]:
    """Read a list of questions, each with its parameters, or refuse."""
    texts = isinstance(questions, Iterable) and not isinstance(questions, (str, bytes, Mapping))
    found = list(islice(questions, MAX_QUESTIONS + 1)) if texts else []
    if not found:
        raise NotUnderstood(
            "questions are a list of SQL texts.",
            code="wrong-argument",
            instead='ask_many(["SELECT …", "SELECT …"], epsilon=1)',
        )
    if len(found) > MAX_QUESTIONS:
        raise NotUnderstood(
            "these are too many questions.", code="too-large", instead=f"at most {MAX_QUESTIONS:,} at once"
        )
    if isinstance(params, Mapping):
        return [(each, _used(params, each, n == 0, found)) for n, each in enumerate(found)]
    lists = isinstance(params, Sequence) and not isinstance(params, (str, bytes))
    one = not lists or not any(isinstance(each, (Mapping, list, tuple)) for each in params or ())
    if not one and len(params or ()) != len(found):
        raise NotUnderstood(
            f"these are {len(found):,} questions, and params of another number.",
            code="wrong-parameter",
            instead="give one list or dict for each, None where there is none; or one for all",
        )
    if one and lists and len(params or ()) == len(found) > 1 and all(map(_asks_one, found)):
        raise NotUnderstood(
            f"these are {len(found):,} questions with one `?` each, and a list of params is for each of them.",
            code="wrong-parameter",
            instead="params=[[20], [40]] has a list for each question",
        )
    return [(each, params if one or params is None else params[n]) for n, each in enumerate(found)]


def _asks_one(text: object) -> bool:
    """Return True if a question has one `?` and no numbered parameter."""
    return str(text).count("?") == 1 and re.search(r"\$\d", str(text)) is None


def _used(params: Mapping[str, object], text: str, first: bool, texts: Sequence[str]) -> Params:
    """Return the parameters that this question has; one that no question has goes to the first, which refuses it."""

    def has(name: object, said: object) -> bool:
        written = str(said)
        numbered = str(name).isdecimal() and "?" in written
        return numbered or re.search(rf"[$:]{re.escape(str(name))}(?!\w)", written) is not None

    nowhere = {name for name in params if not any(has(name, each) for each in texts)}
    return {name: each for name, each in params.items() if has(name, text) or (first and name in nowhere)} or None


def batch_terms(epsilon: Number | None, within: Number | None, confidence: Number, default: Fraction | None) -> Terms:
    """Read the cost of all questions together, or the margin of each number; or refuse."""
    if epsilon is None and within is None and default is None:
        raise NotUnderstood(
            "say what all of these may cost together, or how exact they must be.",
            code="no-terms",
            instead='epsilon="0.1", or within=25',
        )
    wanted = read_terms(epsilon=epsilon, within=within, confidence=confidence, delta=None, default=default)
    if wanted.relative:
        raise NotAllowed(
            "the cost of a relative margin depends on the data, and several questions need a known cost.",
            code="cost-unknown",
            instead="within=25 for ±25; or ask one by one",
        )
    return wanted


def room_for(rounds: Sequence[tuple[Sequence[Draft], Terms]], earlier: Past, left: Remaining) -> None:
    """Refuse several rounds of questions, each on its terms, that do not fit into `left` one after the other."""
    parts = list[tuple[Plan, ...]]()
    for drafts, wanted in rounds:
        found = divide_batch(drafts, wanted, earlier, None)
        parts += [together.plans for _, together in found.batches]
        parts += [own.plans(each) for each, own in {drafts[n]: own for n, own in found.singles.items()}.items()]
    _room(parts, earlier, left)


def divide_batch(drafts: Sequence[Draft], wanted: Terms, earlier: Past, left: Remaining | None) -> BatchPlan:
    """Divide several questions into joint releases and single ones, on these terms; refuse if not all fit into `left`.

    Promise  all that are returned can be bought, one after another, from `left`; None skips this check.
    Because  what was paid for before is free, and the others are counted here as they will be bought: each by the first
             of its plans that has room beside those before it.
    """
    different = len(set(drafts))
    joints, alone = list[tuple[tuple[int, ...], BatchQuestion]](), dict.fromkeys(range(len(drafts)))
    for places in _together(drafts, wanted):
        some = [drafts[n] for n in places]
        if not some:
            continue
        try:
            found = batch_question(some, wanted.share(Fraction(len(set(some)), different)), earlier, left)
        except BudgetExceeded:
            raise over_budget(Loss(pure=wanted.epsilon), left) from None
        if found is not None:
            joints.append((tuple(places), found))
            for n in places:
                del alone[n]
    one = wanted.share(Fraction(1, different))
    rest = {drafts[n]: one.at_known_cost(drafts[n], wanted_bounds) for n in alone}
    costs = (wanted.least_cost(each.draft) for _, each in joints)
    wanted.check_allowed(chain(costs, (each.most or Fraction(0) for each in rest.values())))
    if rest or len(joints) > 1:  # a single release is refused by the ledger
        _room([*(each.plans for _, each in joints), *(own.plans(each) for each, own in rest.items())], earlier, left)
    own = dict.fromkeys(alone, one.uncapped())
    apart = [n for places in _together(drafts, wanted) for n in places if n in alone and drafts[n].caps.most_rows > 1]
    return BatchPlan(tuple(joints), own, frozenset(apart))


def _together(drafts: Sequence[Draft], wanted: Terms) -> list[list[int]]:
    """Return the places of counts that may be answered together on these terms."""
    return [[n for n in places if wanted.can_batch(drafts[n])] for places in countable_together(drafts)]


def _room(parts: Sequence[tuple[Plan, ...]], earlier: Past, left: Remaining | None) -> None:
    """Refuse parts that do not fit as a whole, each by the first of its plans that fits after those before it."""
    spent = Loss.ZERO
    for plans in parts if left is not None else ():
        costs = (spent if each in earlier else spent + each.loss.charged for each in plans)
        found = next((each for each in costs if left is not None and each in left), None)
        if found is None:
            raise over_budget(sum((each[0].loss for each in parts if each[0] not in earlier), start=Loss.ZERO), left)
        spent = found


# ── several questions ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class BatchQuestion:
    """Several questions as one, and the plans that answer it, the one of least expected error first."""

    drafts: tuple[Draft, ...]
    draft: Draft
    plans: tuple[Plan, ...]

    def read(self, plan: Plan) -> list[Draft]:
        """Return the draft of each question over the joint release."""
        readings = self.draft.measured(plan.measures).readings
        place = dict(zip(_different(self.drafts), readings, strict=True))
        return [
            replace(
                each, measures=plan.measures, readings=tuple(place[repr(tree)] for tree in _trees(each)),
                alternatives=(),
            )
            for each in self.drafts
        ]  # fmt: skip

    @property
    def remark(self) -> str:
        """The remark on the answers."""
        return f"{len(self.drafts)} questions were answered together, from one release; the cost is that of all."


def countable_together(drafts: Sequence[Draft]) -> list[list[int]]:
    """Return the places of questions that only count the rows of one table, for each table."""
    found: dict[Any, list[int]] = {}
    for n, each in enumerate(drafts):
        if isinstance(each.relation, str) and not each.keys and counted_conditions(each):
            found.setdefault((each.relation, each.caps), []).append(n)
    return [each for each in found.values() if len({drafts[n] for n in each}) > 1]


def batch_question(
    drafts: Sequence[Draft], wanted: Terms, earlier: Past, left: Remaining | None
) -> BatchQuestion | None:
    """Return the questions as one that counts everything, with its plans; None if they must be asked one by one.

    A batch that was paid for before, in any order, is asked again with its old plan: it is the same question, whatever
    machine found the strategy. Where more than one row of a unit counts, contribution bounding may keep other rows for
    each question, and one choice for all would drop rows that a question on its own would use: then the result is None.
    """
    whole = _merged(drafts)
    found = None if whole is None else regions(list(_different(drafts).values()), MAX_PLANNED)
    if whole is None or found is None or not found.codes:
        return None
    if wanted.epsilon is not None:
        rho = rho_for(whole.catalogue.budget, wanted.epsilon)
        if before := find_paid(earlier, whole, (found.code, found.codes), [Loss(pure=wanted.epsilon), Loss(rho=rho)]):
            once_more = Alternative(measures=before.measures, readings=other_readings(whole, found))
            return BatchQuestion(tuple(drafts), replace(whole, alternatives=(once_more,)), (before,))
        least = min(wanted.epsilon, wanted.epsilon**2) / (16 * MAX_PLANNED)  # of any plan: before one is looked for
        room = left is None or Loss(pure=wanted.epsilon, rho=least) in left or (rho and Loss(rho=rho) in left)
        if not room:
            raise over_budget(Loss(pure=wanted.epsilon), left)
    whole = with_count_batches(whole, found)
    return BatchQuestion(tuple(drafts), whole, recall_plans(whole, wanted.plans(whole), earlier))


def over_budget(cost: Loss, left: Remaining | None) -> BudgetExceeded:
    """Return the refusal of several questions, with their cost and what is left."""
    return BudgetExceeded(
        f"the budget has no room for all of these: together they cost {cost}.",
        code="budget-exceeded",
        instead=f"ask fewer, or for less: {left} is left",
    )


def _merged(drafts: Sequence[Draft]) -> Draft | None:
    """Return one draft that counts what several count; None if they cannot be one."""
    first = drafts[0]
    alike = first.caps.most_rows == 1 and all(_alike(each, first) for each in drafts)
    if not alike or len(set(drafts)) < 2 or not all(counted_conditions(each) for each in drafts):
        return None
    trees = _different(drafts).values()
    one = Literal(value=1)
    cases = [None if each is None else Apply(function="case", arguments=(each, one), kind="integer") for each in trees]
    parts = ["rows" if each is None else "present" for each in cases]
    return replace(
        first,
        view=replace(first.view, items=()),  # what each of them shows of its counts is its own
        where=None,
        measures=tuple(Sums(parts=(part,), of=each) for part, each in zip(parts, cases, strict=True)),
        readings=tuple(Reading(statistic=Statistic(part), measure=n) for n, part in enumerate(parts)),
        titles=tuple(f"count {n + 1}" for n in range(len(parts))),
        alternatives=(),
    )


def _alike(draft: Draft, first: Draft) -> bool:
    same = draft.relation == first.relation and draft.caps == first.caps
    return same and isinstance(draft.relation, str) and not draft.keys


def _different(drafts: Sequence[Draft]) -> dict[str, Tree | None]:
    """Return the different conditions, sorted, so that a batch in another order is the same."""
    every = {repr(each): each for draft in drafts for each in _trees(draft)}
    return {name: every[name] for name in sorted(every)}


def _trees(draft: Draft) -> list[Tree | None]:
    """Return for each number of a question the condition on the rows that it counts; None for all rows."""
    return [conjunction(draft.where, None if each == ALL else each) for each in counted_conditions(draft)]
