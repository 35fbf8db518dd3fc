"""A museum of real bugs: published failures of differential-privacy software, rebuilt in a few lines and caught.

    >>> from discreet.lab import museum
    >>> piece = museum.PIECES["a lie that may be the truth"]
    >>> print(piece.code(piece.wrong))
    def lie_by_the_same_coin() -> list[list[str]]:
        # with 3/4 the truth, else an answer drawn by a coin that says yes with 3/4
        return [["13/16", "3/16"], ["1/16", "15/16"]]
    >>> print(piece.examine(piece.wrong).evidence)
    ε = ln(13) = 2.56495: output 0 has probability 13/16 for input 0 and 1/16 for input 1
    >>> piece.examine(piece.wrong).caught, piece.examine(piece.right).caught
    (True, False)

Every piece has the wrong code, the right code, and one audit that both are given. It accuses the right code with
probability at most 1/1000.
"""

from discreet.lab.museum.claims import CLAIMS
from discreet.lab.museum.code import CODE
from discreet.lab.museum.piece import Piece, Verdict
from discreet.lab.museum.sparse import SPARSE

__all__ = ["PIECES", "Piece", "Verdict"]

PIECES: dict[str, Piece] = {
    piece.name: piece for piece in sorted((*CODE, *SPARSE, *CLAIMS), key=lambda each: each.year)
}
