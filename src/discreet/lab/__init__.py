"""The lab: attacks, audits and explanations of differential privacy, from the outside.

The lab sees what an analyst sees: answers. `reconstruct` and `membership` break curators that add too little noise and
fail against this one as far as the theory says they must; `game`, `bayes`, `name_and_shame` and `replicability` explain
ε; `channel`, `audit`, `replay` and `pipeline` check claims against releases, and `museum` keeps the bugs they caught.

    >>> from discreet.lab import game, reconstruct
    >>> round(game.error(epsilon=1), 4)                    # nobody guesses better who is in the data
    0.2689
    >>> reconstruct.exhaustive([0.5, 0.5, 1, 1, 0.5, 1.5, 1.5, 2.5], bound=0.5)
    [(1, 1, 0)]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.lab import museum
    from discreet.lab.attacks import membership, reconstruct
    from discreet.lab.audits import audit, channel, inventory, mechanism_tables, pipeline, replay
    from discreet.lab.meaning import bayes, game, name_and_shame, replicability

__all__ = [
    "audit",
    "bayes",
    "channel",
    "game",
    "inventory",
    "mechanism_tables",
    "membership",
    "museum",
    "name_and_shame",
    "pipeline",
    "reconstruct",
    "replay",
    "replicability",
]

ROOMS = {
    "attacks": ("membership", "reconstruct"),
    "audits": ("audit", "channel", "inventory", "mechanism_tables", "pipeline", "replay"),
    "meaning": ("bayes", "game", "name_and_shame", "replicability"),
}


def __getattr__(name: str) -> Any:
    """Load a module of the lab when it is first needed: attacks and audits import a curator and a solver."""
    for room, names in ROOMS.items():
        if name in names:
            return import_module(f"discreet.lab.{room}.{name}")
    if name == "museum":
        return import_module("discreet.lab.museum")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
