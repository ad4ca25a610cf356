"""The program ``dictmesh`` that comes with the package."""

from __future__ import annotations

import signal
import sys

from . import _core

__all__ = ["main"]


def main() -> int:
    """Run the program ``dictmesh`` with the arguments of this process, and return its exit code."""
    # Python's handler only notes Ctrl-C, which nothing would read while the program runs.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.main(["dictmesh", *sys.argv[1:]], [sys.executable, "-m", "dictmesh"])
