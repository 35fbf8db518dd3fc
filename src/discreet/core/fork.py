"""Connections that a forked process inherits and must not close."""

from __future__ import annotations

import ctypes

__all__ = ["abandon"]


def abandon(connection: object) -> None:
    """Keep an inherited connection from being closed: DuckDB would wait for threads that stayed in the parent."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
