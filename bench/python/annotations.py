"""The cost of kymo's Python functions, beside empty functions of C that are called in the same rounds.

Usage: annotations.py FOLDER          measures, and prints rows for scripts/bench
       annotations.py --run KIND N    runs one kind N times, for callgrind
"""
import cProfile
import gc
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

import kymo
import kymo_empty
from kymo import nvtx

BATCH = 2000
ROUNDS, PATIENCE_S = 1000, 8
FEWEST_ROUNDS = 10  # with fewer quiet ones there is no result
QUIET = 1.12  # times the quickest twentieth of all rounds
FEW, MANY = 20_000, 120_000  # iterations under callgrind


def loop(count):
    for _ in range(count):
        pass


def empty_calls(count):
    one, nothing = kymo_empty.one, kymo_empty.nothing
    for _ in range(count):
        one("step")
        nothing()


def push_pop(count):
    push, pop = nvtx.range_push, nvtx.range_pop
    for _ in range(count):
        push("step")
        pop()


def empty_with(count):
    empty = kymo_empty.Empty
    for _ in range(count):
        with empty():
            pass


def with_range(count):
    made = nvtx.range
    for i in range(count):
        with made("x {}", i):
            pass


def torch_range(count):
    """torch's range has this shape: a generator that formats and calls two functions."""
    import contextlib

    def push(text):
        return nvtx.range_push(text)

    def pop():
        return nvtx.range_pop()

    @contextlib.contextmanager
    def made(text, *args, **keywords):
        push(text.format(*args, **keywords))
        try:
            yield
        finally:
            pop()

    for i in range(count):
        with made("x {}", i):
            pass


KINDS = {function.__name__: function for function in (loop, empty_calls, push_pop, empty_with, with_range, torch_range)}


def nanoseconds(function, count=BATCH):
    before = time.perf_counter_ns()
    function(count)
    return (time.perf_counter_ns() - before) / count


def measure(baseline, candidate):
    """Medians (baseline ns, candidate ns, ratio), and how many rounds were kept and discarded.

    A round is quiet if the empty loop and both runs of the baseline took about as long as in the best rounds. The
    candidate itself decides nothing.
    """
    rounds, kept = [], []
    end = time.monotonic() + PATIENCE_S
    while len(rounds) < ROUNDS and time.monotonic() < end:
        rounds.append([nanoseconds(function) for function in (loop, baseline, candidate, baseline, loop)])
        time.sleep(0.0005)
    quick_loop = statistics.quantiles([min(one[0], one[4]) for one in rounds], n=20)[0]
    quick_base = statistics.quantiles([min(one[1], one[3]) for one in rounds], n=20)[0]
    for before, first, other, second, after in rounds:
        if max(before, after) > QUIET * quick_loop or max(first, second) > QUIET * quick_base:
            continue
        plain = (before + after) / 2
        base = (first + second) / 2 - plain
        kept.append((base, other - plain, (other - plain) / base))
    discarded = len(rounds) - len(kept)
    if len(kept) < FEWEST_ROUNDS:
        return None, 0, len(rounds)
    return tuple(statistics.median(values) for values in zip(*kept)), len(kept), discarded


def row(id, what, measured, target, met, kept, discarded):
    verdict = "-" if not target or kept == 0 else "met" if met else "missed"
    print("row", id, what, measured if kept else "no quiet round", target, verdict, kept, discarded, sep="\t", flush=True)


def peer(id, who, measured, kept=1, discarded=0):
    print("peer", id, who, measured, kept, discarded, sep="\t", flush=True)


def ratio_row(id, what, baseline_name, baseline, candidate, limit):
    values, kept, discarded = measure(baseline, candidate)
    base, cost, ratio = values or (0, 0, 0)
    row(id, what, f"{cost:.1f} ns = {ratio:.2f} x {baseline_name} ({base:.1f} ns)", f"<= {limit} x", ratio <= limit, kept,
        discarded)
    return cost


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def function_cost(folder):
    """What recording of every function adds to one call, beside what cProfile adds."""
    n = 17
    calls, before = 1, 1
    for _ in range(n - 1):
        calls, before = calls + before + 1, calls

    def each():
        before = time.perf_counter_ns()
        fibonacci(n)
        return (time.perf_counter_ns() - before) / calls

    def profiled():
        profile = cProfile.Profile()
        profile.enable()
        took = each()
        profile.disable()
        return took

    def traced():
        with kymo.trace_functions():
            return each()

    rounds = []
    with kymo.Session(os.path.join(folder, "python_functions.kymo")):
        for _ in range(25):
            plain = each()
            rounds.append((plain, profiled() - plain, traced() - plain))
    plain, by_cprofile, by_kymo = (statistics.median(values) for values in zip(*rounds))
    ratio = statistics.median(mine / theirs for _, theirs, mine in rounds)
    has_monitoring = hasattr(sys, "monitoring")
    limit = 0.5 if has_monitoring else 1.0
    how = "sys.monitoring" if has_monitoring else "PyEval_SetProfile"
    row("python_functions", f"every function of a script recorded, by {how}, more per call",
        f"{by_kymo:.0f} ns = {ratio:.2f} x cProfile", f"<= {limit} x", ratio <= limit, len(rounds), 0)
    peer("python_functions", "cProfile", f"{by_cprofile:.0f} ns; a call alone: {plain:.0f} ns", len(rounds))


def instructions():
    if shutil.which("valgrind") is None:
        print("missing", "instruction counts of Python functions", "install valgrind", sep="\t")
        return

    def collected(kind, count):
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, __file__,
                               "--run", kind, str(count)], capture_output=True, text=True)
        found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
        if done.returncode != 0 or not found:
            raise RuntimeError(done.stderr)
        return int(found.group(1))

    def each(kind):
        return (collected(kind, MANY) - collected(kind, FEW)) / (MANY - FEW)

    base = each("loop")
    for kind, what in (("empty_calls", "two empty functions of C"), ("push_pop", "range_push + range_pop, not recording"),
                       ("empty_with", "with on an empty type of C"),
                       ("with_range", "with range(\"x {}\", i), not recording")):
        row(f"python_instructions_{kind}", f"instructions: {what}", f"{each(kind) - base:.0f}", "", True, 1, 0)


def main(folder):
    gc.disable()
    off = ratio_row("python_push_off", "range_push + range_pop, not recording", "two empty functions", empty_calls,
                    push_pop, 1.3)
    with kymo.Session(os.path.join(folder, "python.kymo")):
        values, kept, discarded = measure(empty_calls, push_pop)
    floor = kymo_empty.floor(200_000)
    base, on, _ = values or (0, 0, 0)
    more = on - off
    row("python_push_on", "range_push + range_pop, recording",
        f"{on:.1f} ns = not recording + {more / floor:.2f} x floor ({floor:.1f} ns)", "<= + 1.5 x", more <= 1.5 * floor,
        kept, discarded)
    ratio_row("python_with", "with range(\"x {}\", i), not recording", "with on an empty type", empty_with, with_range, 1.5)
    peer("python_with", "torch's shape, a generator", f"{nanoseconds(torch_range, 20_000) - nanoseconds(loop, 20_000):.0f} ns")
    with kymo.Session(os.path.join(folder, "python.kymo")):
        values, kept, discarded = measure(empty_with, with_range)
    base, cost, ratio = values or (0, 0, 0)
    row("python_with_on", "with range(\"x {}\", i), recording", f"{cost:.1f} ns = {ratio:.2f} x with on an empty type", "",
        True, kept, discarded)
    function_cost(folder)
    instructions()


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--run":
        KINDS[sys.argv[2]](int(sys.argv[3]))
    elif len(sys.argv) == 2:
        main(sys.argv[1])
    else:
        sys.exit(__doc__)
