"""The high-water mark: how far this machine has seen a ledger grow, kept outside the ledger.

A hash chain shows what was changed inside. It cannot show that its end was cut off, that an old copy was put back, or
that the file was deleted and begun anew: each would give budget back. So every machine that charges remembers the last
entry it saw, in a folder of its own, and refuses a ledger that ends earlier or says something else there.

    IDENTITY.mark            the last entry of the ledger with this identity, wherever it lies
    DIGEST-IDENTITY.place    this ledger was charged at the place with this digest; only the file's name matters
    IDENTITY.checkpoint      the balances of the ledger after some entry, for speed; see `checkpoint`

A mark is a small file: two slots, used in turn, each with its own checksum, so that a torn write leaves the other. It
is made whole, and without a slot that is whole it is damaged, never taken for new. It is written at every charge and
forced to disk about once a second; being behind is safe, it is a lower bound. A place can be forgotten (by removing its
file) where another ledger is to begin there; the mark of the ledger that was there stays, as that may live elsewhere.
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

__all__ = ["Damaged", "Mark", "folder"]

SLOT, HEADER = 512, 1024  # bytes of a slot, and of both; marks of 0.1.0 have a list of places after them
SECOND = 1.0
TIMES = 100  # attempts to lock a mark that is being replaced


def folder(chosen: str | os.PathLike[str] | None) -> Path:
    """Return the folder of marks: the one chosen, $DISCREET_MARKS, or the user's state folder."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    if not isinstance(chosen, (str, os.PathLike, type(None))):
        raise NotUnderstood(
            "marks is a folder.", code="wrong-argument", instead='for example marks="/var/lib/discreet"'
        )
    path = Path(chosen or os.environ.get("DISCREET_MARKS") or Path(state) / "discreet")
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise NotUnderstood(
            f"{path} is in nobody's home.", code="wrong-argument", instead="name another folder with marks=…"
        ) from None


class Damaged(LedgerCorrupt):
    """A mark that exists and cannot be believed."""


class Mark:
    """The high-water mark of one ledger on this machine."""

    def __init__(self, marks: Path, store: Store) -> None:
        self.marks, self._store = marks, store
        self._descriptor: int | None = None
        self._path = marks
        self._forced = 0.0
        self._slots, self._links = b"", list[Link]()  # the bytes last read from the file, and their entries

    # ── the ledger that was charged at a place ───────────────────────────────────────────────────────────────

    def stranger(self, identity: str | None) -> LedgerCorrupt | None:
        """Return the error to raise if this machine has charged another ledger at this place; None if not."""
        others = sorted(self._noted() - {identity})
        if not others:
            return None
        ledgers = " and ".join(f"ledger {each}{self._details(each)}" for each in others)
        files = " and ".join(str(self._place_of(self._store.place, each)) for each in others)
        return LedgerCorrupt(
            f"entry 1 is not the one this machine saw: the ledger at {self._store.where} was deleted or replaced, and"
            f" what was spent would be forgotten. This machine charged {ledgers} there. Put it back; if another one is"
            f" meant to be there, remove {files}: what is known of the ledger itself stays."
        )

    def _place_of(self, place: str, identity: str) -> Path:
        """Return the file that records that a ledger was charged at a place."""
        return self.marks / f"{_digest(place)}-{identity}.place"

    def _noted(self) -> set[str]:
        """Return the ledgers that this machine charged at this place. Only the names of files are read."""
        place = self._store.place
        if not place:
            return set()
        named = {name[33:-6] for name in self._names(".place") if name.startswith(f"{_digest(place)}-")}
        return named or self._inherited()

    def _names(self, end: str) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.marks) if name.endswith(end) and not name.startswith("."))
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise Broken(
                f"the folder {self.marks}, where this machine keeps its marks, cannot be read ({_reason(problem)}): let"
                " this user read it, or name another with marks=… or $DISCREET_MARKS."
            ) from problem

    def _inherited(self) -> set[str]:
        """Return the ledgers at this place by marks of 0.1.0, which list their places inside; give each a file."""
        found = set()
        for path in (self.marks / name for name in self._names(".mark")):
            try:
                if not path.is_file() or path.stat().st_size <= HEADER:
                    continue
                places = _places(path)
            except FileNotFoundError:
                continue
            except OSError as problem:
                raise Broken(
                    f"the mark {path} cannot be read ({_reason(problem)}), and may be of a ledger that was at"
                    f" {self._store.where}: make it readable for this user, or name another folder with marks=… or"
                    " $DISCREET_MARKS."
                ) from problem
            found |= {path.stem} if self._store.place in places else set()
            with suppress(OSError):
                self._hand_over(path, places)
        return found

    def _hand_over(self, path: Path, places: list[str]) -> None:
        """Give each place of an old mark a file of its own, and truncate the mark after its slots."""
        for place in places:
            _write(self._place_of(place, path.stem), json.dumps(place).encode())
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.ftruncate(descriptor, HEADER)
        finally:
            os.close(descriptor)

    def _details(self, identity: str) -> str:
        """Return what else is known of a ledger, as far as it can be read, for a message."""
        said, elsewhere = [], []
        with suppress(Broken):
            said.append(f"last seen at entry {self.seen(identity).seq}")
        for name in self._names(f"-{identity}.place"):
            with suppress(OSError, ValueError):
                place = json.loads((self.marks / name).read_bytes())
                elsewhere += [str(place)] if place != self._store.place else []
        said += [f"charged also at {', '.join(elsewhere)}"] if elsewhere else []
        return f" ({'; '.join(said)})" if said else ""

    def _settle(self, identity: str) -> None:
        """Record that this ledger is charged at this place."""
        place = self._store.place
        path = self._place_of(place, identity)
        if not place or path.exists():
            return
        try:
            _write(path, json.dumps(place).encode())
        except OSError as problem:
            raise self._unwritable(path, problem) from problem

    # ── the last entry of a ledger ───────────────────────────────────────────────────────────────────────────

    def seen(self, identity: str) -> Link:
        """Return the last entry that this machine saw of the ledger with this identity."""
        path = self.marks / f"{identity}.mark"
        try:
            with path.open("rb") as file:
                return self._last(file.read(HEADER), path)
        except FileNotFoundError:
            if not path.is_symlink():
                return START
            raise Broken(f"the mark {path} is a link to a file that is not there: put that back.") from None
        except OSError as problem:
            raise Broken(
                f"the mark {path} of the ledger at {self._store.where} cannot be read ({_reason(problem)}): make it"
                " readable for this user."
            ) from problem

    @contextmanager
    def held(self, identity: str) -> Iterator[None]:
        """Lock the mark: no other process of this machine writes to a ledger of this identity meanwhile.

        Promise  the file that is held is the one that a later opening of the ledger reads.
        Because  it is compared with the file at its path after the lock was taken, and again after it was raised.
        """
        self._path = self.marks / f"{identity}.mark"
        try:
            self._grasp()
            yield
        finally:
            if self._descriptor is not None:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def raise_to(self, link: Link) -> None:
        """Remember `link`, in place of the older of the two slots. The mark must be held.

        Promise  when it returns, the file at the path of the mark says this entry, also where the mark was removed or
                 replaced since it was taken hold of.
        """
        for _ in range(TIMES):
            self._write_slot(link)
            self._settle(self._path.stem)
            if self._in_place():
                break
            self._grasp()
        else:
            raise self._unsteady()
        if time.monotonic() - self._forced > SECOND:
            assert self._descriptor is not None
            os.fsync(self._descriptor)
            self._forced = time.monotonic()

    def lower_to(self, link: Link) -> None:
        """Remember `link` and no later entry: the owner accepted a loss, on record. The mark must be held."""
        assert self._descriptor is not None
        os.pwrite(self._descriptor, _slot(link) * 2, 0)
        self._settle(self._path.stem)
        os.fsync(self._descriptor)
        if not self._in_place():
            raise self._unsteady()

    def _write_slot(self, link: Link) -> None:
        """Write an entry over the older slot; raise LedgerCorrupt if the mark has a later or a different one."""
        assert self._descriptor is not None
        slots = os.pread(self._descriptor, HEADER, 0)
        last = self._last(slots, self._path)
        if last == link:
            return
        if last.seq >= link.seq:
            raise LedgerCorrupt(
                f"entry {last.seq} is not the one this machine saw: another copy of this ledger went on. Put the newest"
                " one back, and use no other."
            )
        first, second = _links(slots)
        older = 0 if first is None or (second is not None and first < second) else SLOT
        os.pwrite(self._descriptor, _slot(link), older)

    def _last(self, slots: bytes, path: Path) -> Link:
        """Return the later of the intact slots; raise Damaged if there is none. Every reading of a mark comes here."""
        if slots != self._slots or not self._links:
            self._slots, self._links = slots, [link for link in _links(slots) if link is not None]
        if not self._links:
            raise Damaged(
                f"the mark {path} is damaged, so nobody can say at which entry the ledger at {self._store.where} ended."
                " If you know that this is the newest ledger, put the mark back from a copy; if not, or if there is"
                " none, its owner can take the loss: discreet ledger CATALOGUE --accept-loss"
            )
        return max(self._links)

    # ── the file ─────────────────────────────────────────────────────────────────────────────────────────────

    def _grasp(self) -> None:
        """Lock the file at the path of the mark, made where there is none."""
        for _ in range(TIMES):
            if self._descriptor is None or not self._in_place():
                self._release()
                self._descriptor = self._open()
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            if self._in_place():
                return
        raise self._unsteady()

    def _in_place(self) -> bool:
        """Return True if the open file is the one at the path."""
        assert self._descriptor is not None
        try:
            there = os.stat(self._path)
        except OSError:
            return False
        return os.path.samestat(os.fstat(self._descriptor), there)

    def _unsteady(self) -> Broken:
        return Broken(f"the mark {self._path} is removed or replaced again and again: leave it alone while it is used.")

    def _open(self) -> int:
        """Open the file, or make it."""
        try:
            if not self.marks.exists():
                self.marks.mkdir(mode=0o700, parents=True, exist_ok=True)
                self.marks.chmod(0o700)
            if not os.path.lexists(self._path):
                _make(self._path)
            descriptor = os.open(self._path, os.O_RDWR)
            if os.fstat(descriptor).st_mode & 0o777 != OWNER:  # whatever an earlier owner did
                os.fchmod(descriptor, OWNER)
        except OSError as problem:
            raise self._unwritable(self._path, problem) from problem
        return descriptor

    def _unwritable(self, path: Path, problem: OSError) -> Broken:
        return Broken(
            f"the folder {self.marks}, where this machine keeps its marks, cannot be written ({path.name}:"
            f" {_reason(problem)}): let this user write there, or name another with marks=… or $DISCREET_MARKS."
        )

    def _release(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        """Force the mark to disk and close it."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.fsync(self._descriptor)
        self._release()


# ── content of the files ────────────────────────────────────────────────────────────────────────────────────────


def _slot(link: Link) -> bytes:
    text = f"{link.seq} {link.hash}"
    return f"{text} {hashlib.sha256(text.encode()).hexdigest()}".encode().ljust(SLOT)


def _links(slots: bytes) -> tuple[Link | None, Link | None]:
    """Return the entries of the two slots; None for a slot that is not intact."""
    first, second = (_link(slots[start : start + SLOT]) for start in (0, SLOT))
    return first, second


def _link(slot: bytes) -> Link | None:
    seq, _, rest = slot.partition(b" ")
    digest = rest.partition(b" ")[0].decode("ascii", "replace")
    if not (seq.isdigit() and len(seq) < 20):
        return None
    link = Link(int(seq), digest)
    return link if _slot(link) == slot else None


def _digest(place: str) -> str:
    return hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _places(path: Path) -> list[str]:
    """Return where a ledger was charged, by a mark of 0.1.0, which has a line for each place."""
    found = []
    with path.open("rb") as file:
        file.seek(HEADER)
        for line in file:
            with suppress(ValueError):
                place = json.loads(line)
                found += [place] if isinstance(place, str) else []
    return found


def _make(path: Path) -> None:
    """Make a mark that has seen nothing, atomically; one that another process made meanwhile stays."""
    made = _draft(path, _slot(START) * 2)
    try:
        os.link(made, path)
    except FileExistsError:
        pass
    except OSError:  # there are no links on this disk
        with suppress(FileExistsError):
            _fill(path, _slot(START) * 2)
    finally:
        made.unlink()
    _sync(path.parent)


def _write(path: Path, content: bytes) -> None:
    """Write a file with this content, atomically."""
    made = _draft(path, content)
    try:
        os.replace(made, path)
    except OSError:
        made.unlink()
        raise
    _sync(path.parent)


def _draft(path: Path, content: bytes) -> Path:
    """Write the content to disk under another name, for its owner alone; return the path."""
    made = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    _fill(made, content)
    return made


def _fill(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER)
    try:
        os.fchmod(descriptor, OWNER)  # whatever the umask takes away
        os.write(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(problem: OSError) -> str:
    return problem.strerror or type(problem).__name__
