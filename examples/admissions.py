"""The first five minutes: questions about 4,526 applicants, answered so that no answer depends on any one of them.

The data are the admissions to the University of California, Berkeley, of autumn 1973 (Bickel, Hammel, O'Connell 1975).
Run it with `make demo`. You play the curator, so the exact counts are shown beside what an analyst would see.
"""

from __future__ import annotations

import numpy as np

import discreet as dp

DEPARTMENTS = "ABCDEF"
ADMITTED = {"men": [512, 353, 120, 138, 53, 22], "women": [89, 17, 202, 131, 94, 24]}
REJECTED = {"men": [313, 207, 205, 279, 138, 351], "women": [19, 8, 391, 244, 299, 317]}


def main() -> None:
    budget = dp.Budget(epsilon=1, delta="1e-6")
    ledger = dp.Ledger(dataset="admissions", budget=budget)  # in memory; a file or a database keeps it for good
    counts = np.array([ADMITTED["men"], ADMITTED["women"], REJECTED["men"], REJECTED["women"]])
    print(f"{counts.sum():,} applicants. The budget for all questions together: {budget}.\n")

    print("1. How many were admitted and rejected, by department and sex? Each applicant is in one of 24 cells.")
    histogram = dp.Laplace(epsilon="0.5", sensitivity=dp.sensitivity.histogram())
    print(f"   {histogram.describe()}")
    released = ledger.spend(histogram, analyst="you").use(histogram).release(counts)  # spend, then look
    margin = histogram.error.radius(confidence=0.95, cells=counts.size)
    print(f"   All {counts.size} cells together stay within ±{margin}, 95 % of the time.\n")
    print("   department      " + "".join(f"{name:>13}" for name in DEPARTMENTS))
    for row, name in enumerate(("men admitted", "women admitted", "men rejected", "women rejected")):
        cells = "".join(f"{exact:>6} →{noisy:>5}" for exact, noisy in zip(counts[row], released[row], strict=True))
        print(f"   {name:<16}{cells}")

    print("\n2. What follows from those numbers is free: the share of women admitted, by department.")
    noisy = released[1] / (released[1] + released[3])
    exact = counts[1] / (counts[1] + counts[3])
    print("   " + "   ".join(f"{d} {e:.2f} → {n:.2f}" for d, e, n in zip(DEPARTMENTS, exact, noisy, strict=True)))

    print("\n3. Which department received most applications? Only its name is published, not the counts.")
    choose = dp.PermuteAndFlip(epsilon="0.1", sensitivity=1, monotone=True)
    print(f"   {choose.describe().split('. ')[0]}.")
    print(f"   Among six, the chosen one is less than {choose.error.gap(6):.0f} below the largest 95 % of the time.")
    largest = ledger.spend(choose, analyst="you").use(choose).release(counts.sum(axis=0))
    print(f"   Answer: department {DEPARTMENTS[largest]}.")

    print("\n4. What the ledger says, and a question that it has no room for.")
    for balance in ledger.balances:
        print(f"   {balance}")
    try:
        ledger.spend(dp.Laplace(epsilon="0.5", sensitivity=1), analyst="you")
    except dp.BudgetExceeded as refusal:
        print("   " + str(refusal).replace("\n", "\n   "))
    print(f"   Verified: {ledger.verify()}")


if __name__ == "__main__":
    main()
