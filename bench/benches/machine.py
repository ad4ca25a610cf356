"""What this machine can do at best, to hold the other benches against: the rate of a large matrix product, and the speed
of its memory, both by numpy, with one and with two threads."""

import threading
import time

import numpy as np

from benches.rounds import dgemm_rate
from common import interleaved

ABOUT = "the machine's own limits: rate of products, speed of memory"

BYTES, REPEATS = 1 << 28, 5


def copy_speed(threads):
    """Bytes a second that are read and written by copies, one array a thread."""
    pairs = [(np.ones(BYTES // 8 // threads), np.zeros(BYTES // 8 // threads)) for _ in range(threads)]

    def run():
        workers = [threading.Thread(target=np.copyto, args=(to, source)) for source, to in pairs]
        began = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return None, time.perf_counter() - began

    run()
    ((_, seconds),) = interleaved(REPEATS, run)
    return 2 * BYTES / seconds


def rows(program, threads):
    for count in sorted({1, 2, threads}):
        yield {
            "bench": "machine", "threads": count, "dgemm_gflops": dgemm_rate(count) / 1e9,
            "copy_gbytes_s": copy_speed(count) / 1e9,
        }
