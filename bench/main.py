"""Runs benches by name and prints their rows.

A bench is a module in benches/ with

    ABOUT   one line on what it measures
    LONG    whether it is left out unless named (optional)
    rows(program, threads)  yields dicts; raises Skip where it cannot run

A row has at least "bench", "ours" and "bar", and "ok", which says whether the bar is met. A comparison of
times has "ours_s", "peer", "peer_s" and "ratio" (peer_s / ours_s, so above 1 is ours ahead).
"""

import argparse
import importlib
import json
import pathlib
import sys

import common
from common import PROGRAM, Skip

HERE = pathlib.Path(__file__).resolve().parent


def benches():
    """Name -> module, by name."""
    names = sorted(path.stem for path in (HERE / "benches").glob("*.py"))
    return {name: importlib.import_module(f"benches.{name}") for name in names}


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


def main():
    known = benches()
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="which benches; all short ones by default")
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument("--list", action="store_true", help="say which there are")
    parser.add_argument("--out", type=pathlib.Path, default=common.OUT, help="where pictures go (default out)")
    parser.add_argument("--threads", type=int, default=1, help="for both sides (default 1)")
    args = parser.parse_args()
    common.OUT = args.out
    if args.list:
        for name, bench in known.items():
            print(f"{name:<12}{bench.ABOUT}{' (only when named)' if getattr(bench, 'LONG', False) else ''}")
        return 0
    unknown = [name for name in args.names if name not in known]
    if unknown:
        parser.error(f"no bench named {', '.join(unknown)}; there are {', '.join(known)}")
    missed = 0
    for name, bench in known.items():
        if args.names and name not in args.names or not args.names and getattr(bench, "LONG", False):
            continue
        rows = []
        try:
            for row in bench.rows(PROGRAM, args.threads):
                missed += not row.get("ok", True)
                rows.append(row)
                if args.json:
                    print(json.dumps(row), flush=True)
        except Skip as skip:
            print(f"bench: {name} skipped: {skip}", file=sys.stderr)
        if rows and not args.json:
            table(rows)
    if missed:
        print(f"bench: {missed} rows are below their bar", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
