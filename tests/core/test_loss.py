"""Losses, conversions and budgets: the algebra, the published figures, and checks that compute them another way."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Budget, Exponential, Gaussian, Laplace, Loss, NotAllowed, NotUnderstood, Refusal, Threshold
from discreet.accounting.composition import advanced, basic, optimal, optimal_delta, zcdp_simple
from discreet.core.conversion import renyi_of, zcdp_of
from discreet.core.loss import RENYI_SHARE, Remaining

amounts = st.fractions(min_value=0, max_value=20, max_denominator=1000)
losses = st.builds(
    lambda pure, rho, event: Loss(pure=pure, rho=rho, event=event / 1000) if rho is not None else Loss(pure=pure),
    amounts,
    st.none() | amounts,
    amounts,
)
LAPLACE = Laplace(epsilon="0.1", sensitivity=1).loss


@given(losses, losses, losses)
def test_losses_are_an_ordered_monoid(a: Loss, b: Loss, c: Loss) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Loss.ZERO == a
    assert a | b == b | a
    assert a | a == a
    assert a <= a + b
    assert a <= (a | b) <= a + b
    assert 3 * a == a + a + a


@given(losses, st.integers(1, 6))
def test_groups_of_groups_are_groups(a: Loss, k: int) -> None:
    assert a.group(1).pure == a.pure
    one, two = a.group(k).group(2), a.group(2 * k)
    assert one.pure == two.pure
    if a.event == 0:
        assert one.rho == two.rho == 4 * k * k * a.rho


def test_published_figures_of_composition() -> None:
    """100 mechanisms of ε = 0.1 at δ = 1e-6."""
    delta = "1e-6"
    hundred = 100 * LAPLACE
    assert basic("0.1", 100) == hundred.epsilon() == 10
    assert round(float(advanced("0.1", 100, delta)), 3) == 6.308
    assert round(float(zcdp_simple(hundred.rho, delta)), 3) == 5.757
    assert round(float(hundred.epsilon(delta)), 4) == 5.2215
    assert round(float(optimal("0.1", 100, delta)), 5) == 4.77457
    assert round(float((100 * Exponential(epsilon="0.1", sensitivity=1).loss).epsilon(delta)), 4) == 2.4191
    assert round(float(zcdp_of(Fraction(1), Fraction(delta))), 6) == 0.024356
    assert round(float(zcdp_of(Fraction(5), Fraction(delta))), 6) == 0.463065


def test_other_accountants_agree() -> None:
    per = pld.from_privacy_parameters(pld.common.DifferentialPrivacyParameters(0.1), value_discretization_interval=1e-3)
    theirs = per.self_compose(100).get_epsilon_for_delta(1e-6)
    assert float(optimal("0.1", 100, "1e-6")) == pytest.approx(theirs, abs=2e-3)
    orders = [1 + x / 10 for x in range(1, 400)]
    accountant = rdp_privacy_accountant.RdpAccountant(orders)
    accountant.compose(dp_event.GaussianDpEvent(3.0))  # ρ = 1/18
    ours = Gaussian(rho=Fraction(1, 18), sensitivity=1).loss.epsilon("1e-6")
    assert float(ours) == pytest.approx(accountant.get_epsilon(1e-6), abs=1e-3)
    assert float(ours) <= accountant.get_epsilon(1e-6) + 1e-12  # the same theorem, the best order


@pytest.mark.parametrize("rho", ["1e-6", "0.01", "0.5", "20"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-40"])
def test_conversion_of_rho_finds_the_best_order(rho: str, delta: str) -> None:
    """Against a search over orders in mpmath: never below it, and above by less than a millionth."""
    r, d = mpmath.mpf(rho), mpmath.mpf(delta)

    def bound(log_order: float) -> mpmath.mpf:
        a = 1 + mpmath.exp(log_order)
        return r * a + mpmath.log(1 / (a * d)) / (a - 1) + mpmath.log(1 - 1 / a)

    centre = (
        0.5 * math.log(-math.log(float(delta)) / float(rho)) if delta != "1e-40" else 0.5 * math.log(92 / float(rho))
    )
    best = min(bound(centre + x / 200) for x in range(-800, 800))
    loss = Loss(rho=rho)
    found = loss.epsilon(delta)
    if best <= 0:  # so little that δ alone covers it
        assert found == 0
        return
    assert float(best) * (1 - 1e-4) <= float(found) <= float(best) * (1 + 1e-9) + 1e-12
    assert loss.delta(found) <= Fraction(delta) * (1 + Fraction(1, 10**6))
    assert loss.delta(found) >= Fraction(delta) * (1 - Fraction(1, 10**3))


def test_conversions_round_against_the_analyst() -> None:
    """What a converted loss promises must hold for a mechanism with exactly that ρ: a Gaussian's own curve."""
    for rho in ("0.001", "0.1", "2"):
        m = Gaussian(rho=rho, sensitivity=1)
        for delta in ("1e-2", "1e-5", "1e-10"):
            assert m.law.hockey_stick(m.loss.epsilon(delta), 1) <= Fraction(delta)
    for epsilon in ("0.2", "1", "4"):
        budget = Budget(epsilon=epsilon, delta="1e-6", events=0)
        assert Loss(rho=budget.rho).epsilon("1e-6") <= Fraction(epsilon) * (1 + Fraction(1, 10**12))


@given(st.fractions("0.01", 5, max_denominator=100), st.fractions(0, 6, max_denominator=100))
@settings(max_examples=60)
def test_pure_losses_convert_as_randomized_response(epsilon: Fraction, at: Fraction) -> None:
    """The worst ε-private mechanism says the truth with odds e^ε; its δ at a smaller ε, and back again."""
    loss = Loss(pure=epsilon, rho=epsilon**2 * 100)  # a ρ that never helps
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    expected = max(0.0, truth - math.exp(at) * (1 - truth))
    assert float(loss.delta(at)) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    if at < epsilon:
        assert float(loss.epsilon(loss.delta(at))) == pytest.approx(float(at), abs=1e-9)
        assert loss.epsilon(loss.delta(at)) >= at - Fraction(1, 10**12)


def test_optimal_composition_is_a_tail_of_two_binomials() -> None:
    """KOV by summing out k randomized responses, in floats; and it is never worse than the other theorems."""
    for k, epsilon, at in ((1, 0.5, 0.2), (5, 0.3, 0.7), (30, 0.1, 1.0)):
        p = math.exp(epsilon) / (1 + math.exp(epsilon))
        brute = sum(
            math.comb(k, i) * max(0.0, p ** (k - i) * (1 - p) ** i - math.exp(at) * p**i * (1 - p) ** (k - i))
            for i in range(k + 1)
        )
        assert float(optimal_delta(str(epsilon), k, str(at))) == pytest.approx(brute, rel=1e-9)
    assert optimal_delta(1, 3, 3) == 0
    for k in (2, 10, 60):
        ours = optimal("0.2", k, "1e-5")
        assert ours <= min(basic("0.2", k), advanced("0.2", k, "1e-5"), (k * Loss(pure="0.2")).epsilon("1e-5"))


def test_groups_by_the_notes_and_tighter() -> None:
    """kε and, tight, δ(e^(kε) - 1)/(e^ε - 1); the notes' k·e^((k-1)ε)·δ and k·e^(kε)·δ are larger."""
    loss = Threshold(epsilon="0.5", delta="1e-6").loss
    for k in (2, 3, 10):
        group = loss.group(k)
        assert group.pure == k * loss.pure
        exact = 1e-6 * math.expm1(0.5 * k) / math.expm1(0.5)
        assert float(group.event) == pytest.approx(exact, rel=1e-12)
        assert Fraction(exact * (1 - 1e-12)) <= group.event
        assert float(group.event) < k * math.exp(0.5 * (k - 1)) * 1e-6 < k * math.exp(0.5 * k) * 1e-6
    walk = Fraction(0)
    for _ in range(4):  # four steps, each e^ε times what came before plus δ
        walk = walk * Fraction(math.exp(0.5)) + Fraction("1e-6")
    assert float(loss.group(4).event) == pytest.approx(float(walk), rel=1e-12)
    assert Gaussian(rho="0.1", sensitivity=1).loss.group(3).rho == Fraction("0.9")
    exact = Gaussian(rho="0.1", sensitivity=1).law.hockey_stick(Fraction(2), 3)
    assert exact <= Gaussian(rho="0.1", sensitivity=1).loss.group(3).delta(2)
    with pytest.raises(NotAllowed, match="convert it first"):
        Loss(rho="0.1", event="1e-9").group(2)


def test_ten_tenths_are_one() -> None:
    budget, spent = Budget(epsilon=1), Loss.ZERO
    for _ in range(10):
        spent += LAPLACE
        assert spent in budget
    assert spent.epsilon() == 1
    assert spent + Laplace(epsilon="1e-30", sensitivity=1).loss not in budget


def test_a_budget_takes_the_better_of_two_sums() -> None:
    budget = Budget(epsilon=1, delta="1e-6")
    assert 10 * LAPLACE in budget
    assert 11 * LAPLACE not in budget
    small = Laplace(epsilon="0.01", sensitivity=1).loss
    assert 400 * small in budget  # 4 by adding up ε, below 1 by adding up ρ
    assert (400 * small).pure == 4
    assert Loss(rho=budget.rho) in budget
    assert Loss(rho=budget.rho * Fraction(1001, 1000)) not in budget
    assert Loss(pure="0.5", event="5e-7") in budget
    assert Loss(pure="0.5", event="6e-7") not in budget
    assert Loss(pure="0.5", event="6e-7") in Budget(epsilon=1, delta="1e-6", events="6e-7")
    assert Loss(pure="0.5", event="1e-30") not in Budget(epsilon=1)
    assert Budget(epsilon=1).rho == 0


def test_the_two_sums_together_keep_the_promise() -> None:
    """An analyst who switches to the other sum when it suits them still gets no more than (ε, δ).

    The filter stops a run when neither sum fits. The strategy: a few randomized responses of 0.25 (pure sum), and on
    the luckiest transcripts small ones that only fit by ρ. Every transcript is enumerated in closed form.
    """
    budget = Budget(epsilon=1, delta="0.05", events=0)
    big, small = Loss(pure="0.25"), Loss(pure="0.05")
    after = Loss.ZERO
    count = 0
    while after + small in budget:
        after, count = after + small, count + 1
    assert count * Fraction("0.05") > 1

    def answers(k: int, e: float) -> list[tuple[float, float]]:
        p = math.exp(e) / (1 + math.exp(e))
        return [
            (math.comb(k, i) * p ** (k - i) * (1 - p) ** i, math.comb(k, i) * p**i * (1 - p) ** (k - i))
            for i in range(k + 1)
        ]

    for first in range(4):  # so many big ones, then the rest by whichever sum admits it
        used, more = first * big if first else Loss.ZERO, 0
        assert used in budget
        while used + small in budget:
            used, more = used + small, more + 1
        lucky, mass = 0, 0.0
        for i, (p, q) in enumerate(answers(first, 0.25)):
            if i == lucky:
                mass += sum(max(0.0, p * a - math.e * q * b) for a, b in answers(more, 0.05))
            else:
                mass += max(0.0, p - math.e * q)
        assert mass <= 0.05 + 1e-12


def test_one_small_gaussian_question_leaves_the_pure_budget_almost_whole() -> None:
    """Without the account of one Rényi order it would end it: nothing but ρ could be added up any more."""
    budget, tiny = Budget(epsilon=3, delta="1e-6"), Loss(rho="1e-24")
    spent = tiny
    for _ in range(29):
        spent += Loss(pure="0.1")
    assert spent.pure is None
    assert spent.rho < budget.rho
    spent = tiny + Loss(pure="1.4") + Loss(pure="1.4")
    assert spent.rho > budget.rho
    assert spent in budget
    left = Remaining.of(budget, spent)
    assert Fraction("0.1") < left.epsilon < Fraction("0.2")
    assert spent + Loss(pure=left.epsilon) in budget
    assert spent + Loss(pure=left.epsilon + Fraction("0.001")) not in budget
    assert Remaining.of(budget, Loss.ZERO).epsilon == 3
    assert budget.renyi > Fraction("0.98") * 3


@given(st.lists(losses, min_size=1, max_size=6), st.integers(1, 12))
def test_the_divergence_of_one_order_is_the_sum_of_the_better_statements(parts: list[Loss], bits: int) -> None:
    order = 2**bits
    each = [min(loss.pure, order * loss.rho) if loss.pure is not None else order * loss.rho for loss in parts]
    assert sum(parts, start=Loss.ZERO).renyi(order) == sum(each)
    assert sum(parts, start=Loss.ZERO).renyi(order + 1) >= sum(each)


@given(losses, st.sampled_from(["0.3", "1", "7"]), st.sampled_from(["1e-9", "1e-3"]))
def test_what_remains_says_what_fits(spent: Loss, epsilon: str, delta: str) -> None:
    """One number: a pure question of this ε fits, and none that is larger by more than its last digit."""
    budget = Budget(epsilon=epsilon, delta=delta)
    spent = Loss(pure=spent.pure and spent.pure / 20, rho=spent.rho / 400, event=0)
    left = Remaining.of(budget, spent)
    if left.epsilon:
        assert Loss(pure=left.epsilon) in left
        assert spent + Loss(pure=left.epsilon) in budget
    more = Loss(pure=left.epsilon * Fraction("1.00002") + Fraction("1e-9"))
    assert more not in left
    assert spent + more not in budget
    for other in (Budget(epsilon=2, delta="1e-6"), Budget(epsilon="0.5")):
        both = left & Remaining.of(other, spent)
        if both.epsilon:
            assert Loss(pure=both.epsilon) in left
            assert spent + Loss(pure=both.epsilon) in other


def test_the_three_accounts_together_keep_the_promise() -> None:
    """An analyst who goes on by whichever account has room, on the luckiest transcripts, gets no more than (ε, δ).

    Randomized responses of several sizes, of which every transcript is enumerated. δ is large here, so that what the
    accounts may fail by is not lost in rounding; a filter that gave each account all of δ, and no conversion to one of
    them, is noticed.
    """

    def worst(inside: Any, epsilon: float, sizes: tuple[str, ...]) -> float:
        """The largest hockey-stick mass over strategies that stop or choose a size by what came so far."""
        found: dict[tuple[int, ...], Any] = {}

        @cache
        def admitted(used: tuple[int, ...]) -> bool:
            return inside(sum((n * Loss(pure=size) for n, size in zip(used, sizes, strict=True)), start=Loss.ZERO))

        def best(used: tuple[int, ...], gain: int) -> float:
            """… given how often each size was asked, and the log likelihood ratio in steps of 1/20."""
            key = (*used, gain)
            if key not in found:
                stop = max(0.0, 1.0 - math.exp(epsilon - gain / 20))
                ways = [stop]
                for at, size in enumerate(sizes):
                    more = tuple(n + (place == at) for place, n in enumerate(used))
                    if admitted(more):
                        e, step = float(size), round(float(size) * 20)
                        p = math.exp(e) / (1 + math.exp(e))
                        ways.append(p * best(more, gain + step) + (1 - p) * best(more, gain - step))
                found[key] = max(ways)
            return found[key]

        return best((0,) * len(sizes), 0)

    budget = Budget(epsilon=2, delta="0.04", events=0)
    order = 32
    capacity = renyi_of(budget.epsilon, budget.converted * RENYI_SHARE, order)

    def three(spent: Loss) -> bool:
        return spent in budget or spent.renyi(order) <= capacity

    assert worst(lambda spent: spent in budget, 2.0, ("0.5", "0.25")) <= 0.04
    assert worst(three, 2.0, ("0.5", "0.25")) <= 0.04
    assert worst(lambda spent: spent.rho <= 4 * budget.rho, 2.0, ("0.5", "0.25")) > 0.04


def odds(steps: dict[int, float]) -> list[tuple[int, float]]:
    """The outcomes of a mechanism on one data set, by their log likelihood ratio in steps of 1/20, and how likely each
    is. They mirror each other, so the other data set gives the same law with the signs turned."""
    whole = sum(weight * (1 + math.exp(-gain / 20)) for gain, weight in steps.items())
    up = {gain: weight / whole for gain, weight in steps.items()}
    return [*up.items(), *((-gain, weight * math.exp(-gain / 20)) for gain, weight in up.items())]


def rho_of(law: list[tuple[int, float]]) -> Fraction:
    """The least ρ of zCDP, by its definition: the largest divergence of an order by the order; a little more."""

    def divergence(order: float) -> float:
        logs = [math.log(p) + (order - 1) * gain / 20 for gain, p in law]
        return (max(logs) + math.log(math.fsum(math.exp(each - max(logs)) for each in logs))) / (order - 1)

    orders = [1 + 10 ** (n / 500 - 4) for n in range(4000)]
    return Fraction(math.ceil(1.001e6 * max(divergence(each) / each for each in orders)), 10**6)


Offer = tuple[Loss, list[tuple[int, float]]]


def hockey_stick(inside: Callable[[Loss], bool], offers: list[Offer], epsilon: float) -> float:
    """The largest hockey-stick mass over all strategies that choose among offers, or stop, by what came so far."""

    @cache
    def admitted(used: tuple[int, ...]) -> bool:
        return inside(sum((n * loss for n, (loss, _) in zip(used, offers, strict=True)), start=Loss.ZERO))

    @cache
    def best(used: tuple[int, ...], gain: int) -> float:
        ways = [max(0.0, 1 - math.exp(epsilon - gain / 20))]
        for at, (_, law) in enumerate(offers):
            more = tuple(n + (place == at) for place, n in enumerate(used))
            if admitted(more):
                ways.append(math.fsum(p * best(more, gain + step) for step, p in law))
        return max(ways)

    return best((0,) * len(offers), 0)


RESPONSES: list[Offer] = [(Loss(pure="0.25"), odds({5: 1})), (Loss(pure="0.5"), odds({10: 1}))]
# almost nothing, and seldom very much: only ρ is said of them, as of Gaussian noise
TAILS: list[Offer] = [(Loss(rho=rho_of(law)), law) for law in (odds({1: 1, 20: 0.0005}), odds({2: 1, 30: 0.003}))]


@pytest.mark.parametrize("offers", [RESPONSES, [RESPONSES[0], TAILS[1]], [RESPONSES[1], TAILS[0]], TAILS,
                                    [RESPONSES[1], *TAILS]])  # fmt: skip
def test_each_account_keeps_its_part_of_the_promise(offers: list[Offer]) -> None:
    """With mechanisms that have no ε beside those that have one: 0 of δ for ε, (1 - η)δ for ρ, ηδ for one order."""
    budget = Budget(epsilon=2, delta="0.04", events=0)
    delta, share = 0.04, float(RENYI_SHARE)
    pure = hockey_stick(lambda spent: spent.pure is not None and spent.pure <= 2, offers, 2.0)
    assert pure <= 1e-12
    assert hockey_stick(lambda spent: spent.rho <= budget.rho, offers, 2.0) <= delta * (1 - share)
    for order in (8, 16, 32, budget.order):
        capacity = renyi_of(budget.epsilon, budget.converted * RENYI_SHARE, order)
        third = lambda spent, order=order, capacity=capacity: spent.renyi(order) <= capacity  # noqa: E731
        assert hockey_stick(third, offers, 2.0) <= delta * share
        assert hockey_stick(lambda spent, third=third: spent in budget or third(spent), offers, 2.0) <= delta


def test_an_order_that_is_not_converted_breaks_the_promise() -> None:
    offers = [RESPONSES[0], TAILS[0]]
    assert hockey_stick(lambda spent: spent.renyi(8) <= 2, offers, 2.0) > 0.04 * float(RENYI_SHARE)


@given(losses, st.integers(1, 12))
def test_a_loss_as_it_is_charged_says_no_less(loss: Loss, power: int) -> None:
    both = loss + LAPLACE + Loss(rho="0.01")
    charged = both.charged
    assert (charged.pure, charged.rho, charged.event) == (both.pure, both.rho, both.event)
    assert charged.renyi(2**power) >= both.renyi(2**power)


def test_losses_do_what_hands_expect() -> None:
    assert sum([LAPLACE, LAPLACE, LAPLACE]) == 3 * LAPLACE == LAPLACE * 3
    assert 0 * LAPLACE == Loss.ZERO
    for wrong in (lambda: LAPLACE + 1, lambda: LAPLACE | 1, lambda: Budget(epsilon=1) >= LAPLACE):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(NotUnderstood, match="contains losses"):
        assert Laplace(epsilon=1, sensitivity=1) in Budget(epsilon=1)


def test_a_loss_says_what_it_knows() -> None:
    assert str(LAPLACE) == "ε = 0.1, ρ = 0.005"
    assert str(Gaussian(rho="0.5", sensitivity=1).loss) == "ρ = 0.5"
    assert str(Threshold(epsilon=1, delta="1e-6").loss).endswith("event of probability 1e-6")
    assert str(Budget(epsilon=3, delta="1e-6")) == "ε = 3, δ = 1e-6"
    assert Loss(pure=1).epsilon(0) == 1
    with pytest.raises(NotUnderstood, match="larger δ"):
        Loss(rho=1).epsilon()
    assert Loss(rho=0).epsilon("1e-6") == 0
    assert Loss(rho=0).delta(1) == 0


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1, True, "ten", None, [1], "1e99999999"])
def test_bad_amounts_are_refused(wrong: object) -> None:
    for build in (
        lambda: Budget(epsilon=wrong),
        lambda: Loss(pure="1", event=wrong),
        lambda: Loss(rho=[] if wrong is None else wrong),
        lambda: LAPLACE.epsilon(wrong),
        lambda: LAPLACE.delta(wrong),
        lambda: LAPLACE.group(wrong),
        lambda: Budget(epsilon=1, delta="1e-6", events=[] if wrong is None else wrong),
    ):
        with pytest.raises(Refusal):
            build()


def test_bad_budgets_are_refused() -> None:
    for delta in (0, 1, "1.5", -1, "nan"):
        with pytest.raises(NotUnderstood):
            Budget(epsilon=1, delta=delta)
    with pytest.raises(NotUnderstood):
        Budget(epsilon=0)
    with pytest.raises(NotUnderstood, match="part of delta"):
        Budget(epsilon=1, events="1e-9")
    with pytest.raises(NotUnderstood, match="part of delta"):
        Budget(epsilon=1, delta="1e-9", events="1e-8")
    with pytest.raises(NotUnderstood, match="state something"):
        Loss()


def test_floats_are_the_decimals_they_print_as() -> None:
    assert Loss(pure=0.1).pure == Loss(pure="0.1").pure == Loss(pure=np.float64(0.1)).pure == Fraction(1, 10)
    assert Loss(pure=np.int64(2)).pure == 2
    assert Laplace(epsilon=0.1, sensitivity=1).law.scale == 10
