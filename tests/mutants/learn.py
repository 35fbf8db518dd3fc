"""k-means: noisy sums, and who pays for them."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "k-means: no clip",
        [Edit("discreet.learn.exact_sums:moves", "np.maximum(sizes, radius)", "np.maximum(radius, 0 * sizes)")],
        [
            "test_kmeans.py::test_no_row_moves_the_exact_numbers_further_than_is_paid_for_and_some_row_so_far",
            "test_kmeans.py::test_moves_are_clipped_offsets_and_never_exceed_their_unit",
        ],
    ),
    Mutant(
        "k-means: rounded moves",
        [Edit("discreet.learn.exact_sums:moves", "np.trunc(offsets, out=offsets)", "np.rint(offsets, out=offsets)")],
        [
            "test_kmeans.py::test_no_row_moves_the_exact_numbers_further_than_is_paid_for_and_some_row_so_far",
            "test_kmeans.py::test_moves_are_clipped_offsets_and_never_exceed_their_unit",
        ],
    ),
    Mutant(
        "k-means: replaced people count once",
        [
            Edit(
                "discreet.learn.method:Method.on_sums",
                "        most = self.neighbours.changes * UNIT\n",
                "        most = UNIT\n",
            )
        ],
        [
            "test_kmeans.py::test_no_row_moves_the_exact_numbers_further_than_is_paid_for_and_some_row_so_far",
            "test_kmeans.py::test_moves_are_clipped_offsets_and_never_exceed_their_unit",
        ],
    ),
    Mutant(
        "k-means: counts of cells without noise",
        [
            Edit(
                "discreet.learn.summary:Summary.run",
                "cells.release(cells_of(box, points, partition.cell, partition.cells), coins)",
                "cells_of(box, points, partition.cell, partition.cells)",
            )
        ],
        ["test_kmeans.py::test_each_part_is_released_once_in_order_and_nothing_else_is_looked_at"],
    ),
    Mutant(
        "k-means: the number of people without noise",
        [
            Edit(
                "discreet.learn.summary:Summary.run",
                "float(left.pop(0).release(rows, coins))",
                "float(left.pop(0) is not None and rows)",
            )
        ],
        ["test_kmeans.py::test_each_part_is_released_once_in_order_and_nothing_else_is_looked_at"],
    ),
    Mutant(
        "k-means: nobody pays",
        [
            Edit(
                "discreet.learn.kmeans:KMeans.fit",
                "charged(method.mechanism, self.budget, self._shared(), self.analyst)",
                "method.mechanism",
            )
        ],
        ["test_kmeans_estimator.py::test_nothing_is_looked_at_that_was_not_paid_for"],
    ),
    Mutant(
        "k-means on a table: some questions are paid, and not all can be",
        [
            Edit(
                "discreet.learn.procedure:_Asking._refuse_early",
                "        if cost not in left:\n",
                "        if False:\n",
            )
        ],
        ["test_kmeans_estimator.py::test_whatever_refuses_refuses_before_the_first_charge"],
    ),
]
