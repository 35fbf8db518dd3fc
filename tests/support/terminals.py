"""Terminals: one that only says that it is, and a real one with somebody at it."""

from __future__ import annotations

import io
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SPAWN = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
COMMAND = [sys.executable, "-m", "discreet.cli"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


STOPS = ["\x03", "\x04"]


def converse(folder: Path, words: Sequence[object], answers: Sequence[str]) -> tuple[int, str]:
    """Run a command on a terminal of its own; give each answer when it is asked for."""
    said, left = b"", iter(answers)
    with subprocess.Popen(
        [sys.executable, "-c", SPAWN, *COMMAND, *map(str, words)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONUTF8": "1", "TERM": "dumb"},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answer: str | None = None
        while True:
            if not select.select([process.stdout], [], [], 5)[0]:  # a key that came between two modes of a terminal
                if answer in STOPS:  # is lost, and a person would press it again
                    process.stdin.write(answer.encode())
                    process.stdin.flush()
                continue
            if not (piece := os.read(process.stdout.fileno(), 65536)):
                break
            said += piece
            if said.endswith(b"]: ") and (answer := next(left, None)) is not None:
                process.stdin.write(answer.encode())
                process.stdin.flush()
    return process.returncode, said.decode().replace("\r", "")
