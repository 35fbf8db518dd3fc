"""A disk that fails when told to, under the real SQLite: its own file methods, wrapped.

`install` puts itself between SQLite's default file system and its callers in this process. Then every write, sync and
truncation is counted, the chosen ones fail with the error code of a real disk, and with `mirror` whatever has been
synced, and nothing else, is copied aside: what a power failure would leave.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path
from typing import Any

IOERR_WRITE, IOERR_FSYNC, IOERR_TRUNCATE, FULL = 778, 1034, 1546, 13

P, N = ctypes.c_void_p, ctypes.c_int
L = ctypes.c_int64
WRITE = ctypes.CFUNCTYPE(N, P, P, N, L)
SYNC = ctypes.CFUNCTYPE(N, P, N)
TRUNCATE = ctypes.CFUNCTYPE(N, P, L)
OPEN = ctypes.CFUNCTYPE(N, P, P, P, N, P)


class Methods(ctypes.Structure):
    """sqlite3_io_methods"""

    _fields_ = (
        ("version", N),
        *((name, P) for name in ("close", "read")),
        ("write", P),
        ("truncate", P),
        ("sync", P),
        *((f"rest{i}", P) for i in range(13)),
    )


class VFS(ctypes.Structure):
    """The first fields of sqlite3_vfs"""

    _fields_ = (
        ("version", N),
        ("size", N),
        ("path", N),
        ("next", P),
        ("name", ctypes.c_char_p),
        ("data", P),
        ("open", P),
    )


class Disk:
    """Counts what reaches the disk, and fails the operations it was told to."""

    def __init__(self) -> None:
        self.count = 0
        self.fail_at = -1  # the first operation that fails
        self.forever = False  # and all after it
        self.full = False  # by a full disk instead of a broken one
        self.mirror: Path | None = None
        self.names: dict[int, str] = {}
        self._alive: list[Any] = []  # what C still points at

    def fails(self) -> bool:
        now = self.count
        self.count += 1
        return self.fail_at >= 0 and (now == self.fail_at or (self.forever and now > self.fail_at))

    def reset(self, fail_at: int = -1, *, forever: bool = False, full: bool = False) -> None:
        self.count, self.fail_at, self.forever, self.full = 0, fail_at, forever, full

    def install(self) -> None:
        find = _library().sqlite3_vfs_find
        find.restype, find.argtypes = P, (ctypes.c_char_p,)
        vfs = VFS.from_address(find(None))
        plain = OPEN(vfs.open)
        tables: dict[int, Methods] = {}

        def opened(this: int, name: int | None, file: int, flags: int, out: int) -> int:
            code: int = plain(this, name, file, flags, out)
            methods = P.from_address(file)
            if code == 0 and methods.value:
                if methods.value not in tables:
                    tables[methods.value] = self._wrap(Methods.from_address(methods.value))
                methods.value = ctypes.addressof(tables[methods.value])
                self.names[file] = os.fsdecode(ctypes.string_at(name)) if name else ""
            return code

        hook = OPEN(opened)
        self._alive += [hook, tables, plain]
        vfs.open = ctypes.cast(hook, P).value

    def _wrap(self, methods: Methods) -> Methods:
        table = Methods.from_buffer_copy(methods)
        write, sync, truncate = WRITE(methods.write), SYNC(methods.sync), TRUNCATE(methods.truncate)

        def on_write(file: int, data: int, size: int, at: int) -> int:
            return (FULL if self.full else IOERR_WRITE) if self.fails() else write(file, data, size, at)

        def on_sync(file: int, flags: int) -> int:
            if self.fails():
                return IOERR_FSYNC
            code: int = sync(file, flags)
            if self.mirror is not None and code == 0:  # by another process: closing a file here would drop its locks
                subprocess.run(["cp", self.names[file], self.mirror], check=True)
                for copy in self.mirror.iterdir():
                    if not (Path(self.names[file]).parent / copy.name).exists():
                        copy.unlink()  # SQLite syncs the folder after it removes a journal
            return code

        def on_truncate(file: int, size: int) -> int:
            return IOERR_TRUNCATE if self.fails() else truncate(file, size)

        hooks = WRITE(on_write), SYNC(on_sync), TRUNCATE(on_truncate)
        table.write, table.sync, table.truncate = (ctypes.cast(hook, P).value for hook in hooks)
        self._alive += [hooks, write, sync, truncate]
        return table


def _library() -> ctypes.CDLL:
    """The SQLite that this Python uses."""
    import _sqlite3
    import sqlite3

    paths = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "sqlite" in line}
    for path in [*sorted(paths, reverse=True), _sqlite3.__file__]:
        library = ctypes.CDLL(path)
        if hasattr(library, "sqlite3_vfs_find"):
            library.sqlite3_libversion.restype = ctypes.c_char_p
            assert library.sqlite3_libversion().decode() == sqlite3.sqlite_version
            return library
    raise RuntimeError("the SQLite of this Python cannot be reached")
