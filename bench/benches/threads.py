"""Two threads against one: codes, learning and rounds of a dense mesh, as in the benches of these names."""

from benches import coding, learning, rounds
from common import interleaved, kernel, patches

ABOUT = "two threads against one on coding, learning and mesh-dense"

REPEATS, MUST = 15, 1.7
# All samples are coded and learned so often, so that a job takes two seconds of one thread: a CPU that was idle may
# be slow to come back.
TIMES = 5


def jobs(x, atoms):
    """Name -> what `dictmesh-bench` is called with, for patches and atoms to code them with."""
    start = learning.first_atoms(x)
    constants = ["--gamma", coding.GAMMA, "--delta", coding.DELTA]
    name, agents, atoms_each, p, count, _ = rounds.CASES[0]
    yield "coding", ("coding", {"samples": x, "atoms": atoms}, *constants, "--repeats", TIMES)
    yield "learning", (
        "learning", {"samples": x, "atoms": start}, *constants, "--batch", learning.BATCH,
        "--forgetting", learning.FORGETTING, "--every", len(x), "--passes", TIMES,
    )
    yield name, (
        "rounds", {}, "--agents", agents, "--atoms", atoms_each, "--rows", rounds.ROWS, "--samples", rounds.SAMPLES,
        "--p", p, "--rounds", count,
    )


def by_us(job, threads):
    """Nothing, and the seconds of a job."""
    part, *rest = job
    seconds = kernel(threads, part, *rest)[0]["seconds"]
    return None, seconds[-1] if isinstance(seconds, list) else seconds


def rows(program, threads):
    x = patches(30_000, 10)
    for name, job in jobs(x, coding.learned(x)):
        sides = [lambda count=count: by_us(job, count) for count in (2, 1)]
        (_, two), (_, one) = interleaved(REPEATS, *sides)
        yield {
            "bench": "threads", "job": name, "ours_s": two, "peer": "one thread", "peer_s": one, "ratio": one / two,
            "bar": MUST, "ok": bool(one >= MUST * two),
        }
