"""Coins: no seeds, no sharing between threads, forks or pickles, and bits that refine without bias."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.core.coins import SYSTEM, System, Uniform, whole_part
from discreet.core.exact import ball
from support.kit import ALARM, Script, misfit


def in_child(draw) -> bytes:
    """What a forked child draws."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, draw())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        return pipe.read()


def test_forked_children_never_share_noise() -> None:
    SYSTEM.flip(8)  # the parent has a stream before it forks
    seen = [in_child(lambda: SYSTEM.flip(64).tobytes()) for _ in range(4)]
    seen.append(SYSTEM.flip(64).tobytes())
    # and grandchildren, whose parents never drew
    seen += [in_child(lambda: in_child(lambda: SYSTEM.flip(64).tobytes())) for _ in range(2)]
    assert len(set(seen)) == len(seen) == 7


def noise(_: int) -> list[int]:
    return dp.Laplace(epsilon="1e-9", sensitivity=1).release(np.zeros(4, np.int64)).tolist()


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_worker_processes_never_share_noise(how: str) -> None:
    noise(0)
    with multiprocessing.get_context(how).Pool(4) as pool:
        found = pool.map(noise, range(16), chunksize=1)
    assert len({tuple(row) for row in found}) == 16


def test_a_fork_behind_pythons_back_is_noticed() -> None:
    """A process id that is not the one that made the key means another key, whatever forked it."""
    coins = System()
    coins.flip(8)
    first = coins._local.stream
    first.process = -1
    coins.flip(8)
    assert coins._local.stream is not first


def test_threads_have_streams_of_their_own() -> None:
    streams, found = [], []

    def work() -> None:
        found.append(SYSTEM.flip(256).tobytes())
        streams.append(SYSTEM._local.stream)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 16
    assert len({id(stream) for stream in streams}) == 16


def test_threads_draw_and_calibrate_together() -> None:
    """Ball arithmetic has one global precision; threads that change it must not disturb each other."""
    wrong = []

    def work(k: int) -> None:
        for i in range(5):
            m = dp.Gaussian(epsilon=Fraction(10 + i, 10 + k), delta="1e-6", sensitivity=1)
            if m.curve(Fraction(10 + i, 10 + k)) > Fraction("1e-6") or m.law.radius(0.95) < 1:
                wrong.append((k, i))
            dp.Laplace(epsilon="1e-30", sensitivity=1).release([0] * 20)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_keys_are_renewed() -> None:
    coins = System()
    coins.flip(8)
    first = coins._local.stream
    coins.flip(System.LIFETIME)
    coins.flip(8)
    assert coins._local.stream is not first


def test_coins_travel_by_name() -> None:
    assert pickle.loads(pickle.dumps(SYSTEM)) is SYSTEM


def test_bits_are_fair() -> None:
    """Bytes, and the bits of each word, against uniform; a coin that falls heads 5015 times in 10,000 is caught."""
    assert misfit(SYSTEM.flip(4_000_000), lambda k: 1 / 256 if 0 <= k < 256 else 0.0) > ALARM
    words = SYSTEM.words(1_000_000)
    for bit in range(0, 64, 7):
        assert misfit((words >> bit) & 1, lambda k: 0.5) > ALARM
    biased = (np.random.default_rng().random(10_000_000) < 0.5015).view(np.int8)
    assert misfit(biased, lambda k: 0.5) < ALARM


def test_no_seed_anywhere() -> None:
    for name in dp.__all__:
        thing = getattr(dp, name)
        if callable(thing) and not (isinstance(thing, type) and issubclass(thing, Exception)):
            words = {"seed", "random_state", "rng", "generator"}
            assert not words & set(inspect.signature(thing).parameters), name


def test_a_uniform_refines_without_bias() -> None:
    """Thirds of [0, 1), decided from two bits on: every branch of the coins, weighed by its probability."""
    weight = {0: Fraction(0), 1: Fraction(0), 2: Fraction(0)}
    undecided = Fraction(0)
    for known in range(4):
        for more in range(256):

            class Short(Script):
                def bits(self, count: int) -> int:
                    raise StopIteration

            uniform = Uniform(known << 8 | more, 10, Short())
            try:
                weight[uniform.decide(lambda u: whole_part(u * 3))] += Fraction(1, 1024)
            except StopIteration:
                undecided += Fraction(1, 1024)
    assert undecided <= Fraction(4, 1024)  # the cells that hold 1/3 and 2/3, and the two ends
    assert all(Fraction(1, 3) - undecided <= each <= Fraction(1, 3) for each in weight.values())


def test_a_uniform_is_below_its_level_exactly() -> None:
    level = Fraction(5, 8)
    below = sum(Uniform(known, 8, Script(b"\x55" * 64)).below(lambda: ball(level)) for known in range(256))
    assert below == 160
