"""Ways to break the promise, grouped by what they break; `scripts/mutants` makes each, and the tests must notice.

Each names the definition that it changes, so that it survives when files move: then only its module is another.
"""

from __future__ import annotations

from mutants import (
    bounds,
    composed,
    contribution,
    failures,
    index,
    joins,
    kernel,
    keys,
    lab,
    learn,
    ledger,
    local,
    noise,
    selection,
    sensitivity,
    sources,
    units,
    work,
    workloads,
)

__all__ = ["MUTANTS"]

MUTANTS = [
    *units.MUTANTS,
    *contribution.MUTANTS,
    *bounds.MUTANTS,
    *keys.MUTANTS,
    *sensitivity.MUTANTS,
    *noise.MUTANTS,
    *selection.MUTANTS,
    *workloads.MUTANTS,
    *joins.MUTANTS,
    *composed.MUTANTS,
    *kernel.MUTANTS,
    *work.MUTANTS,
    *sources.MUTANTS,
    *index.MUTANTS,
    *ledger.MUTANTS,
    *failures.MUTANTS,
    *learn.MUTANTS,
    *local.MUTANTS,
    *lab.MUTANTS,
]
