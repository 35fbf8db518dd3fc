"""Heavy hitters: words that many respondents share, out of more than can be listed, found letter by letter.

Each respondent draws a level at random and reports only a prefix of the word, as long as that level says. The
collector finds the prefixes that are common on the first level, lengthens them by every continuation there is, keeps
those that are common on the next level, and so on (Wang, Li and Jha 2019, the prefix extending method).

A report is local hashing with a hash that can be inverted fast. A prefix is a row of bits x; the hash is R·x for a
random matrix R of bits, which the report shows, and the bucket R·x goes through k-ary response. Two different words
collide with probability exactly 1/buckets. For one prefix, the supports of all 2^16 continuations come from one
Walsh-Hadamard transform, so a level can take three letters at a time instead of one; fewer levels leave more
respondents for each.

>>> from discreet.local import HeavyHitters
>>> words = HeavyHitters(epsilon=3, length=6)
>>> found = words.find(words.randomize(["discreet"] * 6000 + ["noise"] * 9000 + ["rare"] * 50))
>>> {"noise", "discre"} <= set(found.words)                # cut to six letters
True
>>> words.recall(n=15_000, frequency="0.3") > 0.999
True
"""

from __future__ import annotations

import math
import string
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, number, positive_integer
from discreet.core.once import once
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.local.binomial import Supports, binomial
from discreet.local.channel import Table
from discreet.local.estimate import Frequencies, quantile
from discreet.local.frequency.kary import KaryResponse
from discreet.local.inputs import share
from discreet.local.odds import odds_and_epsilon
from discreet.local.randomizer import EXAMPLE_N, Randomizer
from discreet.local.sampling import uniform_below

__all__ = ["FrequentWords", "HeavyHitters"]

WIDEST = 16  # bits of a level
FALSE = 0.05  # the probability that a word is found that no respondent has
CHUNK_CHARS = 1 << 20  # letters that are looked up at a time
SPARE = 8.0  # false beginnings that a level before the last may keep, in expectation

Reports = NDArray[np.uint16]


@recorded("heavy hitters/1")
@dataclass(frozen=True, kw_only=True)
class HeavyHitters(Randomizer):
    """A randomizer of words from whose reports only common words can be found.

    Given    words over `alphabet`; one is cut at `length` letters, or before a letter that is not in the alphabet.
    Promise  ε-private for every level and every matrix, which are drawn without looking at the word.
    Because  what is sent beside them is a k-ary response to the bucket of the word's beginning.

    At most `keep` beginnings are kept on each level. A report is a row: level, bucket, then the rows of the matrix.
    """

    epsilon: Fraction = None  # type: ignore[assignment]  # never None once made
    length: int
    alphabet: str = string.ascii_lowercase
    keep: int = 64
    odds: Fraction = None  # type: ignore[assignment]

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self,
            *,
            epsilon: Number | None = None,
            length: int,
            alphabet: str = string.ascii_lowercase,
            keep: int = 64,
            odds: Number | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        epsilon, odds = odds_and_epsilon(epsilon=self.epsilon, odds=self.odds)
        if not isinstance(self.alphabet, str) or not 1 <= len(set(self.alphabet)) == len(self.alphabet) <= 255:
            raise NotUnderstood(
                "the alphabet is a text of up to 255 different letters.",
                code="wrong-argument",
                instead='for example alphabet="abc"',
            )
        length, keep = positive_integer(self.length, "length"), positive_integer(self.keep, "keep")
        if length > 256 or keep > 4096:
            raise NotUnderstood(
                "length is at most 256 letters, and keep at most 4096.",
                code="wrong-argument",
                instead="for example length=12",
            )
        for name, value in {"epsilon": epsilon, "odds": odds, "length": length, "keep": keep}.items():
            object.__setattr__(self, name, value)

    # ── the shape of things ──────────────────────────────────────────────────────────────────────────────────

    @property
    def letter(self) -> int:
        """The number of bits of a letter; zero is the end of the word."""
        return len(self.alphabet).bit_length()

    @property
    def letters(self) -> int:
        """The number of letters of a level: as many as fit, spread evenly."""
        return -(-self.length // self.levels)

    @property
    def levels(self) -> int:
        """The number of levels."""
        return -(-self.length // (WIDEST // self.letter))

    @property
    def digits(self) -> int:
        """The number of bits of the hash: with 2^digits buckets, about e^ε + 1 of them, the error is least."""
        sizes = range(1, WIDEST // 2)
        return min(sizes, key=lambda bits: _noise(self.odds, 1 << bits))

    @once
    def response(self) -> KaryResponse:
        """The randomizer of the bucket."""
        return KaryResponse(k=1 << self.digits, odds=self.odds)

    @property
    def hit(self) -> Fraction:
        """P(a report supports the beginning behind it)."""
        return self.response.hit

    @property
    def miss(self) -> Fraction:
        """P(a report supports another beginning): that of a bucket, exactly."""
        return Fraction(1, 1 << self.digits)

    def shape(self) -> tuple[int, ...]:
        return (2 + self.digits * self.levels,)

    def table(self) -> Table:
        """Return P(bucket | bucket): the level and the matrix reveal nothing of the word."""
        return self.response.table()

    # ── randomising ──────────────────────────────────────────────────────────────────────────────────────────

    def randomize(self, values: Any, coins: Coins = SYSTEM) -> Any:
        """Return a report for each word; for a single word, a single report."""
        if isinstance(values, str):
            return self.randomize([values], coins)[0]
        codes = self._codes(values)
        n = len(codes)
        level = uniform_below(self.levels, n, coins).astype(np.uint16)
        matrix = coins.flip(2 * n * self.digits * self.levels).view(np.uint16).reshape(n, self.digits, self.levels)
        matrix = matrix & self._room(level)
        bucket = self.response.randomize(_buckets(matrix, codes[:, None]), coins)
        out = np.empty((n, *self.shape()), np.uint16)
        out[:, 0], out[:, 1], out[:, 2:] = level, bucket, matrix.reshape(n, -1)
        return out

    def _room(self, level: Any) -> Reports:
        """Return the bits that rows of the matrix may have: those of the beginning that the level asks for."""
        within = np.arange(self.levels) <= np.asarray(level)[:, None]
        return np.where(within, (1 << self.letter * self.letters) - 1, 0).astype(np.uint16)[:, None]

    def _codes(self, words: Iterable[Any]) -> Reports:
        """Return each word as numbers, one for each level. Refusals depend on types only."""
        rows = list(words)
        if not all(isinstance(word, str) for word in rows):
            raise NotUnderstood(
                "values are words.", code="wrong-argument", instead='pass for example ["alpha", "beta"]'
            )
        part = max(1, CHUNK_CHARS // self.length)
        parts = [self._encoded(rows[start : start + part]) for start in range(0, len(rows), part)]
        return np.concatenate([np.zeros((0, self.levels), np.uint16), *parts])

    def _encoded(self, words: list[str]) -> Reports:
        """Encode words in as many steps for a short word as for a long one, whatever its letters are: each place is
        looked up.
        """
        cut = [word[: self.length].ljust(self.length, "\0") for word in words]
        places = np.frombuffer("".join(cut).encode("utf-32-le", "surrogatepass"), "<u4").reshape(-1, self.length)
        ends = np.array([len(word) for word in words])[:, None]
        letters = self._numbers[places] * (np.arange(self.length) < ends)
        letters *= np.logical_and.accumulate(letters > 0, axis=1)
        room = np.zeros((len(words), self.levels * self.letters), np.uint16)
        room[:, : self.length] = letters
        shifts = np.arange(self.letters, dtype=np.uint16) * np.uint16(self.letter)
        packed: Reports = np.bitwise_or.reduce(room.reshape(-1, self.levels, self.letters) << shifts, axis=2)
        return packed

    @once
    def _numbers(self) -> Reports:
        """The number of every character there is: from one, or zero for a character that is not in the alphabet."""
        out = np.zeros(sys.maxunicode + 1, np.uint16)
        out[[ord(letter) for letter in self.alphabet]] = np.arange(1, len(self.alphabet) + 1)
        return out

    def _word(self, codes: Iterable[int]) -> str | None:
        """Return the word of these numbers, or None if they are those of no word."""
        whole_code = [code >> self.letter * i & (1 << self.letter) - 1 for code in codes for i in range(self.letters)]
        size = next((i for i, code in enumerate(whole_code) if code == 0), len(whole_code))
        fine = not any(whole_code[size:]) and size <= self.length and max(whole_code, default=0) <= len(self.alphabet)
        return "".join(self.alphabet[code - 1] for code in whole_code[:size]) if fine else None

    # ── finding ──────────────────────────────────────────────────────────────────────────────────────────────

    def find(self, reports: Any) -> FrequentWords:
        """Return the words that many respondents have, most frequent first, with the share of each."""
        array = np.asarray(reports)
        if array.ndim != 2 or array.shape[1:] != self.shape() or array.dtype.kind not in "ui":
            raise NotUnderstood(
                "these are not reports of words.", code="wrong-argument", instead="pass what randomize(words) returned"
            )
        good = array[self._valid(array)].astype(np.uint16, copy=False)
        kept: list[tuple[int, ...]] = [()]
        crowded, counts, n = False, np.zeros(0, np.int64), 0
        for level in range(self.levels):
            mine = good[good[:, 0] == level]
            n = len(mine)
            kept, counts, more = self._level(mine, level, kept)
            crowded |= more
        words = [self._word(codes) or "" for codes in kept]
        shares = Frequencies.of(
            counts, n=max(1, n), hit=self.hit, miss=self.miss, sampling=True, set_aside=len(array) - len(good)
        )
        return FrequentWords(
            words=tuple(words), shares=shares, candidates=self._candidates(self.levels - 1), crowded=crowded
        )

    def _valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        level, bucket = reports[:, 0], reports[:, 1]
        matrix = reports[:, 2:].reshape(len(reports), self.digits, self.levels)
        inside = ((matrix >= 0) & (matrix <= self._room(level))).all(axis=(1, 2))
        return np.asarray(inside & (level < self.levels) & (level >= 0) & (bucket >= 0) & (bucket < 1 << self.digits))

    def _level(
        self, reports: Reports, level: int, kept: list[tuple[int, ...]]
    ) -> tuple[list[tuple[int, ...]], NDArray[np.int64], bool]:
        """Return the beginnings that pass a level, the most supported first, their supports, and True if there were
        too many.
        """
        least = self.threshold(len(reports), level)
        found: list[tuple[int, tuple[int, ...]]] = []
        signs = self._characters(reports)
        for begin in kept:
            supports = self._supports(signs, begin)
            for code in np.flatnonzero(supports >= least).tolist():
                if self._word((*begin, code)) is not None:
                    found.append((int(supports[code]), (*begin, code)))
        found.sort(key=lambda each: (-each[0], each[1]))
        best = found[: self.keep]
        return [codes for _, codes in best], np.array([s for s, _ in best], np.int64), len(found) > self.keep

    def _characters(self, reports: Reports) -> list[tuple[Reports, NDArray[np.bool_]]]:
        """Return every sum of rows of the matrix but the empty one, with the parity of the same sum of bits of the
        bucket.
        """
        matrix, bucket = reports[:, 2:].reshape(len(reports), self.digits, self.levels), reports[:, 1]
        out = []
        for chosen in range(1, 1 << self.digits):
            rows = [i for i in range(self.digits) if chosen >> i & 1]
            out.append((np.bitwise_xor.reduce(matrix[:, rows], axis=1), _odd(bucket & np.uint16(chosen))))
        return out

    def _supports(self, signs: list[tuple[Reports, NDArray[np.bool_]]], begin: tuple[int, ...]) -> NDArray[np.int64]:
        """Return how many reports support each continuation of a beginning.

        Because  [R·x = bucket] is the mean over all sums s of rows of (-1)^(s·(R·x - bucket)): the empty one counts
                 every report, and each other one is a character of x, so that the sum over reports is a transform.
        """
        size = 1 << self.letter * self.letters
        level, total = len(begin), np.zeros(size, np.int64)
        for rows, parity in signs:
            odd = parity ^ _odd(np.bitwise_xor.reduce(rows[:, :level] & np.array(begin, np.uint16), axis=1))
            at = rows[:, level]
            total += np.bincount(at[~odd], minlength=size) - np.bincount(at[odd], minlength=size)
        return (len(signs[0][1]) + _walsh(total)) >> self.digits

    # ── what can be promised ─────────────────────────────────────────────────────────────────────────────────

    def _candidates(self, level: int) -> int:
        return (self.keep if level else 1) << self.letter * self.letters

    def threshold(self, n: int, level: int) -> int:
        """Return the least number of supports among n reports of a level with which a beginning is kept.

        Promise  with probability 0.95 no word is found whose last level no respondent has; before the last, at most 8
                 such beginnings pass on average.
        Because  each of the candidates is then supported by each report with probability 1/buckets: a union bound over
                 exact binomial tails.
        """
        allowed = (FALSE if level == self.levels - 1 else SPARE) / self._candidates(level)
        first, law = binomial(n, float(self.miss))
        tails = np.cumsum(law[::-1])[::-1]
        return first + int(np.searchsorted(-tails, -allowed)) if tails[-1] <= allowed else n + 1

    def recall(self, n: int, frequency: Number) -> float:
        """Return a lower bound on the probability that a word is found which this share of the population has.

        Given    n respondents drawn from it, as many on each level, and no level crowded (`FrequentWords.crowded`).
        Promise  the word passes every level with at least this probability, whatever the others have.
        Because  its supports on a level are binomial, with f·hit + (1 - f)·miss at least, and must reach the
                 threshold on each: a union bound over exact tails.
        """
        each, f = positive_integer(n, "n") // self.levels, float(share(frequency))
        law = Supports(n=each, hit=float(self.hit), miss=float(self.miss), sampling=True)
        missed = math.fsum(1 - law.at_least(self.threshold(each, level), f) for level in range(self.levels))
        return max(0.0, 1 - missed)

    def least(self, n: int, recall: Number = 0.95) -> float:
        """Return the least share of the population that a word must have to be found with at least this probability."""
        wanted = float(number(recall, "recall"))
        low, high = 0.0, 1.0
        if not 0 < wanted < 1 or self.recall(n, 1) < wanted:
            raise NotUnderstood(
                "so few reports find no word that surely.",
                code="wrong-argument",
                instead="collect more, or raise epsilon",
            )
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if self.recall(n, middle) >= wanted else (middle, high)
        return high

    def influence(self, hostile: int, n: int) -> float:
        """Return how far `hostile` respondents among n, all on one level, can move the share of a word.

        Because  a report either supports a beginning or does not, and there are about n/levels of them on a level.
                 Enough of them can have a word found that no respondent has, or one lost; lies look like noise.
        """
        each = Fraction(positive_integer(n, "n"), self.levels)
        return float(positive_integer(hostile, "hostile") / (each * (self.hit - self.miss)))

    @property
    def error(self) -> HitterError:
        return HitterError(self)


@dataclass(frozen=True)
class HitterError:
    """The share that a word must have to be found, for a number of respondents."""

    randomizer: HeavyHitters

    def describe(self) -> str:
        many = 10 * EXAMPLE_N
        try:
            least = self.randomizer.least(many)
        except NotUnderstood:
            return f"From {many:,} respondents, no word is found reliably."
        return f"From {many:,} respondents, a word that {show(100 * least, 2)} % have is found 95 % of the time."


@dataclass(frozen=True, kw_only=True, eq=False)
class FrequentWords:
    """Words that many respondents have, with the estimated share of each.

    A margin is right for each word by itself: it is found with a share outside its margin in about 5 % of all
    surveys at most. `radius(simultaneous=True)` holds for every word that could have been found at once.
    """

    words: tuple[str, ...]
    shares: Frequencies
    candidates: int
    crowded: bool  # True if more beginnings passed a level than it keeps: words may have been lost

    @property
    def margin(self) -> NDArray[np.float64]:
        """Half the width of the 95 % interval of each share."""
        return self.radius()

    def radius(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> NDArray[np.float64]:
        """Return half the width of the interval of each share; or of all at once, also those that were tested and
        not found.
        """
        out: NDArray[np.float64] = quantile(confidence, self.candidates if simultaneous else 1) * np.sqrt(
            self.shares.variance
        )
        return out

    def __len__(self) -> int:
        return len(self.words)

    def __str__(self) -> str:
        rows = zip(self.words, self.shares.value, self.margin, strict=True)
        return "\n".join(f"{word}  {100 * value:.2f} % ± {100 * margin:.2f}" for word, value, margin in rows)


def _noise(odds: Fraction, buckets: int) -> Fraction:
    """Return n times the variance of a rare word's share."""
    hit, miss = odds / (odds + buckets - 1), Fraction(1, buckets)
    return miss * (1 - miss) / (hit - miss) ** 2


def _odd(bits: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(np.bitwise_count(bits) & 1, np.bool_)


def _buckets(matrix: Reports, codes: Reports) -> NDArray[np.int64]:
    """Return R·x, bit by bit."""
    bits = _odd(np.bitwise_xor.reduce(matrix & codes, axis=2))
    return bits @ (1 << np.arange(matrix.shape[1], dtype=np.int64))


def _walsh(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The Walsh-Hadamard transform: out[x] = Σ_r (-1)^(r·x)·values[r]."""
    out, half = values.copy(), 1
    while half < len(out):
        pairs = out.reshape(-1, 2, half)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return out
