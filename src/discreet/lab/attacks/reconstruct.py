"""Reconstruction: recover everybody's secret bit from answers to many counts (Dinur and Nissim 2003).

A database holds one secret bit for each of n people, whom the attacker can tell apart by public attributes. A query
is a subset of the people; its exact answer is how many of them have the bit. Queries are rows of zeros and ones.

    >>> from discreet.lab import reconstruct
    >>> reconstruct.exhaustive([0.5, 0.5, 0.5, 1.5, 0.5, 1.5, 0.5, 1.5], bound=0.5)     # noise of at most 0.5
    [(0, 0, 1), (0, 1, 1), (1, 0, 1)]
    >>> secret = [1, 0, 0, 1, 1, 0, 1, 0]
    >>> queries = reconstruct.hadamard_queries(8)
    >>> reconstruct.hadamard(queries @ secret + 0.3).tolist() == secret
    True
    >>> reconstruct.least_squares(queries, queries @ secret).tolist() == secret
    True
    >>> round(reconstruct.expected(n=100, m=400, sigma=3), 3)        # the fraction that least squares gets right
    0.926
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import positive_integer
from discreet.errors import NotUnderstood

__all__ = [
    "Candidates",
    "by",
    "exhaustive",
    "expected",
    "hadamard",
    "hadamard_queries",
    "least_squares",
    "linear_program",
    "random_queries",
]

Bits = NDArray[np.int64]
Real = NDArray[Any]
MAX_PEOPLE = 24  # people of whom all subsets can be asked
SLACK = 1e-9  # what a float may be off by without ruling out a candidate
MAX_COMPARISONS = 1 << 32  # comparisons of a candidate with an answer, for some ten seconds
BLOCK = 1 << 20  # cells of a table that is made at once
DIRECT = 2000  # people up to whom the normal equations are solved directly
EXACT = 1 << 24  # whole numbers up to it add up exactly in single precision


# ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────


def random_queries(m: int, n: int, coins: Coins = SYSTEM) -> NDArray[np.uint8]:
    """Return `m` independent random subsets of n people, one in each row."""
    m, n = positive_integer(m, "m"), positive_integer(n, "n")
    return np.unpackbits(coins.flip(m * ((n + 7) // 8)).reshape(m, -1), axis=1)[:, :n]


def hadamard_queries(n: int) -> NDArray[np.uint8]:
    """Return the n subsets whose answers `hadamard` reads: i is in subset j when i & j has an even number of ones."""
    k = np.arange(_power(n), dtype=np.uint32)
    even: NDArray[np.uint8] = (1 - (np.bitwise_count(k[:, None] & k) & 1)).astype(np.uint8)
    return even


# ── every subset ─────────────────────────────────────────────────────────────────────────────────────────────────


class Candidates(list[tuple[int, ...]]):
    """The databases that fit all answers, in counting order: a list of tuples of bits."""

    def __init__(self, found: Sequence[tuple[int, ...]], n: int, bound: float) -> None:
        super().__init__(found)
        self.n, self.bound = n, bound

    @property
    def wrong_at_most(self) -> int:
        """The number of positions in which a candidate can differ from the truth: 4E, if the noise was within the bound
        E.

        Because  the people with the bit are a query, and so are the people without it. A candidate that fits both
                 answers is within 2E of the truth in each (Dinur and Nissim 2003, Theorem 2).
        """
        return min(self.n, math.floor(4 * self.bound))

    @property
    def certain(self) -> dict[int, int]:
        """The positions in which all candidates agree, with their bit."""
        return {i: bits.pop() for i, each in enumerate(zip(*self, strict=True)) if len(bits := set(each)) == 1}


def exhaustive(answers: ArrayLike, bound: float = 0.5) -> Candidates:
    """Return every database that is consistent with the answers to all 2^n subset queries, up to noise of at most
    `bound`.

    Given    answers in counting order: 00…0, 00…1, 00…10, …; a query's first letter is the first person.
    Promise  exactly the consistent databases; the truth is among them if the noise kept to the bound.
    Because  the first 2^k answers are all queries about the last k people, so candidates for these are extended by one
             person and checked against the 2^k queries that are new. Each candidate meets each query once.
    """
    a = _numbers(answers, "answers", dimensions=1)
    n = len(a).bit_length() - 1
    if len(a) != 1 << n or not 1 <= n <= MAX_PEOPLE or np.isnan(a).any():
        raise NotUnderstood(
            f"the exhaustive attack needs the answers to all subsets of at most {MAX_PEOPLE} people.",
            code="wrong-argument",
            instead="pass 2, 4, 8, … answers in counting order, or use least_squares",
        )
    if not bound >= 0:
        raise NotUnderstood(
            "the bound of the noise must not be negative.", code="wrong-argument", instead="for example bound=0.5"
        )
    limit = bound + SLACK * max(1.0, bound)
    alive = np.zeros(1 if abs(a[0]) <= limit else 0, np.uint32)
    for k in range(n):
        alive = np.concatenate([alive, alive | np.uint32(1 << k)])
        if len(alive) << k > MAX_COMPARISONS:
            raise NotUnderstood(
                "too many databases fit such noise to go through them all.",
                code="wrong-argument",
                instead="use least_squares or linear_program",
            )
        alive = _consistent(alive, 1 << k, a, limit)
    found = (alive[:, None] >> np.arange(n - 1, -1, -1, dtype=np.uint32) & 1).astype(int)
    return Candidates([tuple(row) for row in found.tolist()], n, float(bound))


def _consistent(alive: NDArray[np.uint32], first: int, answers: Real, limit: float) -> NDArray[np.uint32]:
    """Return the candidates that fit the answers to the queries from `first` up to twice that; most are eliminated
    early.
    """
    done, step = first, 16
    while done < 2 * first and len(alive):
        queries = np.arange(done, min(done + step, 2 * first), dtype=np.uint32)
        rows = max(1, BLOCK // len(queries))
        fits = [
            (np.abs(np.bitwise_count(part[:, None] & queries) - answers[queries]) <= limit).all(axis=1)
            for part in (alive[i : i + rows] for i in range(0, len(alive), rows))
        ]
        alive = alive[np.concatenate(fits)]
        done, step = done + len(queries), min(2 * step, BLOCK)
    return alive


# ── few subsets ──────────────────────────────────────────────────────────────────────────────────────────────────


def least_squares(queries: ArrayLike, answers: ArrayLike) -> Bits:
    """Return the bits nearest to the least-squares solution: best against noise that is nearly Gaussian.

    Promise  for m random queries about n people and independent noise of standard deviation σ it gets the fraction
             Φ(√(m - n)/(4σ)) right, near enough (`expected`).
    Because  the error of each coordinate is nearly Gaussian with variance 4σ²/(m - n): queries have variance 1/4, and
             the inverse of their covariance matrix, a Wishart's, has mean 4/(m - n).
    """
    q, a = _asked(queries, answers)
    n = q.shape[1]
    if n > DIRECT:
        return _rounded(_iterated(q, a))
    gram, right = q.T @ q, q.T.astype(float) @ a
    try:
        return _rounded(np.linalg.solve(gram.astype(float), right))
    except np.linalg.LinAlgError:  # some people are in the same queries: the shortest solution
        return _rounded(np.linalg.lstsq(q.astype(float), a, rcond=None)[0])


def _iterated(q: Real, a: Real) -> Real:
    """Solve least squares by LSMR, for many people: few passes over the queries, since random ones are well
    conditioned.
    """
    _scipy()
    from scipy.sparse.linalg import LinearOperator, lsmr  # noqa: PLC0415

    narrow = q.dtype  # a wider vector would copy the matrix at every pass
    through = LinearOperator(
        q.shape,
        matvec=lambda x: (q @ x.astype(narrow)).astype(float),
        rmatvec=lambda y: (y.astype(narrow) @ q).astype(float),
        dtype=float,
    )
    found: Real = lsmr(through, a, atol=1e-5, btol=1e-5)[0]
    return found


def linear_program(queries: ArrayLike, answers: ArrayLike) -> Bits:
    """Return the bits nearest to the solution within [0, 1] of least total error: best if some answers are far off.

    Promise  answers that are wrong by any amount do not matter while they are few (20 % with five times as many queries
             as people); it is also the most likely database under Laplace noise.
    Because  Dwork, McSherry and Talwar 2007: minimising Σ|error| decodes through a constant fraction of gross errors.
    """
    _scipy()
    from scipy.optimize import linprog  # noqa: PLC0415 (HiGHS: the best open solver there is)
    from scipy.sparse import eye_array, hstack  # noqa: PLC0415

    q, a = _asked(queries, answers)
    m, n = q.shape
    equal = hstack([q.astype(float), eye_array(m), -eye_array(m)], format="csr")
    cost = np.concatenate([np.zeros(n), np.ones(2 * m)])
    bounds = [(0, 1)] * n + [(0, None)] * (2 * m)
    solved = linprog(cost, A_eq=equal, b_eq=a, bounds=bounds, method="highs")
    return _rounded(solved.x[:n])


def hadamard(answers: ArrayLike) -> Bits:
    """Return the bits from the answers to `hadamard_queries(n)`, n = 2^k, in n log n steps.

    Promise  each bit is right with probability Φ(√n/(4σ)) under Gaussian noise σ (the first with a little less): n
             queries do what twice as many random ones do.
    Because  the queries are (1 + H)/2 for the Hadamard matrix H, and H·H = n: x = H(2a - a₀)/n. All errors are spread
             evenly, with variance 4σ²/n.
    """
    a = _numbers(answers, "answers", dimensions=1)
    n = _power(len(a))
    x = 2 * a - a[0]
    width = 1
    while width < n:
        pairs = x.reshape(-1, 2, width)
        x = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(n)
        width *= 2
    return _rounded(x / n)


METHODS: dict[str, Callable[[ArrayLike, ArrayLike], Bits]] = {
    "none": least_squares,
    "rounding": least_squares,
    "bounded": least_squares,
    "sticky": least_squares,
    "sampling": least_squares,
    "gaussian": least_squares,
    "laplace": linear_program,
    "gross": linear_program,
}


def by(noise: str) -> Callable[[ArrayLike, ArrayLike], Bits]:
    """Return the attack for a kind of noise: the one whose solution is the most likely database.

    Least squares for noise without tails, the linear program for Laplace noise and if a part of the answers is far off.
    """
    if noise not in METHODS:
        raise NotUnderstood(
            "there is no such kind of noise.", code="wrong-argument", instead=f"one of {', '.join(METHODS)}"
        )
    return METHODS[noise]


def expected(*, n: int, m: int, sigma: float) -> float:
    """Return the fraction of bits that least squares on m random queries gets right: Φ(√(m - n)/(4σ))."""
    if m <= n:
        raise NotUnderstood(
            "this holds for more queries than people.", code="wrong-argument", instead=f"for example m={4 * n}"
        )
    return 1.0 if sigma == 0 else NormalDist().cdf(math.sqrt(m - n) / (4 * sigma))


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _rounded(solution: Real) -> Bits:
    return (solution > 0.5).astype(np.int64)


def _numbers(values: ArrayLike, name: str, *, dimensions: int) -> Real:
    try:
        read = np.asarray(values, float)
    except (TypeError, ValueError):
        read = np.empty(())
    if read.ndim != dimensions or not read.size or np.isinf(read).any():
        raise NotUnderstood(
            f"{name} must be finite numbers.",
            code="wrong-argument",
            instead="queries: one row for each; answers: one number",
        )
    return read


def _asked(queries: ArrayLike, answers: ArrayLike) -> tuple[Real, Real]:
    """Return the queries that were answered, in the narrowest type in which sums of products stay exact, and their
    answers.
    """
    a = _numbers(answers, "answers", dimensions=1)
    small = isinstance(queries, np.ndarray) and queries.ndim == 2 and queries.dtype in (np.uint8, np.bool_)
    q = np.asarray(queries) if small else _numbers(queries, "queries", dimensions=2)
    if len(q) != len(a) or (not small and np.isnan(q).any()):
        raise NotUnderstood(
            "there must be one answer to each query.", code="wrong-argument", instead="give NaN where there was none"
        )
    heard = ~np.isnan(a)
    if not heard.any():
        raise NotUnderstood("no question was answered.", code="wrong-argument", instead="ask less, or for less")
    bits = small and bool((q <= 1).all()) and len(q) < EXACT
    return (q if heard.all() else q[heard]).astype(np.float32 if bits else float), a[heard]


def _power(n: int) -> int:
    size = positive_integer(n, "n")
    if size & (size - 1):
        raise NotUnderstood(
            "Hadamard queries are about 2^k people.",
            code="wrong-argument",
            instead=f"for example {1 << size.bit_length()}",
        )
    return size


def _scipy() -> None:
    try:
        import scipy  # noqa: F401, PLC0415
    except ImportError:
        raise NotUnderstood(
            "this attack needs scipy.", code="not-installed", instead='pip install "discreet[lab]"'
        ) from None
