"""The kernel without some of its rules, made from its own source, to show that a campaign would notice."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from discreet.kernel import check as checking
from discreet.kernel import ownership

MODULES = ("types", "contribution", "ownership", "releases", "check")  # each imports those before it
FOLDER = Path(checking.__file__).parent


class Accepted(NamedTuple):
    """What a kernel says of a plan that it accepts: its certificate, and whose its rows are."""

    certificate: Any
    rows: Any


class Kernel(NamedTuple):
    """A kernel, by its modules."""

    checking: Any
    ownership: Any

    def judge(self, plan: Any, declared: Any) -> Accepted:
        """Accept a plan, as it is in memory, or reject it."""
        certificate = self.checking.certify(plan, declared)
        equal = self.ownership.equalities(plan.where)
        return Accepted(certificate, self.ownership.ownership_of(plan.table, declared.facts, equal))


WHOLE = Kernel(checking, ownership)


def _says(node: ast.Call) -> str | None:
    """The rule that a call rejects by."""
    rejects = getattr(node.func, "id", "") == "Rejected" or getattr(node.func, "attr", "") == "need"
    texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return texts[0] if rejects and texts else None


def rules() -> list[str]:
    """All rules of the kernel, read from its source."""
    trees = [ast.parse((FOLDER / f"{name}.py").read_text()) for name in MODULES]
    calls = [each for tree in trees for each in ast.walk(tree) if isinstance(each, ast.Call)]
    return sorted({said for each in calls if (said := _says(each)) is not None})


class _Without(ast.NodeTransformer):
    def __init__(self, rules: tuple[str, ...]) -> None:
        self.rules = rules

    def visit(self, node: ast.AST) -> Any:
        call = node.exc if isinstance(node, ast.Raise) else node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and _says(call) in self.rules:
            return ast.copy_location(ast.Pass(), node)
        return super().visit(node)


@cache
def without(*rules: str) -> Kernel:
    """The kernel that never rejects by one of these rules; its rejections are those of the kernel."""
    with _standing_in() as modules:
        for name in MODULES:
            full = f"discreet.kernel.{name}"
            tree = _Without(rules).visit(ast.parse((FOLDER / f"{name}.py").read_text()))
            modules[full] = sys.modules[full] = ModuleType(full)
            setattr(sys.modules["discreet.kernel"], name, modules[full])
            exec(compile(ast.fix_missing_locations(tree), full, "exec"), vars(modules[full]))
    return Kernel(modules["discreet.kernel.check"], modules["discreet.kernel.ownership"])


@contextmanager
def _standing_in() -> Iterator[dict[str, ModuleType]]:
    names = [f"discreet.kernel.{name}" for name in MODULES]
    true = {name: sys.modules[name] for name in names if name in sys.modules}
    package = sys.modules["discreet.kernel"]
    held = {name: getattr(package, name) for name in MODULES if hasattr(package, name)}
    try:
        yield {}
    finally:
        sys.modules.update(true)
        for name, module in held.items():
            setattr(package, name, module)
