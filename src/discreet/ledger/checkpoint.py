"""A checkpoint: the balances of a ledger after some entry, so that opening it folds only the entries since.

    IDENTITY.checkpoint      HMAC-SHA256 in hexadecimal, a line break, and the state as JSON

It lies beside the high-water mark, for its owner alone (0600), and is for speed: nothing is on record there, and it can
be deleted at any time.

Promise  the state of a checkpoint is the one that folding the history of the ledger up to its entry would give.
Because  it is written of a state that was folded from entries on disk, under a key that only the ledger has (see
         `Store.key`), by the number and hash of the last of them; and it is used only where its code is right, and
         the ledger has that entry (see `Journal._resume`). The hash fixes every entry before it. One that is torn,
         damaged, forged, of another fold or another ledger, or ahead of a ledger that was cut off, counts as none, and
         the whole history is folded. One that is older is as good as any: more entries came since.
Given    of those who can read the ledger, and so have its key, only its owner can write to the folder of marks.

Opening does not read the entries before the checkpoint. No balance is computed from them any more, and `Journal.entry`,
which reads one of them later, binds it to the chain. Verifying a ledger folds all of them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from pathlib import Path

from discreet.ledger.balances import FOLD, State
from discreet.ledger.stores.store import OWNER

__all__ = ["read", "write"]


def read(marks: Path, identity: str, key: bytes) -> State | None:
    """Return the state in the checkpoint of the ledger `identity`; None if there is none, or it is not intact."""
    try:
        code, _, text = _path(marks, identity).read_bytes().partition(b"\n")
        if not hmac.compare_digest(code, _code(key, text)):
            return None
        fold, written = json.loads(text)
        return State.read(written) if fold == FOLD else None
    except (OSError, ValueError, TypeError, LookupError):
        return None


def write(marks: Path, state: State, key: bytes) -> None:
    """Replace the checkpoint by one of `state`, atomically. Only one process at a time may do so."""
    text = json.dumps([FOLD, state.written], separators=(",", ":")).encode()
    path = _path(marks, state.identity)
    draft = path.with_name(f".{path.name}")
    draft.unlink(missing_ok=True)  # left by a process that was killed
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER), "wb") as file:
        os.fchmod(file.fileno(), OWNER)  # whatever the umask takes away
        file.write(_code(key, text) + b"\n" + text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


def _path(marks: Path, identity: str) -> Path:
    return marks / f"{identity}.checkpoint"


def _code(key: bytes, text: bytes) -> bytes:
    """Return the HMAC of a checkpoint. The prefix separates it from other uses of the same key."""
    return hmac.new(key, b"checkpoint " + text, hashlib.sha256).hexdigest().encode()
