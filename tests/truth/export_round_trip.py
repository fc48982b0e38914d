"""A trace that is exported and imported again has all its events, at the same times. The names are other ones where the
format has words of its own for them."""

import csv
import json

from kit import Trace

NAMES = ["load", "step {}", "a,b", "naïve \"x\"", "{rows} rows", "op"]
CATEGORIES = ["user_annotation", "cpu_op", "io", ""]


def args_of(case):
    """Arguments of all types that a trace has."""
    all_kinds = {"rows": case.random.randrange(-5, 1 << 40), "share": case.random.randrange(1, 999) / 8,
                 "text": case.random.choice(["", "a b", "{}", "\u00e9"]), "on": case.random.random() < 0.5}
    return {key: value for key, value in all_kinds.items() if case.random.random() < 0.4}


def make(case):
    trace = Trace()
    trace.process_name(10, "train")
    threads = [trace.thread(10, tid, f"worker {tid}") for tid in range(10, 10 + case.random.randrange(1, 4))]
    threads.append(trace.thread(20, 20))

    def grow(thread, begin, end, depth):
        time = begin + case.random.randrange(100)
        while depth < 4 and end - time > 1_000:
            length = case.random.randrange(500, max(501, end - time))
            thread.range(case.random.choice(NAMES), time, time + length, cat=case.random.choice(CATEGORIES), **args_of(case))
            grow(thread, time, time + length, depth + 1)
            time += length + case.random.randrange(2_000)

    for thread in threads:
        grow(thread, 0, 100_000, 0)
        thread.range("around", 100_000, 200_000)
        for i in range(case.random.randrange(4)):
            thread.instant(case.random.choice(NAMES), case.random.randrange(100_000, 200_000))
            thread.counter("bytes", case.random.randrange(200_000), case.random.randrange(1 << 33))
    for number in range(case.random.randrange(6)):
        sender, receiver = case.random.choice(threads), case.random.choice(threads)
        sent = case.random.randrange(100_000, 150_000)
        trace.flow(number + 1, sender, sent, receiver, case.random.randrange(150_000, 200_000))
        case.random.choice(threads).async_range("request", sent, sent + 900, number + 100)
    # Some ranges overlap without being inside each other.
    for i in range(case.random.randrange(4)):
        begin = 300_000 + case.random.randrange(1_000)
        threads[0].range("overlapping", begin, begin + case.random.randrange(1, 2_000))
    for number in (7, 9)[:case.random.randrange(3)]:
        queue, time = trace.stream(0, number), 1_000
        for i in range(case.random.randrange(1, 20)):
            threads[0].call("cudaLaunchKernel", time + 200_000, time + 200_300, 1_000 * number + i)
            time += case.random.randrange(500, 3_000)
            category, name = case.random.choice([("kernel", "gemm"), ("gpu_memcpy", "Memcpy HtoD (Host -> Device)"),
                                                 ("copy", "map"), ("device range", "frame"), ("physics", "solve")])
            queue.work(name, time + 200_000, time + 200_400, 1_000 * number + i, cat=category, **args_of(case))
    return trace


def events_of(case, path):
    case.run("export", path, "-o", case.folder / "events.csv")
    with open(case.folder / "events.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return rows


def times(rows):
    return sorted((row["start_ns"], row["duration_ns"]) for row in rows if row["kind"] in ("range", "async"))


def of_threads(rows):
    """Names and arguments of ranges in threads. Ranges that overlap may be on a row of their own."""
    found = []
    for row in rows:
        if row["kind"] != "range" or row["device"] or row["name"] in ("overlapping", "request"):
            continue
        args = json.loads(row["args"] or "{}")
        args.pop("External id", None)  # the export numbers operators
        found.append((row["start_ns"], row["duration_ns"], row["name"], row["pid"], row["tid"], row["depth"], str(args)))
    return sorted(found)


def points(rows):
    return sorted((row["kind"], row["start_ns"], row["name"], row["args"]) for row in rows
                  if row["kind"] in ("instant", "counter") and row["name"] != "flow")


def check(case):
    original = make(case).write(case.folder / "run.json")
    case.run("import", original, "-o", case.folder / "run.kymo")
    want = events_of(case, case.folder / "run.kymo")
    for name in ("back.json", "back.json.gz", "back.pftrace"):
        case.run("export", case.folder / "run.kymo", "-o", case.folder / name)
        got = events_of(case, case.folder / name)
        for what in (times, of_threads, points):
            case.equal(f"{what.__name__} of {name}", what(got), what(want))
