"""An entry: one fact, its place in the chain, and the hash that binds both to everything before.

    >>> from discreet.ledger.entry import START, chain, follow
    >>> from discreet.ledger.facts import Retry
    >>> first = chain(START, Retry(of=1, analyst=""), "2026-01-01T00:00:00.000000Z")
    >>> second = chain(first.link, Retry(of=1, analyst=""), "2026-01-01T00:00:01.000000Z")
    >>> second.previous == first.hash, follow(first.link, second.row) == second
    (True, True)

The text of an entry is one line of JSON with sorted keys; its hash is SHA-256 of that text, which holds the hash of the
entry before. So an export can be checked with `sha256sum` and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, NamedTuple

from discreet.errors import LedgerCorrupt
from discreet.ledger.facts import Fact, fact_of

__all__ = ["START", "Entry", "Link", "Row", "bind", "chain", "follow"]

Row = tuple[int, str, str, str | None]  # seq, body, hash, name: a row of the table
FIELDS = {"seq", "previous", "time"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_text = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class Link(NamedTuple):
    """The end of a chain: the number and hash of its last entry."""

    seq: int
    hash: str


START = Link(0, "0" * 64)


class Entry(NamedTuple):
    """One line of the ledger."""

    seq: int
    previous: str
    time: str
    fact: Fact
    body: str
    hash: str

    @property
    def link(self) -> Link:
        """The end of the chain up to here."""
        return Link(self.seq, self.hash)

    @property
    def shown(self) -> Entry:
        """The entry for readers of a history: the fingerprint of the data in a charge of format 1 is left out."""
        fact = self.fact.shown
        if fact is self.fact:
            return self
        said = json.loads(self.body) | {fact.WORD: vars(fact)}
        return self._replace(fact=fact, body=_text(said))

    @property
    def row(self) -> Row:
        """The entry as a row of the table."""
        return (self.seq, self.body, self.hash, self.fact.name)


def chain(last: Link, fact: Fact, time: str) -> Entry:
    """Return the entry that states `fact` after `last`."""
    seq, previous = last.seq + 1, last.hash
    body = _text({"seq": seq, "previous": previous, "time": time, fact.WORD: vars(fact)})
    return Entry(seq, previous, time, fact, body, _digest(body))


def follow(last: Link, row: Row) -> Entry:
    """Return the entry in `row`, which must come right after `last`; else LedgerCorrupt names it."""
    seq, body, digest, name = row
    if seq != last.seq + 1:
        raise LedgerCorrupt(f"entry {last.seq + 1} is missing: the next one is numbered {seq}.")
    if type(body) is not str or type(digest) is not str or _digest(body) != digest:
        raise LedgerCorrupt(f"entry {seq} was changed: its text does not have its hash.")
    try:
        said = json.loads(body)
        (word,) = said.keys() - FIELDS
        if not TIME.fullmatch(said["time"]):
            raise ValueError("no time")
        entry = Entry(said["seq"], said["previous"], said["time"], fact_of(word, said[word]), body, digest)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as problem:
        raise LedgerCorrupt(f"entry {seq} cannot be read by this version of discreet.") from problem
    if entry.seq != seq or entry.previous != last.hash:
        raise LedgerCorrupt(f"entry {seq} does not follow entry {last.seq}: one of them was replaced or moved.")
    if entry.fact.name != name:
        raise LedgerCorrupt(f"entry {seq} is filed under a name that is not its own.")
    return entry


def bind(last: Link, row: Row) -> Link:
    """Return the link after `last`, checking only the row's place and hash; else LedgerCorrupt names it.

    Promise  rows that are bound one after the other, up to a link that is known, are the ones that were chained: none
             can have been replaced.
    Because  the text of a row is fixed by its hash, and names the hash before it once: inside a text of JSON each
             quotation mark has a backslash before it, so `":"` stands between a name and its value alone.
    """
    seq, body, digest, _ = row
    if seq != last.seq + 1:
        raise LedgerCorrupt(f"entry {last.seq + 1} is missing: the next one is numbered {seq}.")
    if type(body) is not str or _digest(body) != digest or f'"previous":"{last.hash}"' not in body:
        raise LedgerCorrupt(f"entry {seq} was changed, or does not follow entry {last.seq}.")
    return Link(seq, digest)


def _digest(body: Any) -> str:
    return hashlib.sha256(body.encode("utf-8", "surrogateescape")).hexdigest()
