"""Times two builds of dictmesh-bench against each other: old seconds / new seconds.

The builds run in turn on the work of the benches: same data, same arguments, no peers. The ratio is
that of the fastest run of each build, because other processes only ever add time; above 1 the new
build is faster. Least, median and most are those of the ratios of the pairs.
The atoms of the coding rows are learned by the old build, so that SPAMS is not needed.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
from functools import cache, partial

import common
import tdt2
from benches import coding, documents_speed, learning, mesh_documents, nmf, rounds, threads
from common import Skip

NAMES = [
    "coding", "coding-nonneg", "coding-huber", "learning", "nmf", "documents", "mesh-documents",
    "threads", "mesh-dense", "mesh-sparse",
]
PAIRS, BAR = 9, 0.92
IDLE = 0.5  # the largest load average without a warning
ROUNDS = 10_000  # of mesh-documents, so that a run takes half a second
HEADS = ["bench", "case", "threads", "old", "new", "ratio", "least", "median", "most", ""]
LINE = "{:<15} {:<36} {:>7} {:>10} {:>10} {:>7} {:>7} {:>7} {:>7}  {}"


@cache
def patches():
    return common.patches(30_000, 10)


@cache
def atoms():
    looks, _ = learning.by_us(patches(), learning.first_atoms(patches()), 1)
    return looks[-1]


def jobs(bench):
    """(case, numbers of threads, f) for each row; f(threads) is a result and the seconds."""
    both = (1, 2)
    if bench in coding.NAMES:
        yield "", both, partial(coding.by_us, bench, patches(), atoms())
    elif bench == "learning":
        yield "", both, partial(learning.by_us, patches(), learning.first_atoms(patches()))
    elif bench == "nmf":
        yield "", both, partial(nmf.by_us, nmf.split(nmf.documents())[0])
    elif bench == "documents":
        x = tdt2.documents()
        for case, _, first, flags in documents_speed.CASES:
            yield case, (1,), partial(documents_speed.by_us, x, first, flags)
    elif bench == "mesh-documents":
        given = mesh_documents.arrays()
        for case, constants in mesh_documents.CASES:
            yield case, both, partial(mesh_documents.by_us, given, constants, more=ROUNDS)
    elif bench == "threads":
        for case, job in threads.jobs(patches(), atoms()):
            yield case, both, partial(threads.by_us, job)
    else:
        for case in rounds.CASES:
            if case[0] == bench:
                graph = f"p = {case[3]:g}" if case[3] else "ring"
                yield f"{case[1]:,} agents, {graph}", both, partial(rounds.by_us, case)


def timed(program, run, count):
    """The seconds of a run of this build; where they accumulate, those of the whole run."""
    common.KERNEL = program
    _, seconds = run(count)
    return None, seconds[-1] if isinstance(seconds, list) else seconds


def rows(args, bench):
    common.KERNEL = args.old  # learns the atoms
    for case, counts, run in jobs(bench):
        if args.threads not in (None, *counts):
            raise Skip(f"it has no rows with {args.threads} threads")
        for count in [n for n in counts if args.threads in (None, n)]:
            sides = [partial(timed, program, run, count) for program in (args.old, args.new)]
            (_, old), (_, new) = common.in_turn(args.repeats, *sides)
            ratios = [o / n for o, n in zip(old, new)]
            ratio = min(old) / min(new)
            yield {
                "bench": bench, "case": case, "threads": count, "old_s": min(old),
                "new_s": min(new), "ratio": ratio, "least": min(ratios),
                "median": statistics.median(ratios), "most": max(ratios), "pairs": args.repeats, "bar": args.bar,
                "ok": ratio >= args.bar,
            }


def build(text):
    path = pathlib.Path(text)
    path = path / "target" / "release" / "dictmesh-bench" if path.is_dir() else path
    if not (path.is_file() and os.access(path, os.X_OK)):
        build_it = "build it with cargo build --release -p dictmesh-bench"
        raise argparse.ArgumentTypeError(f"no program {path}; {build_it}")
    return path.resolve()


def line(*cells):
    print(LINE.format(*cells).rstrip(), flush=True)


def show(row):
    old, new = row["old_s"], row["new_s"]
    per_second, unit = (1, "s") if old >= 1 else (1e3, "ms") if old >= 1e-3 else (1e6, "us")
    line(
        row["bench"], row["case"], row["threads"],
        *[f"{per_second * seconds:.3g} {unit}" for seconds in (old, new)],
        *[f"{row[key]:.3f}" for key in ("ratio", "least", "median", "most")],
        "" if row["ok"] else "BELOW THE BAR",
    )


def arguments():
    parser = argparse.ArgumentParser(
        prog="bench/compare", description=__doc__.splitlines()[0],
        epilog="Both builds must accept the arguments of this checkout's benches. Exit code 1: a "
        "row is below the bar; 2: wrong usage, or a build failed; 3: a bench that was named could "
        "not run, for instance because its data are missing (see bench/run --help).",
    )
    add = parser.add_argument
    about = "a checkout with target/release/dictmesh-bench, or such a program"
    add("old", type=build, metavar="OLD", help=about)
    add("new", type=build, metavar="NEW", help=about)
    known = ", ".join(NAMES)
    add("names", nargs="*", metavar="NAME", help=f"of {known}; all of them by default")
    add("--repeats", type=int, default=PAIRS, help=f"pairs of runs (default {PAIRS})")
    add("--threads", type=int, choices=(1, 2), help="only rows with this number of threads")
    add("--bar", type=float, default=BAR, help=f"the least ratio (default {BAR})")
    add("--json", action="store_true", help="one JSON object a row")
    args = parser.parse_intermixed_args()  # NAME may follow options
    unknown = [name for name in args.names if name not in NAMES]
    if unknown:
        parser.error(f"no bench named {', '.join(unknown)}; there are {known}")
    if args.repeats < 1:
        parser.error(f"--repeats {args.repeats}: at least 1 pair is needed")
    return args


def main():
    args = arguments()
    below = broken = skipped = 0
    load = os.getloadavg()[0]
    if load > IDLE:
        text = f"load average {load:.1f}: other processes distort the ratios"
        print(f"compare: {text}", file=sys.stderr)
    if not args.json:
        line(*HEADS)
    for bench in [name for name in NAMES if name in args.names or not args.names]:
        try:
            for row in rows(args, bench):
                below += not row["ok"]
                print(json.dumps(row), flush=True) if args.json else show(row)
        except Skip as skip:
            skipped += 1
            print(f"compare: {bench} skipped: {skip}", file=sys.stderr)
        except RuntimeError as error:
            broken += 1
            which = "old" if common.KERNEL == args.old else "new"
            print(f"compare: {bench}: the {which} build failed: {error}", file=sys.stderr)
    if below:
        print(f"compare: {below} rows are below {args.bar:g}", file=sys.stderr)
    return 2 if broken else 1 if below else 3 if skipped and args.names else 0


if __name__ == "__main__":
    sys.exit(main())
