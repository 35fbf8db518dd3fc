"""What `test_cli.py` and others share."""

from __future__ import annotations

import os
import subprocess
import sys


def run(*words: object, status: int = 0, **environment: str) -> str:
    """What a command prints, on the stream that belongs to its status."""
    done = subprocess.run(
        [sys.executable, "-m", "discreet.cli", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONUTF8": "1"} | environment,
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert not (done.stdout if status else done.stderr)
    return done.stderr if status else done.stdout
