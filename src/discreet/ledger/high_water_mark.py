"""The high-water mark: how far this machine has seen a ledger grow, kept outside the ledger.

A hash chain shows what was changed inside. It cannot show that its end was cut off, that an old copy was put back, or
that the file was deleted and begun anew: each would give budget back. So every machine that charges remembers the last
entry it saw, in a folder of its own, and refuses a ledger that ends earlier or says something else there.

A mark is a small file: two slots, used in turn, each with its own checksum, so that a torn write leaves the other. It
is written at every charge and forced to disk about once a second; being behind is safe, it is a lower bound.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import Broken, LedgerCorrupt, NotUnderstood
from discreet.ledger.entry import START, Link
from discreet.ledger.stores.store import OWNER, Store

__all__ = ["Mark", "folder"]

SLOT, HEADER = 512, 1024  # bytes of a slot; where the list of places begins
SECOND = 1.0


def folder(chosen: str | os.PathLike[str] | None) -> Path:
    """The folder of marks: the one chosen, $DISCREET_MARKS, or the user's state folder."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    if not isinstance(chosen, (str, os.PathLike, type(None))):
        raise NotUnderstood("marks is a folder.", instead='for example marks="/var/lib/discreet"')
    path = Path(chosen or os.environ.get("DISCREET_MARKS") or Path(state) / "discreet")
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise NotUnderstood(f"{path} is in nobody's home.", instead="name another folder with marks=…") from None


class Mark:
    """What this machine remembers of one ledger."""

    def __init__(self, marks: Path, store: Store) -> None:
        self.marks, self._store = marks, store
        self._descriptor: int | None = None
        self._forced = 0.0
        self._path, self._settled = marks, False  # the file, and whether it has this place
        self._slots, self._places = b"", (-1, -1)

    def stranger(self, identity: str | None) -> LedgerCorrupt | None:
        """What to say if this machine has charged to another ledger at this place: somebody began anew."""
        for path in sorted(self.marks.glob("*.mark")):
            if path.stem != identity and self._store.place in _places(path):
                return LedgerCorrupt(
                    f"entry 1 is not the one this machine saw: the ledger at {self._store.where} was deleted or"
                    f" replaced, and what was spent would be forgotten. Put the old one back; if this is meant,"
                    f" remove {path}."
                )
        return None

    def seen(self, identity: str) -> Link:
        """The last entry that this machine saw of the ledger with this identity."""
        path = self.marks / f"{identity}.mark"
        try:
            with path.open("rb") as file:
                last = _last(file.read(HEADER))
        except FileNotFoundError:
            return START
        if last is None:
            raise LedgerCorrupt(
                f"the mark {path} is damaged, so nobody can say at which entry the ledger ended. Put it back from a"
                " copy; if you know that this is the newest ledger, remove the mark."
            )
        return last

    @contextmanager
    def held(self, identity: str) -> Iterator[None]:
        """Nobody else on this machine goes on with a ledger of this identity meanwhile, wherever it lies."""
        if self._descriptor is None:
            self._path, self._settled = self.marks / f"{identity}.mark", False
            self._descriptor = self._open()
        descriptor = self._descriptor
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def raise_to(self, link: Link) -> None:
        """Remember this entry, in the place of the older of the two, unless a later one is known. It must be held."""
        assert self._descriptor is not None
        if not self._settled:
            self._settle(self._descriptor)
            self._settled = True
        slots = os.pread(self._descriptor, 2 * SLOT, 0)
        if slots != self._slots:  # somebody else wrote since
            self._slots, self._places = slots, (_seq(slots[:SLOT]), _seq(slots[SLOT:]))
        first, second = self._places
        if link.seq > max(first, second):
            os.pwrite(self._descriptor, slot := _slot(link), 0 if first <= second else SLOT)
            self._places = (link.seq, second) if first <= second else (first, link.seq)
            self._slots = slot + slots[SLOT:] if first <= second else slots[:SLOT].ljust(SLOT, b"\0") + slot
        if time.monotonic() - self._forced > SECOND:
            os.fsync(self._descriptor)
            self._forced = time.monotonic()

    def _open(self) -> int:
        """Open the file, or make it."""
        try:
            if not self.marks.exists():
                self.marks.mkdir(mode=0o700, parents=True, exist_ok=True)
                self.marks.chmod(0o700)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, OWNER)
            if os.fstat(descriptor).st_mode & 0o777 != OWNER:  # whatever the umask says, or an earlier owner did
                os.fchmod(descriptor, OWNER)
        except OSError as problem:
            raise Broken(
                f"the folder {self.marks}, where this machine keeps its marks, cannot be written: name another with"
                " marks=… or $DISCREET_MARKS."
            ) from problem
        return descriptor

    def _settle(self, descriptor: int) -> None:
        """Add the place to those where this ledger was charged."""
        if self._store.place not in _places(self._path):
            end = max(HEADER, os.fstat(descriptor).st_size)
            os.pwrite(descriptor, json.dumps(self._store.place).encode() + b"\n", end)

    def close(self) -> None:
        """Force it to disk and let go."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.fsync(descriptor)
            os.close(descriptor)


def _slot(link: Link) -> bytes:
    text = f"{link.seq} {link.hash}"
    return f"{text} {hashlib.sha256(text.encode()).hexdigest()}".encode().ljust(SLOT)


def _seq(slot: bytes) -> int:
    """The number in a slot; below every number when it holds none."""
    seq = slot.partition(b" ")[0]
    return int(seq) if seq.isdigit() else -1


def _last(slots: bytes) -> Link | None:
    """The later of the slots that are whole, if any; the start of every chain when nothing was written yet."""
    found = [] if slots.strip(b"\0") else [START]
    for slot in (slots[:SLOT], slots[SLOT : 2 * SLOT]):
        seq, _, rest = slot.rstrip(b" \0").partition(b" ")
        digest = rest.partition(b" ")[0]
        if seq.isdigit() and _slot(link := Link(int(seq), digest.decode("ascii", "replace"))) == slot:
            found.append(link)
    return max(found, default=None)


def _places(path: Path) -> list[str]:
    """Where a ledger was charged, a line each."""
    found = []
    with path.open("rb") as file:
        file.seek(HEADER)
        for line in file:
            with suppress(ValueError):
                found.append(json.loads(line))
    return found
