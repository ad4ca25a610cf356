"""Runs benches by name and prints their rows.

A module in benches/ has

    ABOUT   one line on what it measures
    NAMES   the names of its benches, if they are not the module's own
    rows(program, threads)  yields dicts; raises Skip where it cannot run. With several NAMES it gets a third argument,
            those that are wanted.

A row has at least "bench", and where there is a bar to meet "bar" and "ok", which says whether it is. A comparison of
times has "ours_s", "peer", "peer_s" and "ratio" (peer_s / ours_s, so above 1 is ours ahead).
"""

import argparse
import importlib
import json
import pathlib
import sys
import time

import common
from common import PROGRAM, Skip

HERE = pathlib.Path(__file__).resolve().parent


def modules():
    """The modules by name."""
    names = sorted(path.stem for path in (HERE / "benches").glob("*.py"))
    return [importlib.import_module(f"benches.{name}") for name in names]


def names_of(module):
    return getattr(module, "NAMES", [module.__name__.split(".")[-1]])


def rows_of(module, args):
    """The rows of the benches of a module that are wanted."""
    wanted = [name for name in names_of(module) if name in args.names or not args.names]
    if not wanted:
        return iter(())
    return module.rows(PROGRAM, args.threads, *([wanted] if len(names_of(module)) > 1 else []))


def shown(value):
    if isinstance(value, bool):
        return "yes" if value else "BELOW THE BAR"
    if isinstance(value, float):
        if 0 < abs(value) < 0.01:
            return f"{value:.1e}"
        return f"{value:.3f}" if abs(value) < 1000 else f"{value:.0f}"
    return "-" if value is None else str(value)


def table(rows):
    """The rows of one bench under the heads they share."""
    heads = list(dict.fromkeys(key for row in rows for key in row))
    cells = [heads] + [[shown(row.get(head)) for head in heads] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(heads))]
    for line in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    print(flush=True)


def complete(row):
    """A comparison of times has all keys in JSON, also where neither side has an objective (rounds of the same numbers)."""
    keys = ("ours_objective", "peer_objective") if "peer_s" in row else ()
    return {**row, **{key: row.get(key) for key in keys}}


def counted(names, rows):
    """The rows, with a line that says how far they have come where somebody watches."""
    began = time.monotonic()
    say = lambda count, end: print(
        f"\r\x1b[Kbench: {', '.join(names)}: {count} rows, {time.monotonic() - began:.0f} s", end=end, file=sys.stderr, flush=True)
    watched, count = sys.stderr.isatty(), 0
    for count, row in enumerate(rows, 1):
        yield row
        if watched:
            say(count, "")
    if watched and count:
        say(count, "\n")


def thread_count(text):
    count = int(text) if text.isdecimal() else 0
    if not 1 <= count <= 1024:
        raise argparse.ArgumentTypeError(f"{text} is not a number of threads: 1 to 1024")
    return count


def main():
    every = modules()
    parser = argparse.ArgumentParser(
        prog="bench/run", description=__doc__.splitlines()[0],
        epilog="Real data (tdt2.npz, lung.csv) are taken from the directory DICTMESH_DATA, or shared/data beside the repository; `dictmesh reproduce documents` says what "
        "they are. Exit code 1: a row is below its bar; 3: a bench that was named could not run.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which benches; all of them by default (an hour or more)")
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument("--out", type=pathlib.Path, default=common.OUT, help="where pictures go (default out)")
    parser.add_argument("--list", action="store_true", help="say which there are")
    parser.add_argument(
        "--threads", type=thread_count, default=1,
        help="those of `documents`, and a further row of benches that have rows for one and two (default 1)",
    )
    args = parser.parse_args()
    common.OUT = args.out
    if args.list:
        for module in every:
            print(f"{', '.join(names_of(module))}: {module.ABOUT}")
        return 0
    known = [name for module in every for name in names_of(module)]
    unknown = [name for name in args.names if name not in known]
    if unknown:
        parser.error(f"no bench named {', '.join(unknown)}; there are {', '.join(known)}")
    missed = skipped = 0
    for module in every:
        rows = []
        try:
            for row in counted(names_of(module), rows_of(module, args)):
                missed += not row.get("ok", True)
                rows.append(row)
                if args.json:
                    print(json.dumps(complete(row)), flush=True)
        except Skip as skip:
            skipped += 1
            print(f"bench: {', '.join(names_of(module))} skipped: {skip}", file=sys.stderr)
        if rows and not args.json:
            table(rows)
    if missed:
        print(f"bench: {missed} rows are below their bar", file=sys.stderr)
        return 1
    return 3 if skipped and args.names else 0


if __name__ == "__main__":
    sys.exit(main())
