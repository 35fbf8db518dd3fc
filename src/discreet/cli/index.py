"""`discreet index`: build the index beside the ledger, or delete it."""

from __future__ import annotations

import argparse
from typing import Any

from discreet.cli.ask import load
from discreet.cli.terminal import counting, say

__all__ = ["add"]

MORE = """\
Of each unit the index has, once and for all, the rows that count. Questions without WHERE, by no column or by one
whose values are declared, are answered from it about ten times faster, within the same caps and at the same cost.
Other questions read the data; so do all when the data or the catalogue have changed, until it is built anew.

It is a folder beside the ledger, named like it with .index at the end. It holds data, so only its owner can open it;
--drop deletes it. Building costs no budget, and questions can be asked meanwhile.
"""


def add(commands: Any) -> None:
    """Add the command to the command line."""
    index = commands.add_parser(
        "index",
        help="for the owner: make questions about units about ten times faster",
        epilog=MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    index.add_argument("catalogue", metavar="CATALOGUE", help="a .toml file; discreet init writes one")
    index.add_argument("--drop", action="store_true", help="delete the index")
    index.add_argument("--marks", metavar="FOLDER", help="where this machine keeps its high-water marks")
    index.set_defaults(run=_index)


def _index(options: argparse.Namespace) -> None:
    from discreet.curator.opening import indexed_tables  # noqa: PLC0415

    with load(options.catalogue, options.marks) as curator:
        if options.drop:
            say("The index is deleted." if curator.drop_index() else "There was no index.")
            return
        with counting("building the index", "steps") as steps:
            path = curator.index(progress=steps)
        for each in indexed_tables(curator.catalogue):
            by = f", and by {', '.join(each.keys)}" if each.keys else ""
            say(f"{each.table}: of each {each.unit} the rows that count, without groups{by}.")
        say(f"The index is in {path.parent}. It holds data: protect it as you protect them.")
