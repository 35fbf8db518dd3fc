"""Every published bug is caught, and its repair is not accused by the same audit."""

from __future__ import annotations

import ast
import os
from fractions import Fraction

import pytest

from discreet.lab import museum
from discreet.lab.audits import channel
from discreet.lab.museum import claims
from support.kit import ALARM

PIECES = pytest.mark.parametrize("piece", museum.PIECES.values(), ids=list(museum.PIECES))
EXPECTED = {  # each with the audit that must catch it
    "holes in floating-point noise": "samples",
    "noisy max charged as bounded range": "exact table",
    "the last bit in the clear": "samples",
    "replace-one off by two": "samples",
    "sparse vector without noise on answers": "samples",
    "sparse vector that never stops": "samples",
    "sparse vector with noise for one positive": "samples",
    "a Laplace threshold under Gaussian noise": "exact table",
    "sums without bounds": "samples",
    "a crash that depends on the data": "replay",
    "a lie that may be the truth": "exact table",
    "a Gaussian constant of lecture notes": "exact table",
}


@PIECES
def test_the_bug_is_caught(piece: museum.Piece) -> None:
    """At the alarm that a report has, and at one a million times smaller."""
    found = piece.examine(piece.wrong, alarm=str(ALARM))
    assert found.caught
    assert found.by == EXPECTED.get(piece.name, found.by)
    assert found.evidence


@PIECES
def test_the_repair_is_not(piece: museum.Piece) -> None:
    """With a false alarm of 1e-8 for the pieces that are sampled, of none for the others."""
    assert not piece.examine(piece.right, alarm=str(ALARM)).caught


@PIECES
def test_it_is_a_piece(piece: museum.Piece) -> None:
    """A few lines of code each, a year, a source, a story."""
    assert 2000 < piece.year < 2100
    assert len(piece.story) > 60
    assert piece.source
    assert piece.claim
    for code in (piece.wrong, piece.right):
        ast.parse(piece.code(code))
        assert piece.code(code).count("\n") <= 8
    assert piece.code(piece.wrong) != piece.code(piece.right)


def test_none_is_missing() -> None:
    assert EXPECTED.keys() <= museum.PIECES.keys()
    assert len(museum.PIECES) == 15


def test_the_true_figures() -> None:
    """δ of the notes' constant is more than ten times what it claims; ε of the wrong randomised response is ln 13."""
    delta = channel.delta(claims.gaussian_of_the_notes(), 1)
    assert 1.06e-5 < delta < 1.09e-5
    assert channel.epsilon(claims.lie_by_the_same_coin()).ratio == 13
    forgotten = channel.delta(claims.names_at_the_cutoff(), 1, pairs=claims.ONE_MORE)
    assert 1 < forgotten / 1e-6 < 2.8  # at most e times as much
    table, rho = claims.flip_as_bounded_range()
    assert channel.rho(table) > 2 * float(rho)
    assert rho == Fraction(1, 8)


@pytest.mark.skipif(not os.environ.get("DISCREET_SOAK"), reason="a long campaign: make soak")
@PIECES
def test_the_repair_is_seldom_accused_at_the_usual_alarm(piece: museum.Piece) -> None:
    """Thirty audits at 1/1000: three accusations would be a chance of 5e-6."""
    assert sum(piece.examine(piece.right).caught for _ in range(30)) < 3
